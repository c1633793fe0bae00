"""The numbers of "Learning Identity Mappings with Residual Gates", both versions, against each other."""

from collections.abc import Iterator

from skipgate.judging.audit.check import Check, Printed, about, holds_if, listed, rounds_to

MNIST = "mnist-test-error"
CIFAR = "cifar10-v1"
LATER = "cifar10-v2"
SIZES = "stated-sizes"
OTHERS = "others-errors"
SMALL = "ResNet 5"
WIDE = "Wide ResNet (3,4)"
WIDER = "Wide ResNet (4,10) + Dropout"


def residual_parameters(n: int, k: int = 1, *, projected: bool = True, classes: int = 10) -> int:
    """Parameters of a pre-activation ResNet of 3 groups of n blocks on RGB images, k times as wide as He et al.'s.

    A convolution has 9 weights a pair of channels and no bias, a normalisation 2 numbers a channel. Where the width changes,
    the shortcut is a 1x1 convolution (Zagoruyko and Komodakis) or has no parameters (He et al.).
    """
    total = 9 * 3 * 16
    before = 16
    for width in (16 * k, 32 * k, 64 * k):
        for _ in range(n):
            total += 9 * width * (before + width) + 2 * (before + width)
            total += before * width if projected and before != width else 0
            before = width
    return total + 2 * before + classes * (before + 1)


def _gain(p: Printed, row: str) -> float:
    """The relative error reduction by gating, in %; error rates on 10,000 images are printed without loss."""
    table, column = (MNIST, "residual") if row.startswith("d = ") else (CIFAR, "original")
    return 100 * (1 - p(table, row, "gated") / p(table, row, column))


def gains(p: Printed) -> Iterator[Check]:
    """Relative gains that the text names, against the tables of errors."""
    for table in ("stated-gains", "stated-whole-gains"):
        for row, stated in p.column(table, "about").items():
            place = "v1 section 4.1, v2 section 3.1" if row.startswith("d = ") else "v1 section 4.2"
            says = f"gating lowers the error by about {stated:g}%, {row}"
            found = _gain(p, row)
            yield p.check(
                f"gain, {row}", place, says, f"{found:.2f}%", about(found, stated, p.unit(table))
            )
    bound = p("stated-whole-gains", WIDE, "more than")
    found = _gain(p, WIDE)
    says = f"more than {bound:g}% relative gain of the {WIDE}"
    yield p.check("gain in the abstract", "v1 abstract", says, f"{found:.2f}%", found > bound)


def trends(p: Printed) -> Iterator[Check]:
    """What grows, falls and lies below what on MNIST."""
    found = {row: _gain(p, row) for row in p.column(MNIST, "gated")}
    rising = list(found.values()) == sorted(found.values())
    yield p.check(
        "gain grows",
        "v1 and v2 Figure 4",
        "the gain grows with depth",
        listed(found, ".2f"),
        rising,
    )
    wrong = [
        d
        for d in found
        if not p(MNIST, d, "gated") < p(MNIST, d, "residual") < p(MNIST, d, "classical")
    ]
    says = "gated below residual below classical at every depth"
    follows = f"broken at: {', '.join(wrong) or 'no depth'}"
    yield p.check("order on MNIST", "v1 Table 2, v2 Table 1", says, follows, not wrong)
    k = p.column("mnist-mean-k", "mean k")
    falling = list(k.values()) == sorted(k.values(), reverse=True)
    yield p.check(
        "k falls", "v1 Table 3, v2 Table 2", "mean k falls with depth", listed(k), falling
    )


def cifar_orders(p: Printed) -> Iterator[Check]:
    """What lies below what on CIFAR-10."""
    gaps = {
        f"{row}, {t}": p(t, row, "gated") - p(t, row, "original")
        for t in (CIFAR, LATER)
        for row in p.column(t, "gated")
    }
    follows = listed(gaps, "+.2f")
    yield p.check(
        "order on CIFAR",
        "v1 Table 4, v2 Table 3",
        "gated below original",
        follows,
        max(gaps.values()) < 0,
    )
    costs = {
        row: error - p(LATER, row, "gated")
        for row, error in p.column(LATER, "gated with k decay").items()
    }
    says = "decay on k raises both errors"
    yield p.check("k decay", "v2 section 3.2", says, listed(costs, "+.2f"), min(costs.values()) > 0)


