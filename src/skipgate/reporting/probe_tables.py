"""Tables of what the probes found, every number linked to the file it comes from."""

from collections.abc import Callable, Sequence
from statistics import median

from skipgate.judging.statistics import estimate
from skipgate.reporting.tables import linked, markdown, score_text
from skipgate.results.names import ONE_PATH, family
from skipgate.results.store import Result, StudyResults
from skipgate.specs import told

RULES = {
    "smallest": "smallest gate first",
    "response": "smallest response first",
    "greedy": "greedily",
}
SHARES = ("0%", "25%", "50%", "75%")
"""Of the blocks that keep the shape; what `probes/speed` measures."""
LOST = {
    (0, 0): "none",
    (1, 0): "1 block",
    (0, 1): "1 shortcut",
    (2, 0): "2 blocks",
    (1, 1): "1 of each",
    (0, 2): "2 shortcuts",
}


def lesions(study: StudyResults) -> str:
    """What removing one block and shuffling all does."""
    return _table(study, ("lesion", "shuffle"), lambda r: {**_lesions(r), **_shuffled(r)})


def pruning(study: StudyResults) -> str:
    """What removing half of the blocks does, by how they are chosen."""
    return _table(study, ("prune",), _pruned)


def _table(
    study: StudyResults, kinds: Sequence[str], cells: Callable[[Result], dict[str, object]]
) -> str:
    rows = [
        {"net": f"`{net}`", **cells(result)}
        for net, result in study.results.items()
        if any(result.has(kind) for kind in kinds)
    ]
    return markdown(rows) if rows else ""


def _lesions(result: Result) -> dict[str, object]:
    titles = ("whole", "median block removed", "worst block removed")
    if not result.has("lesion"):
        return dict.fromkeys(titles, "-")
    lesion = result.part("lesion")
    without = [e.mean for e in map(estimate, lesion["without"]) if e is not None]
    middle = f"{median(without):.2f}" if without else "diverged"
    worst = f"{result.measure.worst(without):.2f}" if without else "diverged"
    whole = (
        _mean_text(lesion["whole"])
        if result.is_given
        else score_text(result.measure, lesion["whole"])
    )
    return {
        title: linked(text, result, "lesion")
        for title, text in zip(titles, (whole, middle, worst), strict=True)
    }


def _pruned(result: Result) -> dict[str, object]:
    """After half of the blocks is removed; of a single block there is no half."""
    prune = result.part("prune")
    half = round((len(prune["random"][0]) - 1) / 2)  # as `probes/speed` counts it
    at_random = [value for order in prune["random"] for value in order[half]] if half else []
    by_rule = {rule: prune[rule][half] if half and prune[rule] else [] for rule in RULES}
    ruled = {name: _mean(by_rule[rule], result, "prune") for rule, name in RULES.items()}
    whole = _mean(prune["random"][0][0], result, "prune")
    return {"whole": whole, "at random": _mean(at_random, result, "prune"), **ruled}


def _shuffled(result: Result) -> dict[str, object]:
    if not result.has("shuffle"):
        return {"shuffled": "-", "reversed": "-"}
    shuffle = result.part("shuffle")
    pairs = zip(shuffle["tau"], shuffle["errors"], strict=True)
    swapped = [value for tau, values in pairs if tau < 1 for value in values]
    turned = [value for values in shuffle["reversed"]["errors"] for value in values]
    return {
        "shuffled": _mean(swapped, result, "shuffle"),
        "reversed": _mean(turned, result, "shuffle"),
    }


def _mean(errors: Sequence[float | None], result: Result, kind: str) -> str:
    """The mean of the numbers there are; a dash where the probe does not apply."""
    return linked(_mean_text(errors), result, kind) if errors else "-"


def _mean_text(values: Sequence[float | None]) -> str:
    found = estimate(values)
    return f"{found.mean:.2f}" if found else "diverged"


def speed(study: StudyResults) -> str:
    """Prediction time and weights of a network that has lost the blocks with the smallest gates."""
    rows: list[dict[str, object]] = []
    for net, result in study.having("speed").items():
        part = result.part("speed")
        for i, (share, removed) in enumerate(zip(SHARES, part["removed"], strict=True)):
            each = 1000000 * part["seconds"][i] / part["images"] / len(part["seeds"])
            rows.append(
                {
                    "net": _measured(net, result) if i == 0 else "",
                    "removed": f"{share}, {removed} blocks",
                    study.measure.axis: _mean(part["errors"][i], result, "speed"),
                    "parameters": linked(f"{part['parameters'][i]:,}", result, "speed"),
                    "weights (kB)": f"{part['bytes'][i] / 1000:.0f}",
                    "kFLOP": linked(f"{part['flops'][i] / 1000:,.0f}", result, "speed"),
                    "time (µs)": linked(f"{each:.1f}", result, "speed"),
                }
            )
    return markdown(rows) if rows else ""


def _measured(net: str, result: Result) -> str:
    """The net, and which of its seeds were measured if not all."""
    seeds = result.part("speed")["seeds"]
    return f"`{net}`" if len(seeds) == result.spec.seeds else f"`{net}`, {told(seeds)}"


def sample_gates(study: StudyResults) -> str:
    """Gates that depend on the sample: how sparse they are for one, and on average."""
    rows: list[dict[str, object]] = [
        {
            "net": f"`{net}`",
            "gate": gate,
            **{
                title: _mean(
                    [v and 100 * v for block in spread[key] for v in block], result, "gates"
                )
                for key, title in (
                    ("low", "values below 0.1 (%)"),
                    ("quiet", "units whose mean is (%)"),
                )
            },
        }
        for net, result in study.having("gates").items()
        for gate, spread in result.part("gates")["spread"].items()
    ]
    return markdown(rows) if rows else ""


def lost_paths(study: StudyResults) -> str:
    """Scores after losing as many paths with blocks and with shortcuts."""
    rows: list[dict[str, object]] = []
    for net, result in study.having("paths").items():
        part = result.part("paths")
        if family(result.spec) in ONE_PATH:
            continue
        found: dict[tuple[int, int], list[float | None]] = {}
        for removed, cut, errors in zip(part["removed"], part["cut"], part["errors"], strict=True):
            found.setdefault((removed, cut), []).extend(errors)
        draws = len(part["removed"]) // len(found)
        row: dict[str, object] = {
            "net": f"`{net}`",
            "draws x seeds": f"{draws} x {result.spec.seeds}",
        }
        for (removed, cut), title in LOST.items():
            row[title] = _mean(found.get((removed, cut), []), result, "paths")
        rows.append(row)
    return markdown(rows) if rows else ""
