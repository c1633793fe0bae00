"""Saved views of a study in MLflow's UI, and the links that open them.

The UI takes a view's columns, order and charts from a tag of the experiment, in the words of its
own source (`viewStateShareKey`); without `workflowType` it would open on its GenAI pages. A server
that does not know such tags shows the runs all the same, with its own columns.
"""

import json
from typing import Any

from mlflow.tracking import MlflowClient

from skipgate.reader import flat, plain
from skipgate.results.store import StudyResults
from skipgate.settings import MEAN_GATE
from skipgate.tracking.entries import LEVEL

TAG = "mlflow.sharedViewState."
CREATED = "attributes.start_time"
NETS = f"tags.{LEVEL} = 'net'"
SEEDS = f"tags.{LEVEL} = 'seed'"
AXES = 6
"""The most settings that are drawn beside each other."""
NAME = {"attributes.`Run Name`": 190, "runDateAndNestInfo": 60}
"""Columns that are always there, the second for how a run stands, and their widths."""
WIDTHS = {"tags.`family`": 90, "tags.`size`": 70, "tags.`verdict`": 120}
OTHERS = 100
"""How wide columns of numbers are."""
CHARTS = "&compareRunsMode=CHART"
MODES = {"nets": "", "ranking": "", "compare": CHARTS, "seeds": CHARTS}
"""The views, and whether each is a table or charts."""


def links(client: MlflowClient, study: str, server: str) -> dict[str, str]:
    """The address of each view of a study at a server; none where the study has no runs."""
    found = client.get_experiment_by_name(study)
    if found is None:
        return {}
    saved = [name for name in MODES if f"{TAG}{name}" in found.tags]
    return {name: link(server, found.experiment_id, name) for name in saved}


def link(server: str, experiment: str, view: str) -> str:
    """The address of one view."""
    runs = f"{server.rstrip('/')}/#/experiments/{experiment}/runs"
    return f"{runs}?workflowType=machine_learning&viewStateShareKey={view}{MODES[view]}"


def save_views(client: MlflowClient, experiment: str, study: StudyResults) -> None:
    """Write the views of a study that has runs, where they are not there yet."""
    if not study.having("train", "run"):
        return
    there = client.get_experiment(experiment).tags
    for name, view in _views(study).items():
        text = json.dumps(view)
        if there.get(f"{TAG}{name}") != text:
            client.set_experiment_tag(experiment, f"{TAG}{name}", text)


def _views(study: StudyResults) -> dict[str, dict[str, Any]]:
    key = study.measure.key
    measured = [f"metrics.`{name}`" for name in (f"last/{key}", f"best/{key}", MEAN_GATE.name)]
    family, size, verdict = WIDTHS
    columns = [family, size, *measured, verdict, "attributes.`Dataset`"]
    differing = differing_settings(study)
    settings = [f"params.`{name}`" for name in differing]
    by_net = {
        "aggregateFunction": "average",
        "groupByKeys": [{"mode": "tag", "groupByData": "net"}],
    }
    curves = _section("Curves", [_line(study, key), _line(study, "train_loss")])
    axes = _section("Settings that differ", [_parallel(key, differing), _differences()])
    return {
        "nets": {**_table(columns), "orderByKey": CREATED, "orderByAsc": False},
        "ranking": {
            **_table([*columns[:-1], *settings]),
            "searchFilter": NETS,
            "orderByKey": f"metrics.`last/{key}`",
            "orderByAsc": study.measure.lower_is_better,
        },
        "compare": {**_charts(curves, axes), "searchFilter": NETS},
        "seeds": {**_charts(curves), "searchFilter": SEEDS, "groupBy": by_net},
    }


def differing_settings(study: StudyResults) -> list[str]:
    """Settings that all nets have and that are not the same for all; the shortest names first.

    A net that lacks a setting would be missing from a chart that has it as an axis.
    """
    every = [flat(plain(result.spec.settings)) for result in study.having("train", "run").values()]
    shared = set.intersection(*(set(settings) for settings in every))
    differing = [name for name in shared if len({str(settings[name]) for settings in every}) > 1]
    return sorted(differing, key=lambda name: (name.count("."), len(name), name))[:AXES]


def _table(columns: list[str]) -> dict[str, Any]:
    widths = {**NAME, **{name: WIDTHS.get(name, OTHERS) for name in columns}}
    return {"selectedColumns": columns, "columnOrder": list(widths), "columnWidths": widths}


def _charts(*sections: tuple[dict[str, Any], list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "runsHiddenMode": "SHOW_ALL",
        "isAccordionReordered": True,  # else sections are sorted by name
        "compareRunSections": [section for section, _ in sections],
        "compareRunCharts": [chart for _, charts in sections for chart in charts],
    }


def _section(
    name: str, charts: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Charts below each other, each with a name of its own."""
    section = {"uuid": name, "name": name, "display": True, "columns": 1, "isReordered": False}
    placed = [
        {"uuid": f"{name} {index}", "metricSectionId": name, "isGenerated": False, **chart}
        for index, chart in enumerate(charts)
    ]
    return {**section, "deleted": False, "isGenerated": False}, placed


def _line(study: StudyResults, metric: str) -> dict[str, Any]:
    """A curve per run; the measure on the axis that suits it."""
    logarithmic = study.measure.logarithmic or metric == "train_loss"
    return {
        "type": "LINE",
        "displayName": metric,
        "metricKey": metric,
        "selectedMetricKeys": [metric],
        "scaleType": "log" if logarithmic else "linear",
        "xAxisKey": "step",
        "xAxisScaleType": "linear",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "selectedXAxisMetricKey": "",
        "lineSmoothness": 0,
        "displayPoints": False,
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
        "range": {},
        "deleted": False,
    }


def _parallel(key: str, settings: list[str]) -> dict[str, Any]:
    """Parallel coordinates: settings, and what they led to."""
    return {
        "type": "PARALLEL",
        "displayName": "Settings, and what they led to",
        "selectedParams": settings,
        "selectedMetrics": [f"last/{key}"],
        "showAllRuns": False,
        "deleted": False,
    }


def _differences() -> dict[str, Any]:
    """A table of what is not the same in the runs that are shown."""
    return {
        "type": "DIFFERENCE",
        "displayName": "What differs",
        "chartName": "What differs",
        "compareGroups": ["Parameters", "Tags"],
        "showChangeFromBaseline": False,
        "showDifferencesOnly": True,
        "baselineColumnUuid": "",
        "deleted": False,
    }
