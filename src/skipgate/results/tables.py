"""Tables in Markdown, every number linked to the file it comes from."""

from collections.abc import Sequence
from statistics import median

import pandas as pd

from skipgate import paths
from skipgate.reader import flat, plain
from skipgate.results.judgement import JudgedTable, Judgement
from skipgate.results.names import family, size
from skipgate.results.statistics import estimate, less
from skipgate.results.store import Result, Study
from skipgate.results.verdicts import Verdict
from skipgate.specs import Spec

RULES = {
    "smallest": "half removed, smallest gate first",
    "response": "smallest response first",
    "greedy": "greedily",
}
SHARES = ("0%", "25%", "50%", "75%")
"""Of the blocks that keep the shape; what `probes/speed` measures."""


def markdown(rows: Sequence[dict[str, object]]) -> str:
    """Rows as a Markdown table; text is kept as it is."""
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def _linked(text: object, result: Result, kind: str) -> str:
    file = paths.result_file(result.spec.study, result.spec.net, kind)
    return f"[{text}]({paths.link(file, paths.REPORTS)})"


def nets(study: Study) -> str:
    """Each net's error, loss and gates, as mean and 95% interval over seeds."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        spec, diverged = result.spec, sum(epoch is not None for epoch in result.parts["train"]["diverged"])
        rows.append(
            {
                "net": f"`{net}`",
                "family": family(spec),
                "size": size(spec),
                "test error (%), last epoch": _linked(estimate(result.last("test_error")) or "diverged", result, "train"),
                "best epoch": _linked(estimate(result.best("test_error")) or "diverged", result, "train"),
                "mean T": _linked(estimate(result.metric("mean_gate")) or "-", result, "gates"),
                "seeds": f"{spec.settings.seeds}" + (f", {diverged} diverged" if diverged else ""),
            }
        )
    rows += [{"net": f"`{net}`", "family": "not run", "size": reason} for net, reason in study.missing.items()]
    return pd.DataFrame(rows).fillna("").to_markdown(index=False, disable_numparse=True)


def against_paper(judged: JudgedTable, study: Study) -> str:
    """The paper's numbers beside ours, cell by cell, by the study's rule and at the best epoch."""
    unit, kind = judged.table.unit, "gates" if judged.table.metric == "mean_gate" else "train"
    rows: list[dict[str, object]] = []
    for verdict, best in zip(judged.verdicts, judged.at_best, strict=True):
        result = study.results.get(verdict.net)
        row: dict[str, object] = {
            "": verdict.cell.row,
            " ": verdict.cell.column,
            f"reported ({unit})": f"{verdict.cell.value:.2f}",
            f"ours ({unit})": _linked(verdict.ours or "diverged", result, kind) if result else "-",
            "seeds": verdict.ours.count if verdict.ours else "-",
            "net": f"`{verdict.net}`",
            "verdict": _word(verdict),
        }
        if kind == "train":
            row["ours, best epoch"] = _linked(best.ours or "diverged", result, kind) if result else "-"
            row["verdict, best epoch"] = _word(best)
        rows.append(row)
    return markdown(rows)


def _word(verdict: Verdict) -> str:
    """The verdict, and for a difference its direction."""
    if verdict.word != "differs" or verdict.gap is None:
        return f"**{verdict.word}**"
    return f"**differs** (ours is {'higher' if verdict.gap.size > 0 else 'lower'})"


def answers(judgement: Judgement) -> str:
    """The papers' sentences, what the runs say to each, and by how much."""
    rows: list[dict[str, object]] = [
        {
            "claim": f"**{judged.name}**: {judged.claim.says}"
            + (f" (Ours: {how}.)" if (how := judged.claim.deviation) else ""),
            "where": f"{judged.paper}, {judged.claim.where}",
            "answer": f"**{judged.outcome.answer}**",
            "margins by seed: mean ± 90% interval; above 0 where the claim is right": str(judged.outcome),
            "nets": ", ".join(f"`{net}`" for net in judged.outcome.nets),
        }
        for judged in judgement.claims
    ]
    return markdown(rows)