def wide(p: Printed) -> Iterator[Check]:
    """Which Wide ResNet the first version trained, by its counts."""
    parameters = p("parameters", "Wide Gated ResNet (3,4)", "parameters")
    gates = p("gates", WIDE, "extra")
    for source in ("heading", "text"):
        n, k = (p.whole(SIZES, f"v1 Wide, {source}", name) for name in ("n", "k"))
        found = residual_parameters(n, k) + 3 * n
        follows = (
            f"3n = {3 * n} gates, {found:,} parameters; printed: {gates:g} and {parameters:,.0f}"
        )
        fits = 3 * n == gates and rounds_to(found, parameters, p.unit("parameters"))
        yield p.check(
            f"Wide in the {source}", f"v1 section 4.2, {source}", f"n = {n}, k = {k}", follows, fits
        )


def wider(p: Printed) -> Iterator[Check]:
    """Which Wide ResNet the second version trained."""
    n, again, k = (p.whole(SIZES, "v2 Wide", name) for name in ("n", "n, named again", "k"))
    yield p.check(
        "Wide in v2",
        "v2 section 3.2",
        f"n = {n}, n = {again}",
        f"n = {n}, k = {k} by the heading",
        again == n,
    )
    found = residual_parameters(n, k) + 3 * n
    printed = p("parameters", "Wide GatedResNet (4,10)", "parameters")
    fits = rounds_to(found, printed, p.unit("parameters"))
    yield p.check(
        "parameters in v2", "v2 Table 4", f"{printed:,.0f} parameters", f"{found:,}", fits
    )
    gates = p("gates", "Wide ResNet (4,10)", "extra")
    yield p.check(
        "gates in v2", "v2 section 3.2", f"{gates:g} gates", f"3n = {3 * n}", 3 * n == gates
    )
    widening = [
        p.whole(SIZES, "Figure 7", f"{word} widening block")
        for word in ("first", "second", "third")
    ]
    total = p.whole(SIZES, "Figure 7", "blocks")
    expected = [1 + group * n for group in range(3)]
    follows = f"the first of each group of {n}: {expected} of {3 * n}"
    fits = (widening, total) == (expected, 3 * n)
    yield p.check(
        "widening blocks", "v2 Figure 7", f"blocks {widening} of {total} widen", follows, fits
    )


def counts(p: Printed) -> Iterator[Check]:
    """Gates and parameters of the ResNets."""
    n = p.whole(SIZES, SMALL, "n")
    gates = p("gates", SMALL, "extra")
    place = "v1 section 4.2, v2 section 3.2"
    yield p.check("gates of ResNet 5", place, f"{gates:g} gates", f"3n = {3 * n}", 3 * n == gates)
    rate = p(SIZES, "gate", "gates a layer")
    layers = 6 * n
    follows = f"{gates:g} gates for {layers} layers, two a block: {gates / layers:g} a layer, unless 'layer' means a block"
    word = holds_if(gates == rate * layers, "unclear")
    yield p.check("gates a layer", "v2 abstract", f"{rate:g} more parameter a layer", follows, word)
    found = residual_parameters(18, projected=False)
    printed = p("parameters", "ResNet-110", "parameters")
    fits = rounds_to(found, printed, p.unit("parameters"))
    place = "v1 Table 5, v2 Table 4"
    yield p.check(
        "parameters of ResNet-110", place, f"{printed:,.0f} parameters", f"{found:,}", fits
    )


def layers(p: Printed) -> Iterator[Check]:
    """Layers and blocks of the multilayer networks."""
    more, pair, ahead = (
        p.whole(SIZES, "multilayer", name)
        for name in ("layers beside the d", "layers a block", "layers before the first block")
    )
    for row, total in p.column(SIZES, "layers").items():
        found = int(row.removeprefix("d = ")) + more
        yield p.check(
            f"layers, {row}",
            "v1 section 4.1",
            f"{total:g} layers, {row}",
            f"d + {more} = {found}",
            found == total,
        )
    for row, blocks in p.column(SIZES, "blocks").items():
        if row.startswith("d = "):
            d = int(row.removeprefix("d = "))
            says = f"{blocks:g} blocks, {row}"
            follows = f"d / {pair} = {d / pair:g}"
            yield p.check(f"blocks, {row}", "v2 Figure 5", says, follows, d == blocks * pair)
            says = f"{blocks:g} blocks of {pair}, the first being the network's first two layers, and the softmax layer"
            read = p.whole(SIZES, "Figure 5", "layers before the first block")
            follows = f"{read + d + 1} layers of {d + more}: section 3.1 has {ahead} layer before the blocks"
            yield p.check("first block", "v2 Figures 5 and 7", says, follows, read == ahead)


