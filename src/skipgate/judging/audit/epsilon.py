"""The numbers of "Learning Strict Identity Mappings in Deep Residual Networks", cross-checked."""

from collections.abc import Iterator

from skipgate.judging.audit.check import Check, Printed, Word, about, holds_if, listed, rounds_to

BUILT = "stated-structure"
DEEP = "cifar100-752"
DEEP_LAYERS = "cifar100-752-layers"
SHARES = "imagenet-discarded"
DATA = {"CIFAR": "cifar", "SVHN": "svhn"}
"""Data sets with an adaptive learning rate, and their protocols."""
LOOSE = ("ImageNet", "CIFAR-10, ends of Figure 3")
"""Depths of which the paper does not say that they follow the rule.

One has other blocks, the other is a range in round numbers.
"""


def blocks(p: Printed) -> Iterator[Check]:
    """Blocks of 2 layers in 3 equal groups, and 2 layers beside them, are 6n + 2 layers."""
    groups, pair, beside = (
        p.whole(BUILT, "all", name)
        for name in ("groups", "layers a block", "layers beside the blocks")
    )
    for depth, count in p.column("blocks", "blocks").items():
        found = (int(depth) - beside) / pair
        follows = f"({depth} - {beside}) / {pair} = {found:g}, {count / groups:g} a group"
        fits = found == count and count % groups == 0
        yield p.check(
            f"blocks of {depth}", "section 4", f"{count:g} blocks in {depth} layers", follows, fits
        )
    each = p.whole(BUILT, "110", "blocks a group")
    inside = p.whole(BUILT, "110", "layers in blocks")
    found = groups * each * pair
    says = f"{inside} of 110 layers lie in blocks"
    follows = f"{groups} x {each} x {pair} = {found}, with the ends {found + beside}"
    yield p.check("layers of 110", "section 3", says, follows, found == inside == 110 - beside)


def depths(p: Printed) -> Iterator[Check]:
    """Other depths that the text names."""
    groups, pair, beside = (
        p.whole(BUILT, "all", name)
        for name in ("groups", "layers a block", "layers beside the blocks")
    )
    for cell in p.cells("stated-depths"):
        each = (cell.value - beside) / (groups * pair)
        says = f"{cell.value:g} layers ({cell.row}), {groups} equal groups of blocks of {pair}"
        follows = f"({cell.value:g} - {beside}) / {groups * pair} = {each:.4g} blocks a group"
        word: Word = "unclear" if cell.row in LOOSE else holds_if(each == int(each))
        yield p.check(
            f"depth {cell.value:g}, {cell.row}", "sections 1, 3 and 4", says, follows, word
        )


def compression(p: Printed) -> Iterator[Check]:
    """The 752-layer network, and what discarding so many of its layers saves."""
    layers = p.whole(BUILT, "Figure 1", "layers")
    ratio = p(DEEP_LAYERS, "reduced", "compression ratio in layers")
    gone = round((layers - layers / ratio) / p(BUILT, "all", "layers a block"))
    low, high = _savings(p, p.whole("blocks", str(layers), "blocks"), gone)
    share = p("parameters", "some instances", "about")
    says = (
        f"{ratio} times fewer layers than {layers}; about {share:.0%} fewer parameters in some "
        "instances"
    )
    follows = (
        f"{layers / ratio:.0f} layers stay and {1 - 1 / ratio:.1%} go, with {low:.0%} to "
        f"{high:.0%} of the parameters, depending on which {gone} blocks; whether this is such an "
        "instance is not said"
    )
    yield p.check(
        "compression",
        "abstract, Figure 1",
        says,
        follows,
        "unclear" if low <= share <= high else "contradicts",
    )


