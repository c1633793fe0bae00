"""Tables in Markdown, every number linked to the file it comes from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from skipgate import paths
from skipgate.judging.judgement import JudgedTable
from skipgate.judging.statistics import difference, estimate
from skipgate.judging.verdicts import Verdict
from skipgate.reader import flat, plain
from skipgate.reporting.markdown import markdown
from skipgate.results.by_seed import RESAMPLED
from skipgate.results.names import family, size
from skipgate.results.store import Result, StudyResults
from skipgate.settings import PROBED, Measure
from skipgate.specs import Spec, told

CHANGES = 2
"""Settings that may differ in what is set side by side as a choice that was changed."""
WITHIN = "†"
"""Marks a difference that lies within the margin."""


def linked(text: object, result: Result, kind: str) -> str:
    """Text that leads to the file it comes from."""
    file = paths.result_file(result.spec.study, result.spec.net, kind)
    return f"[{text}]({paths.link(file, paths.REPORTS)})"


def nets(study: StudyResults) -> str:
    """Each net's score as mean and 95% interval over seeds; a dash for what is not there."""
    rows: list[dict[str, object]] = []
    chosen = _all_choose(study)
    for net, result in study.results.items():
        row = {"net": f"`{net}`", "family": family(result.spec), "size": size(result.spec)}
        row |= {"last epoch": "-", "best epoch": "-", "seeds": f"{result.spec.seeds}"}
        if result.has("train"):
            diverged = sum(epoch is not None for epoch in result.part("train")["diverged"])
            row["last epoch"] = linked(score_text(study.measure, result.score()), result, "train")
            best = score_text(study.measure, result.score("best"))
            row["best epoch"] = linked(best, result, "train")
            if chosen:
                found = score_text(study.measure, result.score("validation"))
                row["best on validation"] = linked(found, result, "train")
            row["seeds"] += f", {diverged} diverged" if diverged else ""
        rows.append({**row})
    rows += [{"net": f"`{net}`", "family": "not run"} for net in study.missing]
    table: str = pd.DataFrame(rows).fillna("").to_markdown(index=False, disable_numparse=True)
    waiting = "- What is not run is run by `dvc repro probe@NET`." if study.missing else ""
    notes = "\n".join(filter(None, [waiting, lacking(study)]))
    return f"{table}\n\n{notes}" if notes else table


def _all_choose(study: StudyResults) -> bool:
    """Whether every net that is trained could be read at its best epoch on held-out examples."""
    key = study.measure.validation_key
    having = study.having("train").values()
    return all(key in result.part("train")["metrics"] for result in having)


def given(study: StudyResults) -> str:
    """The nets of a study that somebody else has trained, each with its interval over images."""
    rows: list[dict[str, object]] = []
    for net, result in study.having("train").items():
        (score,) = result.score()
        text = "-" if score is None else f"{score:.2f}{over_images_text(result)}"
        rows.append(
            {
                "net": f"`{net}`",
                "family": family(result.spec),
                "size": size(result.spec),
                "data": result.spec.dataset,
                "images": f"{result.spec.settings.data.test:,}",
                study.measure.axis: linked(text, result, "train"),
            }
        )
    left_out = [{"net": f"`{net}`", "family": "not at hand"} for net in study.absent]
    waiting = [{"net": f"`{net}`", "family": "not run"} for net in study.missing]
    frame = pd.DataFrame([*rows, *left_out, *waiting]).fillna("")
    table: str = frame.to_markdown(index=False, disable_numparse=True)
    why = [f"- `{net}` is not at hand: {reason}." for net, reason in study.absent.items()]
    notes = "\n".join([*why, *filter(None, [lacking(study)])])
    return f"{table}\n\n{notes}" if notes else table


def over_images_text(result: Result) -> str:
    """The 95% interval of a single network's score over images, in words."""
    found = interval_over_images(result)
    return f" ({found[0]:.2f} to {found[1]:.2f})" if found else ""


def interval_over_images(result: Result) -> tuple[float, float] | None:
    """The 95% interval of a single network's score, by percentiles over resampled images."""
    again = result.part("lesion").get(RESAMPLED, {}).get("whole") if result.has("lesion") else None
    if not again:
        return None
    low, high = np.percentile(np.array(again, dtype=float), (2.5, 97.5))
    return float(low), float(high)


def gates(study: StudyResults) -> str:
    """How open the gates are, in nets that have other than constant ones."""
    rows: list[dict[str, object]] = []
    for net, result in study.having("gates").items():
        if {result.spec.settings.T.gate, result.spec.settings.C.gate} != {"constant"}:
            mean = estimate(result.metric("mean_gate")) or "-"
            rows.append(
                {
                    "net": f"`{net}`",
                    "mean T": linked(mean, result, "gates"),
                    "blocks closed": linked(_closed(result), result, "gates"),
                }
            )
    return markdown(rows) if rows else ""


def lacking(study: StudyResults) -> str:
    """Which nets lack a part of their results, and why."""
    found = {net: why for net, why in study.lacking().items() if net in study.results}
    return "\n".join(f"- `{net}`: {why}" for net, why in found.items())


