"""How fast the C++ of dense layers is against `torch.compile` of a whole training step."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import torch
from tqdm import tqdm

from skipgate.bench import STEPS, alternating, stacked, stacked_steps
from skipgate.data.images import Images
from skipgate.nets import native
from skipgate.reporting.markdown import markdown
from skipgate.streams import streams

DEPTHS = (20, 100)
ABOUT = f"""## C++ or torch.compile

The same stack of {{seeds}} seeds by the C++ of this project, and without it by `torch.compile` of
loss and gradients, and of the optimiser's step. Alternating, best of {{rounds}} rounds of {STEPS}
steps.

"""


@dataclass(frozen=True)
class Compilation:
    """Milliseconds of a stacked step by C++ and by `torch.compile`, and seconds to compile it."""

    name: str
    native: float
    compiled: float
    compiling: float


def whole_step(depth: int, seeds: int, images: Images, rounds: int) -> Compilation:
    """Our C++ against `torch.compile` of loss, gradients and optimiser, of the same network."""
    ours = stacked_steps(depth, seeds, images)
    theirs = _compiled_steps(depth, seeds, images)
    start = time.perf_counter()
    theirs()
    compiling = time.perf_counter() - start
    fastest = [seconds * 1000 / STEPS for seconds in alternating([ours, theirs], rounds)]
    return Compilation(f"d = {depth}", fastest[0], fastest[1], compiling)


def _compiled_steps(depth: int, seeds: int, images: Images) -> Callable[[], None]:
    with native.left_out():
        state = stacked(depth, seeds)
    recipe = state.settings.training
    loss = torch.compile(lambda x, y: state.task.losses(state.network(x), y).sum())
    step = torch.compile(state.optimiser.step)
    draw = partial(streams, state.seeds, epoch=0)

    def steps() -> None:
        with native.left_out(), warnings.catch_warnings(action="ignore"):
            for x, y in islice(images.epoch(recipe, draw, state.group.share), STEPS):
                state.optimiser.zero_grad(set_to_none=False)
                loss(x, y).backward()
                step()

    return steps


def section(seeds: int, images: Images, rounds: int) -> str:
    """What is measured, and a row for each depth."""
    depths = tqdm(DEPTHS, desc="bench: torch.compile", unit="depth")
    measured = [whole_step(depth, seeds, images, rounds) for depth in depths]
    return ABOUT.format(seeds=seeds, rounds=rounds) + markdown(_rows(measured))


def _rows(measured: Sequence[Compilation]) -> list[dict[str, object]]:
    """One row per depth, with the ratio."""
    return [
        {
            "": c.name,
            "C++ (ms a step)": f"{c.native:.1f}",
            "torch.compile (ms a step)": f"{c.compiled:.1f}",
            "ratio": f"{c.compiled / c.native:.2f}",
            "compiling (s)": f"{c.compiling:.0f}",
        }
        for c in measured
    ]
