"""What trainings that wait would take, net by net, before any of them is begun."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from skipgate import paths
from skipgate.fanout.plan import Task
from skipgate.params import Params
from skipgate.progress import took
from skipgate.results import costs
from skipgate.results.costs import Cost
from skipgate.specs import Spec, told

GIGA = 1e9


def lines(params: Params, tasks: Sequence[Task]) -> Iterator[str]:
    """A line for each net: its seeds, its size, and how long it takes by experience or estimate."""
    known = costs.load()
    by_net: dict[str, list[int]] = {}
    for task in tasks:
        by_net.setdefault(task.spec.net, []).extend(task.seeds)
    specs = {task.spec.net: task.spec for task in tasks}
    for net, seeds in by_net.items():
        spec = specs[net]
        cost = known[net] if costs.is_of(known.get(net), spec) else _counted(params, spec)
        described = _described(params, spec, replace(cost, seeds=len(seeds)))
        yield f"{net} {told(seeds)}: {described}"


def _counted(params: Params, spec: Spec) -> Cost:
    from skipgate.costing import cost_of  # takes seconds a net

    return cost_of(spec, params.said_examples_of(spec.net) or _examples(spec))


def _examples(spec: Spec) -> int:
    """How many fetched examples a net trains on."""
    import torch

    from skipgate.tasks import task_of

    settings = spec.settings
    folder = paths.data_folder(spec.dataset)
    split = task_of(settings.data).load(folder, settings.recipe, torch.device("cpu"))
    return len(split.used_by(settings.training).train)


def _described(params: Params, spec: Spec, cost: Cost) -> str:
    seconds = took(spec.study, spec.net)
    before = f"; took {seconds:.0f} s when last trained" if seconds else ""
    stacked = min(spec.stack, cost.seeds)
    side = (
        f", {stacked * cost.memory / GIGA:.1f} GB for {stacked} side by side" if stacked > 1 else ""
    )
    return (
        f"{spec.parameters:,} parameters, {cost.operations / GIGA:.3f} GFLOP an example, "
        f"{cost.told(params.gpu)}{side}{before}"
    )
