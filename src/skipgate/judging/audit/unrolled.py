"""The numbers of the unrolled paper and of the lecture against each other."""

from collections.abc import Iterator

from scipy import stats

from skipgate.judging.audit.check import Check, Printed, holds_if, listed

TOP5 = "imagenet-top5"
LAYERS = "language-layers"
STAGES = "stated-stages"
BUILT = "stated-structure"
LEVEL = 0.05


def errors(p: Printed) -> Iterator[Check]:
    """Section 5.1 against Table 1b."""
    repeated = p.cells("stated-errors")
    wrong = [
        f"{cell.row} {cell.column}"
        for cell in repeated
        if cell.value != p(TOP5, cell.row, cell.column)
    ]
    says = f"{len(repeated)} errors repeated from Table 1b"
    follows = f"different: {', '.join(wrong) or 'none'}"
    yield p.check("errors in the text", "section 5.1", says, follows, not wrong)
    gaps = {
        row: p(TOP5, row, "with BN") - p(TOP5, "Resnet", "with BN")
        for row in ("Highway", "Highway-Full")
    }
    closer = abs(gaps["Highway-Full"]) < abs(gaps["Highway"])
    yield p.check(
        "closer", "section 5.1", "Highway-Full is closer to Resnet", listed(gaps, "+.2f"), closer
    )
    costs = {
        row: error - p(TOP5, row, "with BN") for row, error in p.column(TOP5, "without BN").items()
    }
    says = "errors are higher without batch normalisation"
    yield p.check("without BN", "section 5.1", says, listed(costs, "+.2f"), min(costs.values()) > 0)


def similar(p: Printed) -> Iterator[Check]:
    """Highway and residual networks are called very similar.

    Welch's t-test on the printed means and standard deviations.
    """
    runs = p.papers[p.paper].tables[TOP5].runs
    for row in ("Highway", "Highway-Full"):
        for column in ("with BN", "without BN"):
            ours, other = (
                (p(TOP5, r, column), p.deviation(TOP5, r, column)) for r in (row, "Resnet")
            )
            chance = float(
                stats.ttest_ind_from_stats(*ours, runs, *other, runs, equal_var=False).pvalue
            )
            says = f"{row} and Resnet {column} give very similar results"
            follows = f"{ours[0] - other[0]:+.2f} points, p = {chance:.2g} from {runs} runs each"
            word = holds_if(chance > LEVEL, "unclear")
            yield p.check(f"similar, {row} {column}", "sections 5.1 and 6", says, follows, word)


def language(p: Printed) -> Iterator[Check]:
    """Section 5.2 against Table 1a, and the sizes of its variants."""
    perplexity = p.column("charlm-ptb", "perplexity")
    carried = max(perplexity[row] for row in ("Full", "Coupled", "C-Only"))
    ordered = carried < perplexity["T-Only"] < min(perplexity["Residual"], perplexity["Plain"])
    says = "a gate on the carried input is best, then T-Only, then Residual and Plain"
    yield p.check("order of variants", "section 5.2", says, listed(perplexity), ordered)
    sizes = {
        row: count * p(LAYERS, row, "matrices a layer")
        for row, count in p.column(LAYERS, "layers").items()
    }
    others = {size for row, size in sizes.items() if row not in ("Plain", "Full")}
    says = "four Residual layers match the other variants; Full alone has more"
    follows = f"weight matrices: {listed(sizes)}"
    yield p.check(
        "sizes of variants",
        "section 5.2",
        says,
        follows,
        len(others) == 1 and sizes["Full"] > max(others),
    )


def language_layers(p: Printed) -> Iterator[Check]:
    """How many layers the variants of section 5.2 have."""
    plain = p.whole(LAYERS, "Plain", "layers")
    pair = p.whole(LAYERS, "Coupled", "layers")
    says = f"only the kind of the {pair} layers is changed"
    follows = f"the text compares with {plain} plain layer"
    yield p.check(
        "layers of Plain", "section 5.2", says, follows, holds_if(plain == pair, "unclear")
    )


