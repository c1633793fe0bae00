"""Results of studies that nobody has run: every number is made up, and every part has its shape."""

import dataclasses

import numpy as np

from skipgate import params
from skipgate.results import store
from skipgate.results.store import Result, StudyResults
from skipgate.specs import Spec
from tests.toys import ROOT

EPOCHS = 4
SEEDS = 3
LEARNT = 20.0
"""The error of every net; no block is worth anything."""


def made_up(name: str) -> StudyResults:
    """A study with results of all its nets."""
    study = store.load(params.load(ROOT / "params.yaml"), name)
    results = {net: result(spec) for net, spec in study.specs.items()}
    return dataclasses.replace(study, results=results, missing={})


def result(spec: Spec) -> Result:
    """A net that has learnt, whose blocks are all alike."""
    body = spec.settings.body
    blocks = body.count or 1
    stages = getattr(body, "stages", 1)
    counts = getattr(body, "blocks", blocks)
    sizes = counts if isinstance(counts, tuple) else [blocks // max(stages, 1)] * max(stages, 1)
    stage = [i for i, size in enumerate(sizes) for _ in range(size)][:blocks]
    rows = len(stage)
    parts = {
        "train": train(),
        "gates": {"T": fill(rows), "C": fill(rows), "k": fill(rows), "spread": {"T": spread(rows)}},
        "lesion": {"whole": [LEARNT] * SEEDS, "without": fill(rows, LEARNT), "stage": stage},
        "prune": {
            "random": [fill(rows + 1, LEARNT) for _ in range(2)],
            "smallest": fill(rows + 1, LEARNT),
        },
        "shuffle": {"tau": [1.0, 0.8, 0.5, 0.2], "errors": rising(4)},
        "estimation": {
            "stage": stage,
            "mean": fill(rows),
            "deviation": rising(rows)[::-1],
            "size": fill(rows),
        },
        "paths": {"open": [rows] * SEEDS, "norm": fill(rows + 1)},
        "speed": {"removed": [0, rows // 2], "seconds": [1.0, 0.5]},
    }
    return Result(spec, parts)


def train() -> dict[str, object]:
    names = ("train_loss", "train_error", "test_error", "test_top5_error")
    return {
        "diverged": [None] * SEEDS,
        "metrics": {name: [[LEARNT] * EPOCHS for _ in range(SEEDS)] for name in names},
    }


def fill(rows: int, value: float = 1.0) -> list[list[float]]:
    return [[value] * SEEDS for _ in range(rows)]


def rising(rows: int) -> list[list[float]]:
    return [[LEARNT + row] * SEEDS for row in range(rows)]


def spread(rows: int) -> dict[str, list[list[float]]]:
    return {"low": fill(rows, 0.6), "quiet": fill(rows, 0.4)}


def last(study: StudyResults, net: str, metric: str, values: object) -> None:
    """A metric at the last epoch, by seed."""
    rows = study.results[net].parts["train"]["metrics"][metric]
    for row, value in zip(rows, np.array(values, dtype=float), strict=True):
        row[-1] = float(value)


def gates(study: StudyResults, net: str, rows: object) -> None:
    """The k of every block, [block][seed]."""
    part = study.results[net].parts["gates"]
    part["k"] = np.array(rows, dtype=float).tolist()
    part["T"] = np.maximum(rows, 0).tolist()
