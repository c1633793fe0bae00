"""What a net does, as a digest that changes exactly when the net's behaviour does.

A shallow twin of the net runs a few tiny float64 steps on made-up examples through the real
training, evaluation and probing code, at the epochs that its schedule names; what comes out is
rounded and hashed. Beside it stands the structure of the full network. A rename or a comment leaves
both alone.
"""

import dataclasses
import math
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import torch

from skipgate import paths
from skipgate.evaluation import evaluate
from skipgate.files import Problem, read_json, rounded
from skipgate.nets import gates
from skipgate.nets.network import Network, parameter_count
from skipgate.nets.weights import tensors
from skipgate.params import Params
from skipgate.probes import BESIDE, PROBES
from skipgate.probes.run import resamples_for
from skipgate.probes.subject import Subject
from skipgate.reader import plain, read
from skipgate.settings import Probes
from skipgate.settings.body import TWIN_SIDE
from skipgate.specs import Settings, digest_of, resolve
from skipgate.streams import stream
from skipgate.tasks import task_of
from skipgate.training.loop import begin, build_for, run_epoch

TWIN_SEEDS = range(2)
TWIN_EXAMPLES = 8
TWIN_HELD_OUT = 1
TWIN_BATCH = 5  # leaves a smaller last batch, as real data do
NORM_DECIMALS = 6
SHARE = 40
"""Nets that take longer than another process takes to start."""
SAME = 0.00001
"""Relative difference below which two traces are one behaviour.

Machines differ in the last bits; changes differ in more.
"""


