"""Results of studies that nobody has run: every number is made up, and every part has its shape."""

import dataclasses
from typing import Any

import numpy as np

from skipgate import params
from skipgate.results import store
from skipgate.results.store import Result, StudyResults
from skipgate.settings import GateChoice
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
    parts: dict[str, Any] = {
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
    if spec.settings.T.gate == "epsilon":
        parts["identity"] = identity(stage)
        parts["train"]["blocks"] = [record(stage) for _ in range(SEEDS)]
        parts["train"]["metrics"] |= {
            "rate": [[0.1] * EPOCHS for _ in range(SEEDS)],
            "discarded": [[0.0] * EPOCHS for _ in range(SEEDS)],
        }
    return Result(spec, parts)


def identity(stage: list[int]) -> dict[str, object]:
    """Half of all blocks are strict identities, if that can be, and nothing is lost with them."""
    whole = 2 * len(stage) + 2
    pairs = {"layers": (whole, whole / 2), "parameters": (2000, 1000), "memory": (8000, 4000)}
    pairs |= {"file": (9000, 5000), "seconds": (0.02, 0.01), "errors": (LEARNT, LEARNT)}
    return {
        "stage": stage,
        "training": 1198,
        "images": 599,
        "alone": 200,
        "strict": fill(len(stage), 0.5),
        "gates": [1] * SEEDS,
        **{key: [[value] * SEEDS for value in pair] for key, pair in pairs.items()},
        "swayed": [[0.5] * SEEDS, [0.0] * SEEDS],
        "changed": [0] * SEEDS,
        "unlike": [0] * SEEDS,
    }


def record(stage: list[int]) -> dict[str, object]:
    """What training records of one seed: every block is shut from the second epoch on."""
    ends = {"0": -1.0, "7": -0.5, "50": 0.0, "93": 0.5, "100": 1.0}
    return {
        "stage": stage,
        "shut": [[1] for _ in stage],
        "collapsed": [[] for _ in stage],
        "epochs": list(range(EPOCHS)),
        "percentiles": {p: [[end] * EPOCHS for _ in stage] for p, end in ends.items()},
    }


def train() -> dict[str, Any]:
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


def sweep(**changed: object) -> StudyResults:
    """Epsilon nets `e-N-EPSILON` of two depths, and residual ones `r-N` and, without side, `b-N`.

    They are digits' own but for their bodies, of N blocks a stage, and what is changed of these.
    """
    study = store.load(params.load(ROOT / "params.yaml"), "digits")
    like = study.specs["conv-epsilon"]
    body = dataclasses.replace(like.settings.body, side=0.1, **changed)
    made: dict[str, Spec] = {}
    for n in (2, 4, 6):
        bodies = {"r": dataclasses.replace(body, blocks=n)}
        bodies["b"] = dataclasses.replace(bodies["r"], side=0.0)
        for name, own in bodies.items():
            made[f"{name}-{n}"] = named(
                like, f"{name}-{n}", body=own, T=GateChoice.from_plain(1, "")
            )
        for epsilon in (1, 2, 3) if n > 2 else ():
            T = GateChoice("epsilon", {**like.settings.T.settings, "epsilon": epsilon})
            net = f"e-{n}-{epsilon}"
            made[net] = named(like, net, body=bodies["r"], T=T)
    results = {net: result(spec) for net, spec in made.items()}
    return dataclasses.replace(study, specs=made, results=results, missing={}, changes={}, bases={})


def named(like: Spec, net: str, **settings: object) -> Spec:
    """A net of another name and settings."""
    changed = dataclasses.replace(like.settings, **settings)  # type: ignore[arg-type]
    return dataclasses.replace(like, net=net, settings=changed, seeds=SEEDS)


def add(study: StudyResults, spec: Spec) -> None:
    """Put one more net, with made-up results, into a study."""
    study.specs[spec.net] = spec
    study.results[spec.net] = result(spec)


def discards(study: StudyResults, net: str, shares: object) -> None:
    """How much of a net is discarded, by seed, all blocks being alike."""
    part = study.results[net].parts["identity"]
    part["strict"] = [np.array(shares, dtype=float).tolist() for _ in part["stage"]]