def score_text(measure: Measure, values: Sequence[float | None]) -> str:
    """Mean and interval; the seeds themselves where an interval goes beyond what is possible."""
    found = estimate(values)
    low, high = measure.bounds
    if found and found.count > 1:
        reach = (found.mean - found.half, found.mean + found.half)
        if reach[0] < low or reach[1] > high:
            return ", ".join(f"{value:.2f}" for value in values if value is not None)
    return str(found or "diverged")


def _closed(result: Result) -> str:
    """How many blocks have a gate that is 0 for every example, mean over seeds."""
    gates = result.part("gates")["T"]
    closed = sum(value == 0 for block in gates for value in block)
    return f"{closed / result.spec.seeds:.1f} of {len(gates)}"


def against_paper(judged: JudgedTable, study: StudyResults) -> str:
    """The paper's numbers beside ours, cell by cell, by the study's rule and at the best epoch."""
    unit = judged.table.unit
    probes = {measure.name: kind for measure, kind in PROBED.items()}
    kind = probes.get(judged.table.metric, "train")
    rows: list[dict[str, object]] = []
    for verdict, best in zip(judged.verdicts, judged.at_best, strict=True):
        result = study.having(kind).get(verdict.net)
        row: dict[str, object] = {
            "": verdict.cell.row,
            " ": verdict.cell.column,
            f"reported ({unit})": f"{verdict.cell.value:.2f}",
            "ours": _ours(verdict, result, kind),
            "verdict": _word(verdict, judged.table.margin),
        }
        if kind == "train":
            row["ours, best epoch"] = _ours(best, result, kind)
            row["verdict there"] = _word(best, judged.table.margin)
        rows.append(row)
    return markdown(rows)


def _ours(verdict: Verdict, result: Result | None, kind: str) -> str:
    return linked(verdict.ours or "diverged", result, kind) if result else "-"


def _word(verdict: Verdict, margin: float) -> str:
    """The verdict, and for a difference its direction and whether it matters."""
    if verdict.word != "differs" or verdict.gap is None:
        return verdict.word
    small = f" {WITHIN}" if verdict.gap.reach <= margin else ""
    return f"**differs**, {'higher' if verdict.gap.size > 0 else 'lower'}{small}"


def ablations(study: StudyResults) -> str:
    """Variations beside the net that they vary.

    Also nets that differ in a setting or two from an earlier one of the same family and size.
    """
    first: dict[tuple[str, str], Result] = {}
    rows: list[dict[str, object]] = []
    moves = f"{study.measure.label} ({study.measure.points or 'difference'})"
    for net, result in study.having("train", "gates").items():
        main = first.setdefault((family(result.spec), size(result.spec)), result)
        if net in study.changes:
            main = study.bases[study.changes[net].base]
        changed = changed_settings(main.spec, result.spec)
        is_one_choice = net in study.changes or 0 < len(changed) <= CHANGES
        if is_one_choice and main.has("train", "gates"):
            moved = estimate(difference(result.score(), main.score()))
            gates = estimate(difference(result.metric("mean_gate"), main.metric("mean_gate")))
            rows.append(
                {
                    "net": f"`{net}`",
                    "against": f"`{main.spec.net}`",
                    "changed": "<br>".join(changed),
                    moves: linked(moved or "diverged", result, "train"),
                    "mean T": linked(gates or "-", result, "gates"),
                }
            )
    return markdown(rows) if rows else ""


def changed_settings(old: Spec, new: Spec) -> list[str]:
    """The settings in which two nets differ, each as `name: old to new`."""
    a, b = (flat(plain(spec.settings)) for spec in (old, new))
    return [
        f"{key.split('.', 1)[-1]} {a.get(key)} to {b.get(key)}"
        for key in {**a, **b}
        if a.get(key) != b.get(key)
    ]


def origins(study: StudyResults) -> str:
    """Where each net's numbers come from."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        spec_link = paths.link(paths.spec_file(net), paths.REPORTS)
        trained = linked(_trained(result), result, "run") if result.has("run") else "-"
        rows.append(
            {
                "net": f"`{net}`",
                "spec": f"[{result.spec.digest}]({spec_link})",
                "parameters": f"{result.spec.parameters:,}",
                "obtained on" if study.is_given else "trained on": trained,
            }
        )
    return markdown(rows)


def _trained(result: Result) -> str:
    """Where, and for how long one after the other; seeds of several places are told apart."""
    places: dict[str, list[dict[str, Any]]] = {}
    for run in result.runs:
        places.setdefault(f"{run['device']}, {run['threads']} thread(s)", []).append(run)
    found = []
    for place, runs in places.items():
        seconds = " + ".join(f"{run['seconds']:.0f}" for run in runs)
        seeds = told([seed for run in runs for seed in run["seeds"]])
        found.append(f"{place}, {seconds} s" + (f" ({seeds})" if len(places) > 1 else ""))
    return "; ".join(found)
