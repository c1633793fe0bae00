"""Tables in Markdown, every number linked to the file it comes from."""

from collections.abc import Sequence

import pandas as pd

from skipgate import paths
from skipgate.judging.judgement import JudgedTable, Judgement
from skipgate.judging.statistics import estimate, less
from skipgate.judging.verdicts import Verdict
from skipgate.reader import flat, plain
from skipgate.results.names import family, size
from skipgate.results.store import Result, Study
from skipgate.specs import Spec


def markdown(rows: Sequence[dict[str, object]]) -> str:
    """Rows as a Markdown table; text is kept as it is."""
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def linked(text: object, result: Result, kind: str) -> str:
    """Text that leads to the file it comes from."""
    file = paths.result_file(result.spec.study, result.spec.net, kind)
    return f"[{text}]({paths.link(file, paths.REPORTS)})"


def nets(study: Study) -> str:
    """Each net's error, loss and gates, as mean and 95% interval over seeds."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        spec = result.spec
        diverged = sum(epoch is not None for epoch in result.parts["train"]["diverged"])
        rows.append(
            {
                "net": f"`{net}`",
                "family": family(spec),
                "size": size(spec),
                "test error (%), last epoch": linked(
                    error_text(result.last("test_error")), result, "train"
                ),
                "best epoch": linked(error_text(result.best("test_error")), result, "train"),
                "mean T": linked(estimate(result.metric("mean_gate")) or "-", result, "gates"),
                "blocks closed": linked(_closed(result), result, "gates"),
                "seeds": f"{spec.settings.seeds}" + (f", {diverged} diverged" if diverged else ""),
            }
        )
    rows += [
        {"net": f"`{net}`", "family": "not run", "size": reason}
        for net, reason in study.missing.items()
    ]
    return pd.DataFrame(rows).fillna("").to_markdown(index=False, disable_numparse=True)


def error_text(errors: Sequence[float | None]) -> str:
    """Mean and interval; the seeds themselves where an interval would go beyond all errors that there are."""
    found = estimate(errors)
    if (
        found
        and found.count > 1
        and not 0 <= found.mean - found.half <= found.mean + found.half <= 100
    ):
        return ", ".join(f"{error:.2f}" for error in errors if error is not None)
    return str(found or "diverged")


def _closed(result: Result) -> str:
    """How many blocks have a gate that is 0 for every image, mean over seeds."""
    gates = result.parts["gates"]["T"]
    return f"{sum(value == 0 for block in gates for value in block) / result.spec.settings.seeds:.1f} of {len(gates)}"


def against_paper(judged: JudgedTable, study: Study) -> str:
    """The paper's numbers beside ours, cell by cell, by the study's rule and at the best epoch."""
    unit = judged.table.unit
    kind = "gates" if judged.table.metric == "mean_gate" else "train"
    ours = (
        f"ours ({unit})" if kind == "train" else f"ours, max(0, {unit})"
    )  # what a gate lets through
    rows: list[dict[str, object]] = []
    for verdict, best in zip(judged.verdicts, judged.at_best, strict=True):
        result = study.results.get(verdict.net)
        row: dict[str, object] = {
            "": verdict.cell.row,
            " ": verdict.cell.column,
            f"reported ({unit})": f"{verdict.cell.value:.2f}",
            ours: linked(verdict.ours or "diverged", result, kind) if result else "-",
            "seeds": verdict.ours.count if verdict.ours else "-",
            "net": f"`{verdict.net}`",
            "verdict": _word(verdict, judged.table.margin),
        }
        if kind == "train":
            row["ours, best epoch"] = (
                linked(best.ours or "diverged", result, kind) if result else "-"
            )
            row["verdict, best epoch"] = _word(best, judged.table.margin)
        rows.append(row)
    return markdown(rows)


def _word(verdict: Verdict, margin: float) -> str:
    """The verdict, and for a difference its direction and whether it matters."""
    if verdict.word != "differs" or verdict.gap is None:
        return f"**{verdict.word}**"
    small = ", within the margin" if verdict.gap.reach <= margin else ""
    return f"**differs** (ours is {'higher' if verdict.gap.size > 0 else 'lower'}{small})"


def answers(judgement: Judgement) -> str:
    """The papers' sentences, what the runs say to each, and by how much."""
    rows: list[dict[str, object]] = [
        {
            "claim": f"**{judged.name}**: {judged.claim.says}"
            + (f" (Ours: {how}.)" if (how := judged.claim.deviation) else ""),
            "where": f"{judged.paper}, {judged.claim.where}",
            "answer": f"**{judged.outcome.answer}**",
            "margins by seed: mean ± 90% interval; above 0 where the claim is right": str(
                judged.outcome
            ),
            "nets": ", ".join(f"`{net}`" for net in judged.outcome.nets),
        }
        for judged in judgement.claims
    ]
    return markdown(rows)


def ablations(study: Study) -> str:
    """Nets that differ from an earlier one of the same family and size in a setting or two, and what that moves."""
    first: dict[tuple[str, str], Result] = {}
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        main = first.setdefault((family(result.spec), size(result.spec)), result)
        if main is not result:
            moved = estimate(less(result.last("test_error"), main.last("test_error")))
            gates = estimate(less(result.metric("mean_gate"), main.metric("mean_gate")))
            rows.append(
                {
                    "net": f"`{net}`",
                    "against": f"`{main.spec.net}`",
                    "changed": ", ".join(changed_settings(main.spec, result.spec)),
                    "test error (points, paired by seed)": linked(
                        moved or "diverged", result, "train"
                    ),
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


def origins(study: Study) -> str:
    """Where each net's numbers come from, and the command that makes them again."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        run = result.parts["run"]
        spec_link = paths.link(paths.spec_file(net), paths.REPORTS)
        rows.append(
            {
                "net": f"`{net}`",
                "spec": f"[{result.spec.digest}]({spec_link})",
                "parameters": f"{result.spec.parameters:,}",
                "trained on": linked(
                    f"{run['device']}, {run['threads']} thread(s), {run['seconds']:.0f} s",
                    result,
                    "run",
                ),
                "again": f"`make again NET={net}`",
            }
        )
    return markdown(rows)
