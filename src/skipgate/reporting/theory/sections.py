"""The sections of the theory page."""

from collections.abc import Sequence

from skipgate import paths
from skipgate.judging.judgement import Judgement
from skipgate.reporting.tables import markdown
from skipgate.reporting.theory.findings import Theory, line, margin


def exact(judgement: Judgement) -> str:
    """Reported numbers beside ours."""
    return markdown(
        [
            {
                "paper": f"{judged.paper}, {judged.table.where}",
                "": f"{verdict.cell.row}, {verdict.cell.column}",
                "reported": f"{verdict.cell.value:,g}",
                "ours": linked(verdict.net.split(".")[0], f"{verdict.ours.mean:,g}")
                if verdict.ours
                else "-",
                "verdict": f"**{verdict.word}**",
            }
            for judged in judgement.tables
            for verdict in judged.verdicts
        ]
    )


def linked(part: str, text: object) -> str:
    """Text that leads to the part's result file."""
    return f"[{text}]({paths.link(paths.theory_file(part), paths.REPORTS)})"


def section(title: str, about: str, rows: Sequence[dict[str, object]]) -> str:
    """A heading, what the table is about, and the table."""
    return f"## {title}\n\n{about}\n\n{markdown(rows)}"


def sdi(theory: Theory) -> str:
    """Distances to identity."""
    table = theory["sdi"]["table"]
    rows: list[dict[str, object]] = []
    for name in ("classical", "highway -4.0", "highway -4.5", "highway -5.0", "residual"):
        row: dict[str, object] = {"layer": name.replace(" -", ", c = -")}
        row["g(c)"] = (
            linked("sdi", f"{table[f'{name} gate']:.3f}") if f"{name} gate" in table else ""
        )
        for word, title in (
            (name, "TSDI, paper's biases"),
            (f"{name} project", "TSDI, biases as here"),
        ):
            row[title] = linked("sdi", line(table[f"{word} slope"], table[f"{word} intercept"]))
            fits = (
                margin(table[f"{word} sampled {key}"], table[f"{word} {key} margin"])
                for key in ("slope", "intercept")
            )
            row[f"{title}: sampled slope, intercept"] = linked("sdi", ", ".join(fits))
        rows.append(row)
    starts = ", ".join(
        f"{linked('sdi', f'{value:g}')} for k_init = {key.split()[1]}"
        for key, value in table.items()
        if key.startswith("gated ")
    )
    about = (
        "Squared distance from a fresh layer's parameters to those of an identity, summed (gresnet-v1 section 2; the "
        "highway rows are its Table 1). All weights start with He's variance 2/n. The paper lets the biases start with "
        "variance 2/n too; this project starts them at 0, and those of highway gates at -4. Slope and intercept in n are "
        "fitted to the samples, with 95% intervals. A layer with a scalar gate has k_init² at any width (section 3): "
        f"{starts}."
    )
    return section("Distance to identity", about, rows)


def mixes(theory: Theory) -> str:
    """Optimal mixes of two estimates."""
    rows: list[dict[str, object]] = [
        {
            "case": name,
            "Var a, Var H, Cov": f"{case['variance a']:g}, {case['variance H']:g}, {case['covariance']:g}",
            "best T": linked("mixes", f"{case['T']:.3f}"),
            "best of the grid": linked("mixes", f"{case['best of grid']:g}"),
            "its variance": linked("mixes", f"{case['variance']:.3f}"),
            "sampled": linked("mixes", margin(case["sampled variance"], case["error"])),
            "z = log(α₁/α₂)": linked("mixes", f"{case['z']:.3f}")
            if case["reachable"]
            else "out of a sigmoid's reach",
        }
        for name, case in theory["mixes"]["cases"].items()
    ]
    mixes = theory["mixes"]
    bias = theory["mixes"]["bias"]
    about = (
        "The previous estimate a and a new one H, both unbiased, mixed as (1 - T) a + T H (unrolled Equations 10, 15 and "
        f"16). The best T by formula is compared with a grid from {mixes['grid'][0]:g} to {mixes['grid'][-1]:g} on "
        f"{mixes['draws']:,} samples; ± is one standard error. Weights that do not sum to 1 are biased: {bias['keep']:g} "
        f"and {bias['take']:g} by {linked('mixes', format(bias['formula'], 'g'))}, sampled "
        f"{linked('mixes', margin(bias['sampled'], bias['error']))}."
    )
    return section("The best mix of two estimates", about, rows)


