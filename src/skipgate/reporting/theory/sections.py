"""The sections of the theory page."""

import re
from collections.abc import Sequence
from typing import Any

from skipgate import paths
from skipgate.judging.judgement import Judgement
from skipgate.reporting.markdown import markdown
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
    """Text as a link to the part's result file."""
    return f"[{text}]({paths.link(paths.theory_file(part), paths.REPORTS)})"


def section(title: str, about: str, rows: Sequence[dict[str, object]]) -> str:
    """A heading, what the table is about, and the table."""
    return f"## {title}\n\n{about}\n\n{markdown(rows)}"


def sdi(theory: Theory) -> str:
    """Distances to identity."""
    table = theory["sdi"]["table"]
    rows = [
        _distance(table, name)
        for name in ("classical", "highway -4.0", "highway -4.5", "highway -5.0", "residual")
    ]
    starts = ", ".join(
        f"{linked('sdi', f'{value:g}')} for k_init = {start[1]}"
        for key, value in table.items()
        # Only numbers: "gated power" is the exponent of k_init and no starting value.
        if (start := re.fullmatch(r"gated (-?\d\S*)", key))
    )
    about = (
        "Squared distance from a fresh layer's parameters to those of an identity, summed "
        "(gresnet-v1 section 2; the highway rows are its Table 1). All weights start with He's "
        "variance 2/n. The paper lets the biases start with variance 2/n too; this project starts "
        "them at 0, and those of highway gates at -4 (*ours*). Beside each formula stand slope and "
        "intercept in n, fitted to samples, with 95% intervals. A layer with a scalar gate has "
        f"k_init² at any width (section 3): {starts}."
    )
    return section("Distance to identity", about, rows)


def _distance(table: dict[str, float], name: str) -> dict[str, object]:
    """One layer's TSDI as a line in n, by formula and fitted, for both conventions of biases."""
    gate = f"{name} gate"
    row: dict[str, object] = {"layer": name.replace(" -", ", c = -")}
    row["g(c)"] = linked("sdi", f"{table[gate]:.3f}") if gate in table else ""
    for word, title in (
        (name, "paper's biases"),
        (f"{name} project", "ours"),
    ):
        row[title] = linked("sdi", line(table[f"{word} slope"], table[f"{word} intercept"]))
        fits = (
            margin(table[f"{word} sampled {key}"], table[f"{word} {key} margin"])
            for key in ("slope", "intercept")
        )
        row[f"{title}, sampled"] = linked("sdi", ", ".join(fits))
    return row


def mixes(theory: Theory) -> str:
    """Optimal mixes of two estimates."""
    found = theory["mixes"]
    rows = [_mix(name, case) for name, case in found["cases"].items()]
    bias = found["bias"]
    about = (
        "The previous estimate a and a new one H, both unbiased, mixed as (1 - T) a + T H "
        "(unrolled Equations 10, 15 and 16). The best T by formula is compared with a grid from "
        f"{found['grid'][0]:g} to {found['grid'][-1]:g} on {found['draws']:,} samples; ± is one "
        "standard error. A T outside 0 to 1 is out of a sigmoid's reach and has no z. Weights that "
        f"do not sum to 1 are biased: {bias['keep']:g} and "
        f"{bias['take']:g} by {linked('mixes', format(bias['formula'], 'g'))}, sampled "
        f"{linked('mixes', margin(bias['sampled'], bias['error']))}."
    )
    return section("The best mix of two estimates", about, rows)


def _mix(name: str, case: dict[str, Any]) -> dict[str, object]:
    """One case of the two estimates' errors."""
    return {
        "case": name,
        "Var a, Var H, Cov": (
            f"{case['variance a']:g}, {case['variance H']:g}, {case['covariance']:g}"
        ),
        "best T": linked("mixes", f"{case['T']:.3f}"),
        "best of the grid": linked("mixes", f"{case['best of grid']:g}"),
        "its variance": linked("mixes", f"{case['variance']:.3f}"),
        "sampled": linked("mixes", margin(case["sampled variance"], case["error"])),
        "z = log(α₁/α₂)": linked("mixes", f"{case['z']:.3f}") if case["reachable"] else "none",
    }


