"""Tables of what the probes found, every number linked to the file it comes from."""

from collections.abc import Callable, Sequence
from statistics import median

from skipgate.judging.statistics import estimate
from skipgate.reporting.markdown import markdown
from skipgate.reporting.tables import linked, score_text
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
GATES = ("T", "C")
QUERIES = 5
"""Words whose nearest fit on a screen side by side."""
TENTHS = {"least open": 0, "first tenth": 1, "median": 5, "last tenth": 9, "most open": 10}
"""Of the units, which `probes/words` orders."""
LOST = {
    (0, 0): "none",
    (1, 0): "1 block",
    (0, 1): "1 shortcut",
    (2, 0): "2 blocks",
    (1, 1): "1 of each",
    (0, 2): "2 shortcuts",
}


def lesions(study: StudyResults) -> str:
    """What removing one block does, and shuffling all where that was asked."""
    if not study.having("shuffle"):
        return _table(study, ("lesion",), _lesions)
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


def word_classes(study: StudyResults) -> str:
    """How open gates are for words of each class, mean over blocks, units and seeds."""
    rows: list[dict[str, object]] = []
    for net, result in study.having("words").items():
        part = result.part("words")
        for gate in GATES:
            if gate not in part:
                continue
            row: dict[str, object] = {"net": f"`{net}`", "gate": gate}
            for i, name in enumerate(part["classes"]):
                values = [value for block in part[gate]["by_class"] for value in block[i]]
                title = f"{_as_text(name)} ({part['counts'][i]:,})"
                row[title] = _mean(values, result, "words") if part["counts"][i] else "-"
            rows.append(row)
    return markdown(rows) if rows else ""


def word_units(study: StudyResults) -> str:
    """How open gates are by unit: the least open, the median and the most open of each block."""
    rows: list[dict[str, object]] = [
        {
            "net": f"`{net}`",
            "gate": gate,
            "block": block + 1,
            **{title: _mean(tenths[place], result, "words") for title, place in TENTHS.items()},
        }
        for net, result in study.having("words").items()
        for gate in GATES
        for block, tenths in enumerate(result.part("words").get(gate, {}).get("by_unit", ()))
    ]
    return markdown(rows) if rows else ""


def nearest_words(study: StudyResults) -> str:
    """The words nearest to a few, before and after the layers, in each net's first seed."""
    having = study.having("words")
    if not having:
        return ""
    queries = next(iter(having.values())).part("words")["queries"]
    tables = []
    for start in range(0, len(queries), QUERIES):
        few = slice(start, start + QUERIES)
        rows: list[dict[str, object]] = [
            {"net": f"`{net}`", "layers": side, **_neighbours(result, side, few)}
            for net, result in having.items()
            for side in ("before", "after")
        ]
        tables.append(markdown(rows))
    return "\n\n".join(tables)


def _neighbours(result: Result, side: str, few: slice) -> dict[str, str]:
    part = result.part("words")
    return {
        f"*{query}*": "<br>".join(_as_text(row[0]) for row in ranks)
        for query, ranks in zip(part["queries"][few], part[side][few], strict=True)
    }


def unigram(study: StudyResults) -> str:
    """For scale, what a model reaches that knows nothing but how frequent words are."""
    for result in study.having("words").values():
        level = result.part("words")["unigram"]
        return (
            f"A unigram model, which knows from the training text how frequent each word is and "
            f"nothing else, has a perplexity of {linked(f'{level:.1f}', result, 'words')} on the "
            f"same test text; to guess among all words is {study.measure.guessing:,.0f}."
        )
    return ""


def _as_text(word: str) -> str:
    """A word that Markdown takes neither for a tag nor for a column."""
    return word.replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")


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
