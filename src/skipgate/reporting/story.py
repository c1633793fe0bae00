"""All about one net on one page: what `pipeline.why` prints."""

import json
import textwrap
from typing import Any

from skipgate import specs
from skipgate.judging import papers
from skipgate.judging.judgement import Judgement, judge_study
from skipgate.params import Params
from skipgate.reader import plain
from skipgate.reporting.markdown import markdown
from skipgate.results import store
from skipgate.results.names import family, size
from skipgate.results.store import Result

WIDTH = 100
NAME = 8
"""Characters of a line, and of the name of a setting at its beginning."""


def story(params: Params, net: str, changes: list[str], runs: list[str]) -> str:
    """Settings, changes, results by seed, what it feeds, its MLflow runs, how to recreate it."""
    spec = specs.load(net)
    study = store.load(params, spec.study)
    result = study.results.get(net)
    judgement = judge_study(params, study, papers.load(params))
    parts = {
        f"{net}: {family(spec)}, {size(spec)}, study {spec.study}": _settings(spec),
        "Changed since the committed digest": "\n".join(changes)
        or f"nothing: {spec.digest} is what the code gives",
        "Results by seed": _seeds(result) if result else f"none: {study.missing[net]}",
        "Verdicts it feeds": "\n".join(verdicts_of(judgement, net))
        or "none: no paper reports its number",
        "Claims it feeds": "\n".join(claims_of(judgement, net)) or "none",
        "MLflow": "\n".join(runs) or "not there yet; run: make ui",
        "Again": f"make again NET={net}" + (_cost(result) if result else ""),
    }
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in parts.items())


def _settings(spec: specs.Spec) -> str:
    values: dict[str, Any] = plain(spec.settings)
    values["data"] = {key: values["data"][key] for key in ("kind", "shape", "test")}
    words = {name: json.dumps(value).replace('"', "") for name, value in values.items()}
    lines = [
        textwrap.fill(f"{name:{NAME}}{said}", WIDTH, subsequent_indent=" " * NAME)
        for name, said in words.items()
    ]
    return "\n".join([f"{spec.parameters:,} parameters, digest {spec.digest}", *lines])


def _seeds(result: Result) -> str:
    columns: dict[str, list[float | None]] = {}
    if result.has("train"):
        columns[f"{result.measure.label}, last epoch"] = result.score()
        columns["best epoch"] = result.score("best")
        if not result.is_given:
            columns["training loss"] = result.last("train_loss")
    if result.has("gates"):
        columns["mean T"] = result.metric("mean_gate")
    rows: list[dict[str, object]] = [
        {"seed": seed, **{name: _number(values[seed]) for name, values in columns.items()}}
        for seed in range(result.spec.seeds)
    ]
    return markdown(rows)


def _number(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.4g}"


def verdicts_of(judgement: Judgement, net: str) -> list[str]:
    """The reported numbers that a net is set beside, each with its verdict."""
    return [
        f"{t.paper} {t.name}, {v.cell.row}, {v.cell.column}: reported {v.cell.value:g}, "
        f"ours {v.ours}: {v.word} ({v.reason})"
        for t in judgement.tables
        for v in t.verdicts
        if v.net == net
    ]


def claims_of(judgement: Judgement, net: str) -> list[str]:
    """The claims that a net decides, each with its answer."""
    return [
        f"{c.paper} {c.name}: {c.outcome.answer}" for c in judgement.claims if net in c.outcome.nets
    ]


def _cost(result: Result) -> str:
    """How long each range of seeds took, where, and by which kernels."""
    lines = []
    for run in result.runs if result.has("run") else ():
        compiled = f", {'' if run['compiled'] else 'not '}compiled" if "compiled" in run else ""
        where = f"{run['device']}, {run['threads']} thread(s){compiled}"
        if "processes" in run:
            where = f"{run['processes']} x {where}"
        commit = str(run["commit"])[:12]
        lines.append(
            f"   {specs.told(run['seeds'])}: {run['seconds']:.0f} s on {where}, commit {commit}"
        )
    return "\n" + "\n".join(lines) if lines else ""