def slices(theory: Theory) -> str:
    """Slices of the loss surface in k."""
    found = theory["slices"]
    deviations = {key: f"{value:g}" for key, value in found["deviations"].items()}
    deviations["residual k = 0 is W = 0"] = f"{found['W = 0 from k = 0, residual']:g}"
    deviations |= {
        f"{name}: {statement}": f"{loss[key]:.3g}"
        for name, loss in found["loss"].items()
        for key, statement in LOSS.items()
    }
    rows: list[dict[str, object]] = [
        {"statement": statement, "largest deviation": linked("slices", deviation)}
        for statement, deviation in deviations.items()
    ]
    about = (
        "gresnet-v2 section 2.2 for the gated layer g f + (1 - g) x and for the gated residual "
        "layer g f + x, in float64. Rounding errors are given as powers of ten, because their "
        "digits differ between machines."
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
    steps = [f"{step:g}" for step in found["steps"]]
    below = [(f"-{step}", value) for step, value in zip(steps, found["below"], strict=True)]
    above = [(f"+{step}", value) for step, value in zip(steps, found["above"], strict=True)]
    rows: list[dict[str, object]] = [
        {"largest response, from ε": distance, "gate": linked("epsilon", f"{value:g}")}
        for distance, value in (*below, ("0", found["at epsilon"]), *reversed(above))
    ]
    same = (
        "the same outputs to the last bit"
        if found["outputs equal without them"]
        else "different outputs"
    )
    about = (
        f"The gate of epsilon-ResNet (Equations 3 to 5) at ε = {found['epsilon']:g}. On "
        f"{found['samples']:,} samples about the threshold it differs from Equation 3 in "
        f"{linked('epsilon', found['samples that differ'])}. Of a network's {found['blocks']} "
        f"blocks, {linked('epsilon', found['blocks closed'])} were closed; without them it has "
        f"{linked('epsilon', same)}. The largest gradient in a closed block is "
        f"{linked('epsilon', format(found['largest gradient in closed blocks'], 'g'))}, in an open "
        f"one {linked('epsilon', format(found['largest gradient in open blocks'], '.2g'))}."
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
        "n blocks make C(n, l) paths of length l; deleting m blocks leaves a share of 2^-m (Veit "
        f"et al., in the lecture). Counting the paths of {len(found['removed']) - 1} blocks one by "
        f"one {linked('paths', 'agrees' if agree else 'disagrees')} with both."
    )
    return section("Paths", about, rows)


def counts(theory: Theory) -> str:
    """Parameters and blocks."""
    found = theory["counts"]
    names = [
        key
        for key in found
        if f"blocks-{key}" not in found and key.split("-")[0] in ("fleuret", "resnet", "wide")
    ]
    rows = [_count(found, name) for name in names]
    depths = [key.removeprefix("layers-") for key in found if key.startswith("layers-")]
    blocks = ", ".join(
        f"{linked('counts', found[f'blocks-{depth}'])} in {depth} layers" for depth in depths
    )
    about = (
        "Parameters of networks built by this project; gates are counted apart, one a block. Wide "
        "ResNets project their shortcuts and have 10 classes. Residual blocks as epsilon-ResNet "
        f"counts them: {blocks}."
    )
    return section("Parameters and blocks", about, rows)


def _count(found: dict[str, Any], name: str) -> dict[str, object]:
    """The parameters of one network, and its gates if it has any."""
    gates = f"gates-{name}"
    return {
        "network": NETWORKS.get(name, name),
        "parameters": linked("counts", f"{found[name]:,}"),
        "gates": linked("counts", found[gates]) if gates in found else "",
    }


NETWORKS = {
    "fleuret": "the lecture's, 25 blocks",
    "resnet-5": "ResNet 5",
    "wide-3-4": "Wide ResNet, n = 3, k = 4",
    "wide-4-3": "Wide ResNet, n = 4, k = 3",
    "wide-4-10": "Wide ResNet, n = 4, k = 10",
    "resnet-110": "ResNet-110",
}