def specify(params: Params, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The contents of `specs/NET.json` and of `specs/probes/NET.json`."""
    net = params.nets[name]
    settings = _with_gate_defaults(resolve(params, name))
    full = _structure(settings, f"params.nets.{name}")
    subject, trace = _twin(settings)
    trace = _settled(trace, name)
    train = {
        "net": name,
        "study": net.study,
        "dataset": net.data,
        "seeds": net.seeds,
        "stack": net.stack,
        **full,
        "behaviour": trace,
        "settings": plain(settings),
    }
    train["digest"] = _kept(settings, train) or digest_of(_anywhere(settings), full, trace)
    probing = params.probes[net.probes]
    digests = {kind: _probe_digest(kind, subject, probing) for kind in probing.kinds}
    return train, {"net": name, "settings": plain(probing), "digests": digests}


def specify_all(params: Params) -> Iterator[tuple[str, tuple[dict[str, Any], dict[str, Any]]]]:
    """Every net with its specs, in their order, by as many processes as they are worth."""
    nets = list(params.nets)
    work = partial(specify, params)
    processes = min(os.cpu_count() or 1, len(nets) // SHARE)
    if processes < 2:
        yield from zip(nets, map(work, nets), strict=True)
        return
    # A fork would inherit PyTorch's threads half-way.
    afresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, afresh, torch.set_num_threads, (1,)) as pool:
        yield from zip(nets, pool.map(work, nets, chunksize=4), strict=True)


def _probe_digest(kind: str, subject: Subject, settings: Probes) -> str:
    """What decides one probe's result, given the weights.

    That is how it is set, and what it finds in the twin.
    """
    subject = dataclasses.replace(subject, resamples=min(resamples_for(kind, settings), 2))
    found = PROBES[kind](subject, brief(settings))
    own = getattr(settings, kind, None)
    steady = {key: value for key, value in found.items() if key not in BESIDE}
    drawn = [settings.resamples] if settings.resamples else []
    return digest_of(kind, settings.images_for(kind), own, rounded(steady), *drawn)


def brief(settings: Probes) -> Probes:
    """The same with one path of each length, or with two where these are drawn again.

    The twin shows what is done with a path, and the settings are hashed as well.
    """
    draws = 2 if settings.resamples else 1
    return dataclasses.replace(settings, paths=dataclasses.replace(settings.paths, draws=draws))


def _kept(settings: Settings, fresh: dict[str, Any]) -> str | None:
    """The committed digest, if the net is what it was when it got it.

    A setting that did not exist then counts as its default: a new option retrains no net that does
    not use it, while a default that changed, or a step that became another, does.
    """
    old = _committed(fresh["net"])
    if not all(old.get(key) == fresh[key] for key in ("parameters", "structure", "behaviour")):
        return None
    try:
        before: Settings = read(Settings, old["settings"], "settings")
        same = _anywhere(before) == _anywhere(settings)
    except (KeyError, Problem):
        return None
    return str(old["digest"]) if same and "digest" in old else None


def _anywhere(settings: Settings) -> Settings:
    """Without the device that is asked for: where a net is trained does not make it another."""
    recipe: Any = settings.recipe  # of either kind, which are both dataclasses
    return dataclasses.replace(settings, recipe=dataclasses.replace(recipe, device="auto"))


def _with_gate_defaults(settings: Settings) -> Settings:
    """The settings with the gates' defaults, which stand in their files, written out.

    A changed default then shows even where it makes no difference to the twin.
    """
    return dataclasses.replace(settings, T=gates.filled(settings.T), C=gates.filled(settings.C))


def _structure(settings: Settings, path: str) -> dict[str, Any]:
    """Parameter count and a digest of all shapes and sites of the full network, never filled."""
    with torch.device("meta"):
        network = build_for(settings, 1, path)
    shapes = [list(tensor.shape) for tensor in tensors(network)]
    sites = [plain(block.site) for block in network.blocks]
    return {"parameters": parameter_count(network), "structure": digest_of(shapes, sites)}


def _twin(settings: Settings) -> tuple[Subject, dict[str, Any]]:
    """Train the twin, and return it ready to be probed, with the trace of its training."""
    # Networks of others were named, once and for all, by what they do with images of this size.
    side = TWIN_SIDE if settings.start else settings.body.twin_side
    settings = dataclasses.replace(
        settings, body=settings.body.shallow(), data=settings.data.small(side)
    )
    return _given(settings) if settings.start else _trained(settings)


def _trained(settings: Settings) -> tuple[Subject, dict[str, Any]]:
    recipe = dataclasses.replace(
        settings.training,
        batch=TWIN_BATCH,
        evaluation_batch=TWIN_BATCH,
        images=0,
        validation=min(settings.training.validation, TWIN_HELD_OUT),
    )
    settings = dataclasses.replace(settings, recipe=recipe)
    state = begin(settings, TWIN_SEEDS, torch.device("cpu"), torch.float64)
    split = state.task.made_up(TWIN_EXAMPLES, recipe, stream(0, "twin")).used_by(recipe)
    milestones = recipe.schedule.milestones(recipe.epochs)
    for epoch in milestones:
        run_epoch(state, split, epoch)
    # Rounded absolutely: the gradient of a bias before batch normalisation is 0 but for noise.
    norms = [round(float(p.detach().norm()), NORM_DECIMALS) for p in state.network.parameters()]
    trace = rounded({**state.history, "milestones": milestones, "norms": norms})
    subject = Subject(state.network, split.test, TWIN_BATCH, split.train, state.task)
    return subject, trace


def _given(settings: Settings) -> tuple[Subject, dict[str, Any]]:
    """A twin that is not trained: its weights are made up, and it is tested."""
    network = build_for(settings, 1).double()
    _make_up(network, stream(0, "weights"))
    task = task_of(settings.data)
    split = task.made_up(TWIN_EXAMPLES, settings.recipe, stream(0, "twin"))
    tally = evaluate(network, task, split.test, TWIN_BATCH)
    trace = {settings.data.measure.key: tally.values(), "test_loss": tally.mean_loss()}
    subject = Subject(network.eval(), split.test, TWIN_BATCH, split.train, task)
    return subject, rounded({name: values.tolist() for name, values in trace.items()})


@torch.no_grad()
def _make_up(network: Network, generator: torch.Generator) -> None:
    """Numbers for every tensor of the network; all are positive that must be."""
    for name, tensor in network.state_dict().items():
        drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        tensor.copy_(1 + drawn.abs() if name.endswith("running_var") else drawn / 2)


def _settled(trace: dict[str, Any], name: str) -> dict[str, Any]:
    """The committed trace where ours differs from it by rounding only.

    So no machine renames a behaviour.
    """
    old = _committed(name).get("behaviour")
    return old if isinstance(old, dict) and _close(old, trace) else trace


def _committed(name: str) -> dict[str, Any]:
    """The spec on disk, or nothing."""
    file = paths.spec_file(name)
    found = read_json(file, "delete it and run: dvc repro specify") if file.exists() else {}
    return found if isinstance(found, dict) else {}


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=SAME, abs_tol=SAME)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_close, a, b))
    return bool(a == b)
