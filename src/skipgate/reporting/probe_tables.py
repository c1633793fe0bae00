"""Tables of what the probes found, every number linked to the file it comes from."""

from collections.abc import Sequence
from statistics import median

from skipgate.judging.statistics import estimate
from skipgate.reporting.tables import error_text, linked, markdown
from skipgate.results.names import ONE_PATH, family
from skipgate.results.store import Result, Study

RULES = {
    "smallest": "half removed, smallest gate first",
    "response": "smallest response first",
    "greedy": "greedily",
}
SHARES = ("0%", "25%", "50%", "75%")
"""Of the blocks that keep the shape; what `probes/speed` measures."""
LOST = {
    (0, 0): "all paths",
    (1, 0): "half: one block lost",
    (0, 1): "one shortcut",
    (2, 0): "a quarter: two blocks",
    (1, 1): "one of each",
    (0, 2): "two shortcuts",
}


def probes(study: Study) -> str:
    """What removing and shuffling blocks does, in a few numbers a net."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        lesion, prune, shuffle = (result.parts[kind] for kind in ("lesion", "prune", "shuffle"))
        without = [e.mean for e in map(estimate, lesion["without"]) if e is not None]
        half = round(
            len(lesion["without"]) / 2
        )  # as `probes/speed` does; of a single block there is none
        at_random = [error for order in prune["random"] for error in order[half]] if half else []
        by_rule = {rule: prune[rule][half] if half and prune[rule] else [] for rule in RULES}
        pairs = zip(shuffle["tau"], shuffle["errors"], strict=True)
        shuffled = [error for tau, errors in pairs if tau < 1 for error in errors]
        rows.append(
            {
                "net": f"`{net}`",
                "whole": linked(error_text(lesion["whole"]), result, "lesion"),
                "one block removed: median": linked(
                    f"{median(without):.2f}" if without else "diverged", result, "lesion"
                ),
                "worst": linked(f"{max(without):.2f}" if without else "diverged", result, "lesion"),
                "half removed at random": _mean(at_random, result, "prune"),
                **{title: _mean(by_rule[rule], result, "prune") for rule, title in RULES.items()},
                "shuffled": _mean(shuffled, result, "shuffle"),
                "reversed": _mean(
                    [error for errors in shuffle["reversed"]["errors"] for error in errors],
                    result,
                    "shuffle",
                ),
            }
        )
    return markdown(rows)


def _mean(errors: Sequence[float | None], result: Result, kind: str) -> str:
    """The mean of the errors there are; a dash where the probe does not apply."""
    if not errors:
        return "-"
    found = estimate(errors)
    return linked(f"{found.mean:.2f}" if found else "diverged", result, kind)


def speed(study: Study) -> str:
    """Prediction time and weights of a network that has lost the blocks with the smallest gates."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        part = result.parts["speed"]
        for i, (share, removed) in enumerate(zip(SHARES, part["removed"], strict=True)):
            each = 1000000 * part["seconds"][i] / part["images"] / result.spec.settings.seeds
            rows.append(
                {
                    "net": f"`{net}`" if i == 0 else "",
                    "removed": f"{share}, {removed} blocks",
                    "test error (%)": _mean(part["errors"][i], result, "speed"),
                    "parameters": linked(f"{part['parameters'][i]:,}", result, "speed"),
                    "weights (kB)": f"{part['bytes'][i] / 1000:.0f}",
                    "kFLOP": linked(f"{part['flops'][i] / 1000:,.0f}", result, "speed"),
                    "time (µs)": linked(f"{each:.1f}", result, "speed"),
                }
            )
    return markdown(rows)


def sample_gates(study: Study) -> str:
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
        for net, result in study.results.items()
        for gate, spread in result.parts["gates"]["spread"].items()
    ]
    return markdown(rows) if rows else ""


def lost_paths(study: Study) -> str:
    """Errors after losing as many paths with blocks and with shortcuts."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        part = result.parts["paths"]
        if family(result.spec) in ONE_PATH:
            continue
        found: dict[tuple[int, int], list[float]] = {}
        for removed, cut, errors in zip(part["removed"], part["cut"], part["errors"], strict=True):
            found.setdefault((removed, cut), []).extend(errors)
        draws = len(part["removed"]) // len(found)
        row: dict[str, object] = {
            "net": f"`{net}`",
            "draws x seeds": f"{draws} x {result.spec.settings.seeds}",
        }
        for (removed, cut), title in LOST.items():
            row[title] = _mean(found.get((removed, cut), []), result, "paths")
        rows.append(row)
    return markdown(rows) if rows else ""
