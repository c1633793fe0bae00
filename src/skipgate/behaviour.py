"""What a net does, as a digest that changes exactly when the net's behaviour does.

A shallow twin of the net runs a few tiny float64 steps on made-up images through the real training,
evaluation and probing code, passing every change of the learning rate; what comes out is rounded
and hashed. Beside it stands the structure of the full network. A rename or a comment leaves both
alone.
"""

import dataclasses
import math
from typing import Any

import torch

from skipgate import paths
from skipgate.data.images import Split, scaled
from skipgate.evaluation import Images
from skipgate.files import Problem, read_json, rounded
from skipgate.nets import gates
from skipgate.nets.bodies import Plan, build, shallow
from skipgate.nets.network import parameter_count
from skipgate.params import Params
from skipgate.probes import PROBES, TIMED
from skipgate.probes.subject import Subject
from skipgate.reader import plain, read
from skipgate.settings import Probes
from skipgate.specs import Settings, digest_of, resolve
from skipgate.streams import stream
from skipgate.training.loop import begin, run_epoch
from skipgate.training.schedules import milestones

TWIN_SEEDS = range(2)
TWIN_IMAGES = 8
TWIN_BATCH = 5  # leaves a smaller last batch, as real data do
NORM_DECIMALS = 6
SAME = 0.00001
"""Relative difference below which two traces are one behaviour: machines differ in the last bits,
changes do not."""


def specify(params: Params, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The contents of `specs/NET.json` and of `specs/probes/NET.json`."""
    settings = _with_gate_defaults(resolve(params, name))
    net = params.nets[name]
    full = _structure(settings, f"params.nets.{name}")
    subject, trace = _twin(settings)
    trace = _settled(trace, name)
    probing = params.probes[net.probes]
    train = {
        "net": name,
        "study": net.study,
        "dataset": net.data,
        **full,
        "behaviour": trace,
        "settings": plain(settings),
    }
    train["digest"] = _kept(settings, train) or digest_of(settings, full, trace)
    return train, {
        "net": name,
        "digests": {kind: _probe_digest(kind, subject, probing) for kind in PROBES},
    }


def _probe_digest(kind: str, subject: Subject, settings: Probes) -> str:
    """What decides one probe's result, given the weights: how it is set, and what it finds in the twin."""
    found = PROBES[kind](subject, brief(settings))
    own = getattr(settings, kind, None)
    steady = {key: value for key, value in found.items() if key not in TIMED}
    return digest_of(kind, settings.images_for(kind), own, rounded(steady))


def brief(settings: Probes) -> Probes:
    """The same with one path of each length: the twin shows what is done with a path, and the settings are hashed as well."""
    return dataclasses.replace(settings, paths=dataclasses.replace(settings.paths, draws=1))


def _kept(settings: Settings, fresh: dict[str, Any]) -> str | None:
    """The committed digest, if the net is what it was when it got it.

    A setting that did not exist then counts as its default: a new option retrains no net that does
    not use it, while a default that changed, or a step that became another, does.
    """
    old = _committed(fresh["net"])
    if not all(old.get(key) == fresh[key] for key in ("parameters", "structure", "behaviour")):
        return None
    try:
        same = read(Settings, old["settings"], "settings") == settings
    except (KeyError, Problem):
        return None
    return str(old["digest"]) if same and "digest" in old else None


def _with_gate_defaults(settings: Settings) -> Settings:
    """A gate's defaults stand in its file; written out, a changed default shows even where the twin does not feel it."""
    return dataclasses.replace(settings, T=gates.filled(settings.T), C=gates.filled(settings.C))


def _structure(settings: Settings, path: str) -> dict[str, Any]:
    """Parameter count and a digest of all shapes and sites of the full network, which is never filled."""
    with torch.device("meta"):
        network = build(settings.body, Plan(settings.T, settings.C, settings.data, 1, path))
    shapes = [list(tensor.shape) for tensor in network.state_dict().values()]
    sites = [plain(block.site) for block in network.blocks]
    return {"parameters": parameter_count(network), "structure": digest_of(shapes, sites)}


def _twin(settings: Settings) -> tuple[Subject, dict[str, Any]]:
    """Train the twin, and return it ready to be probed, with the trace of its training."""
    recipe = dataclasses.replace(settings.recipe, batch=TWIN_BATCH, evaluation_batch=TWIN_BATCH)
    settings = dataclasses.replace(settings, body=shallow(settings.body), recipe=recipe)
    split = _made_up(settings)
    state = begin(settings, TWIN_SEEDS, torch.device("cpu"), torch.float64)
    for epoch in milestones(recipe):
        run_epoch(state, split, epoch)
    # Rounded absolutely: the gradient of a bias before batch normalisation is 0 but for noise.
    norms = [round(float(p.detach().norm()), NORM_DECIMALS) for p in state.network.parameters()]
    trace = rounded({**state.history, "milestones": milestones(recipe), "norms": norms})
    return Subject(state.network, split.test, TWIN_BATCH, split.train), trace


def _made_up(settings: Settings) -> Split:
    """Random bytes as images, scaled as real ones are."""
    data = settings.data
    die = stream(0, "twin")
    x = [torch.randint(data.top + 1, (TWIN_IMAGES, *data.shape), generator=die) for _ in range(2)]
    y = [torch.randint(data.classes, (TWIN_IMAGES,), generator=die) for _ in range(2)]
    images = scaled(x, data, settings.recipe.pixels, torch.float64)
    return Split(*(Images(a, b) for a, b in zip(images, y, strict=True)))


def _settled(trace: dict[str, Any], name: str) -> dict[str, Any]:
    """The committed trace where ours differs from it by rounding only, so that no machine renames a behaviour."""
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
