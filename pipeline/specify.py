"""Resolve every net and write what decides its training and its probing to specs/."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import torch
from tqdm import tqdm

from pipeline.stage import run
from skipgate import params, paths, stages
from skipgate.behaviour import specify
from skipgate.files import Problem, write_json

SHARE = 40
"""Nets that take as long as another process takes to start."""


def main() -> None:
    settings = params.load()
    nets = list(settings.nets)
    found = tqdm(_specified(settings, nets), desc="specify", unit="net", total=len(nets))
    specs = dict(zip(nets, found, strict=True))
    for net, line in settings.nets.items():
        if line.base and specs[net][0]["settings"] == specs[line.base][0]["settings"]:
            raise Problem(
                f"params.nets.{line.study}.{line.base}.vary: {' and '.join(line.choices)} changes "
                f"nothing: {net} has the settings of {line.base}, and so its digest; leave it out"
            )
    # Written only once all nets have passed, so that a bad setting leaves every spec as it was.
    for net, (train, probe) in specs.items():
        write_json(paths.spec_file(net), train)
        write_json(paths.probe_spec_file(net), probe)
    for file in [*paths.SPECS.glob("*.json"), *paths.PROBE_SPECS.glob("*.json")]:
        if file.stem not in specs:
            file.unlink()
    stages.check(settings)


def _specified(
    settings: params.Params, nets: list[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The specs of these nets in their order, by as many processes as they are worth."""
    work = partial(specify, settings)
    processes = min(os.cpu_count() or 1, len(nets) // SHARE)
    if processes < 2:
        yield from map(work, nets)
        return
    # A fork would inherit PyTorch's threads half-way.
    afresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        processes, afresh, initializer=torch.set_num_threads, initargs=(1,)
    ) as pool:
        yield from pool.map(work, nets, chunksize=4)


if __name__ == "__main__":
    run(main, __doc__)