def slices(theory: Theory) -> str:
    """Slices of the loss surface in k."""
    slices = theory["slices"]
    rows: list[dict[str, object]] = [
        {"statement": key, "largest deviation": linked("slices", f"{value:g}")}
        for key, value in slices["deviations"].items()
    ]
    rows.append(
        {
            "statement": "residual k = 0 is W = 0",
            "largest deviation": linked("slices", f"{slices['W = 0 from k = 0, residual']:g}"),
        }
    )
    for name, found in slices["loss"].items():
        for key in ("logits from their mix at k = 0.5", "bend between 0 and 1", "bend"):
            rows.append(
                {
                    "statement": f"{name}: {LOSS[key]}",
                    "largest deviation": linked("slices", f"{found[key]:.3g}"),
                }
            )
    about = (
        "gresnet-v2 section 2.2 for the gated layer g f + (1 - g) x and for the gated residual layer g f + x, in float64. "
        "Rounding errors are given as powers of ten, because their digits differ between machines."
    )
    return section("Slices of the cost surface along k", about, rows)


LOSS = {
    "logits from their mix at k = 0.5": "logits at k = 0.5 are the mix",
    "bend between 0 and 1": "loss is the mix, k from 0 to 1",
    "bend": "loss is the mix, all k of the figure",
}


def epsilon(theory: Theory) -> str:
    """The strictness of the epsilon gate."""
    found = theory["epsilon"]
    rows: list[dict[str, object]] = [
        {"largest response, from ε": f"{sign}{step:g}", "gate": linked("epsilon", f"{value:g}")}
        for sign, side in (("-", found["below"]), ("+", found["above"][::-1]))
        for step, value in zip(found["steps"][:: 1 if sign == "-" else -1], side, strict=True)
    ]
    rows.insert(
        len(found["steps"]),
        {"largest response, from ε": "0", "gate": linked("epsilon", f"{found['at epsilon']:g}")},
    )
    same = (
        "the same outputs to the last bit"
        if found["outputs equal without them"]
        else "different outputs"
    )
    about = (
        f"The gate of epsilon-ResNet (Equations 3 to 5) at ε = {found['epsilon']:g}. On {found['samples']:,} samples about "
        f"the threshold it differs from Equation 3 in {linked('epsilon', found['samples that differ'])}. Of a network's "
        f"{found['blocks']} blocks, {linked('epsilon', found['blocks closed'])} were closed; without them it has "
        f"{linked('epsilon', same)}. The largest gradient in a closed block is "
        f"{linked('epsilon', format(found['largest gradient in closed blocks'], 'g'))}, in an open one "
        f"{linked('epsilon', format(found['largest gradient in open blocks'], '.2g'))}."
    )
    return section("Strict zero", about, rows)


def routes(theory: Theory) -> str:
    """Paths through blocks."""
    found = theory["paths"]
    rows: list[dict[str, object]] = [
        {
            "blocks": n,
            "paths": linked("paths", f"{found[f'paths {n}']:,}"),
            "mean length": linked("paths", f"{found[f'mean length {n}']:g}"),
            "95% of paths have lengths": linked("paths", "{} to {}".format(*found[f"central {n}"])),
        }
        for n in found["by length"]
    ]
    agree = (
        found["counted by length"] == found["formula by length"]
        and found["counted removed"] == found["removed"]
    )
    about = (
        "n blocks make C(n, l) paths of length l; deleting m blocks leaves a share of 2^-m (Veit et al., in the lecture). "
        f"Counting the paths of {len(found['removed']) - 1} blocks one by one "
        f"{linked('paths', 'agrees' if agree else 'disagrees')} with both."
    )
    return section("Paths", about, rows)


def counts(theory: Theory) -> str:
    """Parameters and blocks."""
    counts = theory["counts"]
    names = [
        key
        for key in counts
        if f"blocks-{key}" not in counts and key.split("-")[0] in ("fleuret", "resnet", "wide")
    ]
    rows: list[dict[str, object]] = [
        {
            "network": NETWORKS.get(name, name),
            "parameters": linked("counts", f"{counts[name]:,}"),
            "gates": linked("counts", counts[f"gates-{name}"]) if f"gates-{name}" in counts else "",
        }
        for name in names
    ]
    depths = [key.removeprefix("layers-") for key in counts if key.startswith("layers-")]
    blocks = ", ".join(
        f"{linked('counts', counts[f'blocks-{depth}'])} in {depth} layers" for depth in depths
    )
    about = (
        "Parameters of networks built by this project; gates are counted apart, one a block. Wide ResNets project their "
        f"shortcuts and have 10 classes. Residual blocks as epsilon-ResNet counts them: {blocks}."
    )
    return section("Parameters and blocks", about, rows)


NETWORKS = {
    "fleuret": "the lecture's, 25 blocks",
    "resnet-5": "ResNet 5",
    "wide-3-4": "Wide ResNet, n = 3, k = 4",
    "wide-4-3": "Wide ResNet, n = 4, k = 3",
    "wide-4-10": "Wide ResNet, n = 4, k = 10",
    "resnet-110": "ResNet-110",
}