def quoted(p: Printed) -> Iterator[Check]:
    """What is quoted from elsewhere."""
    old, new = (
        p(OTHERS, f"Wide ResNet (4,10), quoted in {version}", "C10+") for version in ("v1", "v2")
    )
    says = f"Wide ResNet (4,10) has {old}% in v1"
    follows = f"{new}% in v2, from the same source; v2 Table 3 has it with dropout"
    yield p.check("quoted Wide ResNet", "v1 Table 5, v2 Table 4", says, follows, old == new)
    original = p(LATER, WIDER, "original")
    says = f"the original {WIDER} has {original}%, beside {p(LATER, WIDER, 'gated')}% when gated"
    follows = f"quoted from elsewhere in Table 4: {new}%; if not run again, a measured number is set against a quoted one"
    yield p.check(
        "original in v2", "v2 Table 3", says, follows, holds_if(original != new, "unclear")
    )
    rivals = [
        v
        for row, v in p.column(OTHERS, "C10+").items()
        if not row.endswith("v2") and row != "DenseNet"
    ]
    ours = p(CIFAR, WIDE, "gated")
    says = "the state of the art is not surpassed"
    follows = f"{ours:.2f}% against {min(rivals)}% in Table 5"
    yield p.check("not the best", "v1 section 4.2", says, follows, ours > min(rivals))


def records(p: Printed) -> Iterator[Check]:
    """The second version's best results."""
    for data, column, table in (("CIFAR-10", "C10+", LATER), ("CIFAR-100", "C100+", "cifar100-v2")):
        best = min(p.column(OTHERS, column).values())
        ours = p("abstract-errors", data, "gated")
        inside = p(table, WIDER, "gated")
        yield p.check(
            f"abstract on {data}",
            "v2 abstract",
            f"{ours}% on {data}",
            f"{inside}% in the table",
            ours == inside,
        )
        says = f"better than all published on {data}"
        follows = f"{inside}% against {best}%, the best of others in Table 4"
        yield p.check(f"best on {data}", "v2 sections 1 and 3.2", says, follows, inside < best)


def protocols(p: Printed) -> Iterator[Check]:
    """What two versions cannot both say, and headings that do not fit."""
    first, later = (
        " and ".join(
            f"{p('schedules', version, f'{fall} fall'):g}%" for fall in ("first", "second")
        )
        for version in ("v1", "v2")
    )
    says = f"the rate falls at {first} of the epochs, by the scheme of He et al. (2016)"
    follows = f"at {later} in v2, by that scheme too"
    yield p.check("schedules", "v1 section 4.2, v2 section 3.2", says, follows, first == later)
    errors = [
        " and ".join(f"{p(t, SMALL, column)}%" for column in ("original", "gated"))
        for t in (CIFAR, LATER)
    ]
    follows = f"{errors[1]} in v2, under {'the same' if first == later else 'another'} schedule"
    word = holds_if(first == later or errors[0] != errors[1], "unclear")
    yield p.check(
        "equal errors", "v1 Table 4, v2 Table 3", f"{SMALL} has {errors[0]} in v1", follows, word
    )
    chance = 100 / p(SIZES, "CIFAR-10", "classes")
    for place, table in (("v1 Tables 4 and 5", CIFAR), ("v2 Table 3", LATER)):
        most = max(cell.value for cell in p.cells(table))
        follows = f"at most {most}%, below the {chance:g}% of guessing: errors, as the captions say"
        yield p.check(
            f"headings, {place}", place, "the heading is accuracy ('Acc')", follows, most > chance
        )


CHECKS = {
    "gresnet": (
        gains,
        trends,
        cifar_orders,
        wide,
        wider,
        counts,
        layers,
        quoted,
        records,
        protocols,
    )
}
