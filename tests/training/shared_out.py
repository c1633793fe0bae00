"""Small trainings that several processes share: what `torchrun` starts in test_parallel.py."""

import sys
from pathlib import Path

import torch

from skipgate.data.examples import Split
from skipgate.fanout import worker
from skipgate.group import Group, joined
from skipgate.nets.weights import to_list
from skipgate.settings import Augment, GateChoice, Imagenet, Mlp, Norm, Resnet, Sgd
from skipgate.streams import stream
from skipgate.tasks import task_of
from skipgate.training.loop import State, begin, run_epoch
from tests.toys import CONV, MLP, ONE, TOY, toy_settings

CPU = torch.device("cpu")
SEEDS = range(2)
COUNT = 23
"""Odd, so that two processes never have as many."""
BARE = Norm(kind="none")
MANY_STEPS = {
    "epochs": 2,
    "batch": 7,
    "optimiser": Sgd("sgd", 0.1),
    "augment": Augment(pad=1, flip=True, brightness=1.0),
    "score_training": True,
    "evaluation_batch": 5,
}
ONE_STEP = {
    "epochs": 1,
    "batch": COUNT,
    "optimiser": Sgd("sgd", 1.0, 0.0, nesterov=False),
    "shuffle": False,
    "evaluation_batch": 5,
}
HIGHWAY = GateChoice("pointwise"), GateChoice("coupled")
WITHOUT_NORM = {
    "dense": toy_settings(Mlp("mlp", depth=4, width=6, norm=BARE), ONE, ONE, **MANY_STEPS),
    "highway": toy_settings(
        Imagenet("imagenet", (2, 1), bottleneck=True, width=2, norm=BARE), *HIGHWAY, **MANY_STEPS
    ),
    "dropout": toy_settings(
        Resnet("resnet", blocks=1, width=2, shortcut="project", norm=BARE, dropout=0.3),
        **MANY_STEPS,
    ),
    "stochastic": toy_settings(
        Resnet("resnet", blocks=2, width=2, norm=BARE), GateChoice("survival"), ONE, **MANY_STEPS
    ),
}
WITH_NORM = {
    "normed": toy_settings(MLP, GateChoice("scalar"), ONE, **ONE_STEP),
    "normed-conv": toy_settings(CONV, **ONE_STEP),
}
CASES = {**WITHOUT_NORM, **WITH_NORM}


def examples(case: str) -> Split:
    return task_of(TOY).made_up(COUNT, CASES[case].training, stream(0, "examples"))


def trained(case: str, group: Group) -> State:
    settings = CASES[case]
    state = begin(settings, SEEDS, CPU, torch.float64)
    state.group = group
    for epoch in range(settings.training.epochs):
        run_epoch(state, examples(case), epoch)
    return state


def main(folder: Path) -> None:
    """All cases, then seed 0 of the net `x` of the folder that this runs in."""
    torch.use_deterministic_algorithms(True)
    with joined() as group:
        for case in CASES:
            state = trained(case, group)
            found = {"tensors": to_list(state.network), "history": state.history}
            torch.save(found, folder / f"{case}-{group.share.rank}.pt")
        worker.main("x", [0], group)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