def probes(study: Study) -> str:
    """What removing and shuffling blocks does, in a few numbers a net."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        lesion, prune, shuffle = (result.parts[kind] for kind in ("lesion", "prune", "shuffle"))
        without = [e.mean for e in map(estimate, lesion["without"]) if e is not None]
        half = (len(lesion["without"]) + 1) // 2
        at_random = [error for order in prune["random"] for error in order[half]]
        by_rule = {rule: prune[rule][half] if prune[rule] else [] for rule in RULES}
        pairs = zip(shuffle["tau"], shuffle["errors"], strict=True)
        shuffled = [error for tau, errors in pairs if tau < 1 for error in errors]
        rows.append(
            {
                "net": f"`{net}`",
                "whole": _linked(estimate(lesion["whole"]) or "diverged", result, "lesion"),
                "one block removed: median": _linked(f"{median(without):.2f}" if without else "diverged", result, "lesion"),
                "worst": _linked(f"{max(without):.2f}" if without else "diverged", result, "lesion"),
                "half removed at random": _mean(at_random, result, "prune"),
                **{title: _mean(by_rule[rule], result, "prune") for rule, title in RULES.items()},
                "shuffled": _mean(shuffled, result, "shuffle"),
                "reversed": _mean([error for errors in shuffle["reversed"]["errors"] for error in errors], result, "shuffle"),
            }
        )
    return markdown(rows)


def _mean(errors: Sequence[float | None], result: Result, kind: str) -> str:
    """The mean of the errors there are; a dash where the probe does not apply."""
    if not errors:
        return "-"
    found = estimate(errors)
    return _linked(f"{found.mean:.2f}" if found else "diverged", result, kind)


def speed(study: Study) -> str:
    """Prediction time and weights of a network that has lost the blocks with the smallest gates."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        part = result.parts["speed"]
        prune = result.parts["prune"]["smallest"] or result.parts["prune"]["response"]
        for i, (share, removed) in enumerate(zip(SHARES, part["removed"], strict=True)):
            each = 1000000 * part["seconds"][i] / part["images"] / result.spec.settings.seeds
            rows.append(
                {
                    "net": f"`{net}`" if i == 0 else "",
                    "removed": f"{share}, {removed} blocks",
                    "test error (%)": _mean(prune[removed] if prune else [], result, "prune"),
                    "parameters": _linked(f"{part['parameters'][i]:,}", result, "speed"),
                    "weights (kB)": f"{part['bytes'][i] / 1000:.0f}",
                    "kFLOP": _linked(f"{part['flops'][i] / 1000:,.0f}", result, "speed"),
                    "time (µs)": _linked(f"{each:.1f}", result, "speed"),
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
                title: _mean([100 * v for block in spread[key] for v in block], result, "gates")
                for key, title in (("low", "values below 0.1 (%)"), ("quiet", "units whose mean is (%)"))
            },
        }
        for net, result in study.results.items()
        for gate, spread in result.parts["gates"]["spread"].items()
    ]
    return markdown(rows) if rows else ""


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
                    "test error (points, paired by seed)": _linked(moved or "diverged", result, "train"),
                    "mean T": _linked(gates or "-", result, "gates"),
                }
            )
    return markdown(rows) if rows else ""


def changed_settings(old: Spec, new: Spec) -> list[str]:
    """The settings in which two nets differ, each as `name: old to new`."""
    a, b = (flat(plain(spec.settings)) for spec in (old, new))
    return [f"{key.split('.', 1)[-1]} {a.get(key)} to {b.get(key)}" for key in {**a, **b} if a.get(key) != b.get(key)]


def origins(study: Study) -> str:
    """Where each net's numbers come from, and the command that makes them again."""
    rows: list[dict[str, object]] = []
    for net, result in study.results.items():
        run, spec_link = result.parts["run"], paths.link(paths.spec_file(net), paths.REPORTS)
        rows.append(
            {
                "net": f"`{net}`",
                "spec": f"[{result.spec.digest}]({spec_link})",
                "parameters": f"{result.spec.parameters:,}",
                "trained on": _linked(f"{run['device']}, {run['threads']} thread(s), {run['seconds']:.0f} s", result, "run"),
                "again": f"`make again NET={net}`",
            }
        )
    return markdown(rows)