def _savings(p: Printed, count: int, gone: int) -> tuple[float, float]:
    """The smallest and largest share of weights in `gone` blocks.

    The number of weights in a block grows with the square of its width.
    """
    groups = p.whole(BUILT, "all", "groups")
    factor = p(BUILT, "all", "factor from group to group")
    weights = sorted(
        factor ** (2 * group) for group in range(groups) for _ in range(count // groups)
    )
    return sum(weights[:gone]) / sum(weights), sum(weights[-gone:]) / sum(weights)


def losses(p: Printed) -> Iterator[Check]:
    """What discarding layers costs in accuracy."""
    before, after = (p(DEEP, row, "validation error (%)") for row in ("whole", "reduced"))
    yield p.check(
        "loss at 752",
        "Figure 1",
        "marginal or no loss",
        f"{after}% after, {before}% before",
        after <= before,
    )
    words = p.column("stated-words", "loss")
    says = "layers go without any loss in performance"
    follows = "on ImageNet a loss is admitted, called marginal"
    yield p.check(
        "loss",
        "abstract, section 4",
        says,
        follows,
        words["abstract"] == words["section 4 on ImageNet"],
    )


def shares(p: Printed) -> Iterator[Check]:
    """A share of layers is a whole number of them.

    Totals that the paper can have counted are tried first, then all others.
    """
    deep = [round(cell.value) for cell in p.cells("stated-depths") if cell.row == "ImageNet"]
    likely = sorted({total for depth in deep for total in _totals(depth)})
    for cell in p.cells(SHARES):
        fitting = [n for n in range(1, max(deep) + 1) if _is_share(cell.value, n, p.unit(SHARES))]
        usual = [n for n in fitting if n in likely]
        # What is counted is not said, so no share can contradict the paper.
        word = holds_if(bool(usual), "unclear")
        follows = f"a whole number of {usual}"
        if not usual:
            follows = (
                f"no whole number of {likely} layers or blocks; of other totals up to "
                f"{max(deep)}, {fitting or 'none'} would do; what is counted is not said"
            )
        yield p.check(
            f"share {cell.value:g}",
            "section 4",
            f"{cell.value:.2f}% of layers discarded",
            follows,
            word,
        )


def _is_share(percent: float, total: int, unit: float) -> bool:
    return rounds_to(100 * round(percent * total / 100) / total, percent, unit)


def _totals(depth: int) -> list[int]:
    """Layers, or blocks of 2 or 3, with the first and last layer or without."""
    inner = [depth - 2, *((depth - 2) // size for size in (2, 3) if (depth - 2) % size == 0)]
    return [total + ends for total in inner for ends in (0, 2)]


def training(p: Printed) -> Iterator[Check]:
    """Images and steps."""
    images, batch, epochs, steps, total = (
        p.stated("cifar", what)
        for what in (
            "training images",
            "mini-batch",
            "epochs of the baseline",
            "steps of the baseline",
            "images",
        )
    )
    found = epochs * (images // batch)
    follows = f"{epochs} x {images // batch} whole batches = {found}"
    yield p.check(
        "steps", "section 4", f"{epochs} epochs are {steps} steps", follows, found == steps
    )
    sums = {
        d: p.stated("cifar", f"classes of {d}") * p.stated("cifar", f"images a class of {d}")
        for d in ("CIFAR-10", "CIFAR-100")
    }
    sums["training and test"] = images + p.stated("cifar", "test images")
    yield p.check(
        "images", "section 4", f"{total} images", listed(sums, ".0f"), set(sums.values()) == {total}
    )


def schedules(p: Printed) -> Iterator[Check]:
    """When the learning rate falls."""
    faster = p.stated("all", "adaptive rate falls faster by")
    for data, protocol in DATA.items():
        usual = p.stated(protocol, "rate falls at epochs")
        adaptive = p.stated(protocol, "adaptive rate falls after epochs")
        for count, at, epoch in zip(("first", "second", "third"), usual, adaptive, strict=False):
            found_epoch = at / faster
            says = f"{data}, {count} fall at epoch {epoch:g}, {faster:g} times as fast"
            # Epochs are whole, so the last digit counts 1.
            fits = rounds_to(found_epoch, epoch, 1)
            name = f"schedule, {data}, {count}"
            yield p.check(name, "section 4", says, f"{found_epoch:g}", fits)


def svhn_size(p: Printed) -> Iterator[Check]:
    """SVHN's images against CIFAR's."""
    images, total = (p.stated("cifar", what) for what in ("training images", "images"))
    svhn, tested, times = (
        p.stated("svhn", what) for what in ("training images", "test images", "size in CIFAR-10s")
    )
    ratio = (svhn + tested) / total
    follows = f"{ratio:.2f} by all images, {svhn / images:.2f} by training images"
    yield p.check(
        "size of SVHN",
        "section 4",
        f"SVHN has {times:g} times the size of CIFAR-10",
        follows,
        about(ratio, times, 0),
    )


def values(p: Printed) -> Iterator[Check]:
    """Values of epsilon, errors by depth, and a number quoted here and in the unrolled paper."""
    low, high = p.stated("all", "usual epsilon")
    used = [p.stated(data, "epsilon") for data in DATA.values()]
    used += p.stated("imagenet", "epsilon")
    inside = low <= min(used) and max(used) <= high
    yield p.check(
        "epsilon", "section 4", f"epsilon lies in {low:g} to {high:g}", f"used: {used}", inside
    )
    errors = p.column("cifar10-depth", "validation error")
    rising = list(errors.values()) == sorted(errors.values())
    yield p.check("depth", "section 1", "a deeper network can be worse", listed(errors), rising)
    rise = p("vgg-lesion", "VGG", "rise")
    error = p.of("unrolled")("vgg-lesion", "VGG", "error")
    says = f"deleting one VGG layer raises the error by {rise:g}%"
    start = error / (1 + rise / 100)
    follows = (
        f"to {error:g}%, says the unrolled paper of the same study: {rise:g} points would start at "
        f"{error - rise:g}%, {rise:g}% of the error at {start:g}%"
    )
    yield p.check("VGG lesion", "section 1", says, follows, "unclear")


CHECKS = {
    "epsilon": (
        blocks,
        depths,
        compression,
        losses,
        shares,
        training,
        schedules,
        svhn_size,
        values,
    )
}
