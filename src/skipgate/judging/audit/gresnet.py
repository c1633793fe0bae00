"""The numbers of "Learning Identity Mappings with Residual Gates", both versions, cross-checked.

Sizes are checked here, errors and protocols in `gresnet_errors`.
"""

from collections.abc import Iterator

from skipgate.judging.audit import gresnet_errors as errors
from skipgate.judging.audit.check import Check, Printed, holds_if, rounds_to
from skipgate.judging.audit.gresnet_errors import SIZES, SMALL, WIDE


def residual_parameters(n: int, k: int = 1, *, projected: bool = True, classes: int = 10) -> int:
    """Parameters of a pre-activation ResNet on RGB images: 3 groups of n blocks.

    It is k times as wide as that of He et al. A convolution has 9 weights per pair of channels and
    no bias, a normalisation 2 parameters per channel. Where the width changes, the shortcut is a
    1x1 convolution (Zagoruyko and Komodakis) or has no parameters (He et al.).
    """
    total = 9 * 3 * 16
    before = 16
    for width in (16 * k, 32 * k, 64 * k):
        for _ in range(n):
            total += 9 * width * (before + width) + 2 * (before + width)
            total += before * width if projected and before != width else 0
            before = width
    return total + 2 * before + classes * (before + 1)


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
    """Which Wide ResNet the second version trained, by its counts."""
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


def widening_blocks(p: Printed) -> Iterator[Check]:
    """Which blocks widen, in the second version."""
    n = p.whole(SIZES, "v2 Wide", "n")
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
    follows = (
        f"{gates:g} gates for {layers} layers, two a block: {gates / layers:g} a layer, unless "
        "'layer' means a block"
    )
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
    """Layers of the multilayer networks."""
    more = p.whole(SIZES, "multilayer", "layers beside the d")
    for row, total in p.column(SIZES, "layers").items():
        found = int(row.removeprefix("d = ")) + more
        yield p.check(
            f"layers, {row}",
            "v1 section 4.1",
            f"{total:g} layers, {row}",
            f"d + {more} = {found}",
            found == total,
        )


def layer_blocks(p: Printed) -> Iterator[Check]:
    """Blocks of the multilayer networks."""
    more, pair, ahead = (
        p.whole(SIZES, "multilayer", name)
        for name in ("layers beside the d", "layers a block", "layers before the first block")
    )
    for row, blocks in p.column(SIZES, "blocks").items():
        if row.startswith("d = "):
            d = int(row.removeprefix("d = "))
            says = f"{blocks:g} blocks, {row}"
            follows = f"d / {pair} = {d / pair:g}"
            yield p.check(f"blocks, {row}", "v2 Figure 5", says, follows, d == blocks * pair)
            says = (
                f"{blocks:g} blocks of {pair}, the first being the network's first two layers, and "
                "the softmax layer"
            )
            read = p.whole(SIZES, "Figure 5", "layers before the first block")
            follows = (
                f"{read + d + 1} layers of {d + more}: section 3.1 has {ahead} layer before the "
                "blocks"
            )
            yield p.check("first block", "v2 Figures 5 and 7", says, follows, read == ahead)


CHECKS = {
    "gresnet": (
        errors.gains,
        errors.trends,
        errors.cifar_orders,
        wide,
        wider,
        widening_blocks,
        counts,
        layers,
        layer_blocks,
        errors.quoted,
        errors.unsurpassed,
        errors.records,
        errors.protocols,
        errors.headings,
    )
}