def stages(p: Printed) -> Iterator[Check]:
    """Stages and patches of the figures against the text."""
    caption, text = (
        p.whole("stated-near-zero", place, "stages with a mean error near zero")
        for place in ("Figure 3", "section 4.2")
    )
    says = f"the mean error is near zero in all {caption} stages"
    follows = f"in the first {text}, says section 4.2"
    yield p.check("stages near zero", "Figure 3", says, follows, caption == text)
    first, last = (p.whole(STAGES, f"stage {number}", "blocks") for number in (1, 4))
    says = "later stages are typically longer"
    follows = f"{first} blocks in the first, {last} in the last"
    yield p.check("stage lengths", "section 4.3", says, follows, holds_if(last > first, "unclear"))
    patches, lights, highlights = (
        p.whole(STAGES, "Figure 4", name) for name in ("patches", "light sources", "highlights")
    )
    says = f"{patches} patches"
    follows = f"{lights} + {highlights} = {lights + highlights}"
    yield p.check("patches", "section 4.3", says, follows, patches == lights + highlights)


def years(p: Printed) -> Iterator[Check]:
    """Years of the challenge and of its data."""
    stated = p.column("stated-years", "year")
    won = stated["challenge that residual networks won"]
    written = stated["paper on residual networks"]
    data = stated["data in section 4.2"]
    scored = stated["data in Table 1b"]
    says = f"residual networks won the ImageNet challenge of {won:g}"
    follows = (
        f"cited from {written:g}; the data are ILSVRC-{data:g} in section 4.2 and "
        f"ILSVRC-{scored:g} in Table 1b"
    )
    yield p.check(
        "years",
        "section 5.1",
        says,
        follows,
        holds_if(won == written and data == scored, "unclear"),
    )


def lecture_network(p: Printed) -> Iterator[Check]:
    """The lecture's MNIST network."""
    blocks, width, kernel, classes = (
        p.whole(BUILT, "network", name) for name in ("blocks", "channels", "kernel", "classes")
    )
    convolutions, norms = (
        p.whole(BUILT, "block", name) for name in ("convolutions", "batch normalisations")
    )
    ends = 2 * width, classes * (width + 1)
    block = convolutions * width * (width * kernel**2 + 1) + norms * 2 * width
    found = sum(ends) + blocks * block
    (printed,) = p.column("parameters", "parameters").values()
    follows = f"{ends[0]} + {blocks} x {block} + {ends[1]} = {found:,}"
    yield p.check(
        "parameters", "slide on 25 blocks", f"{printed:,.0f} parameters", follows, found == printed
    )
    padding, pixels, pool = (
        p.whole(BUILT, "network", name) for name in ("padding", "pixels a side", "pooling kernel")
    )
    kept = pixels + 2 * padding - kernel + 1
    says = f"blocks keep {pixels} pixels a side, pooling leaves 1"
    follows = f"{kept}, and {pixels // pool}"
    yield p.check("sizes", "slides on the code", says, follows, kept == pixels == pool)


def lecture_counts(p: Printed) -> Iterator[Check]:
    """The lecture's paths through three blocks."""
    blocks, paths = (p.whole("stated-paths", "example", name) for name in ("blocks", "paths"))
    follows = (
        f"2^{blocks} = {2**blocks}, as each block is passed or skipped; were they blocks + 1, "
        "paths and blocks removed would be the same number, and the slide sets the two apart"
    )
    yield p.check(
        "paths",
        "slide on Veit et al.",
        f"{paths} paths through {blocks} blocks",
        follows,
        paths == 2**blocks,
    )


def lecture_layers(p: Printed) -> Iterator[Check]:
    """The lecture's fully connected layers and strides."""
    none, one = (
        p.whole("stated-layers", f"{place} sentence", "fully connected layers")
        for place in ("first", "last")
    )
    says = f"He et al.'s networks have {none} fully connected layers"
    follows = f"{one}, says the same slide further down"
    yield p.check(
        "fully connected", "slide on fully convolutional networks", says, follows, none == one
    )
    stride, share = (
        p("stated-reduction", "shortcut", name) for name in ("stride", "share of activations kept")
    )
    says = f"a stride of {stride:g} keeps {share:g} of the activations"
    follows = f"1 / {stride:g}^2 = {stride**-2:g}"
    yield p.check("stride", "slides on changing sizes", says, follows, share == stride**-2)


CHECKS = {
    "unrolled": (errors, similar, language, language_layers, stages, years),
    "fleuret": (lecture_network, lecture_counts, lecture_layers),
}
