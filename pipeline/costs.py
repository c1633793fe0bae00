"""Estimate what the nets that need a GPU would cost on one; counts again only what has changed."""

from tqdm import tqdm

from pipeline.stage import run
from skipgate import params, paths, specs
from skipgate.files import write_json
from skipgate.reader import plain
from skipgate.results import costs


def main() -> None:
    settings = params.load()
    wanted = {net: specs.load(net) for net in settings.nets if settings.needs_gpu(net)}
    known = costs.load()
    fresh = [net for net, spec in wanted.items() if not costs.is_of(known.get(net), spec)]
    found = {net: plain(cost) for net, cost in known.items() if net in wanted}
    for net in tqdm(fresh, desc="costs", unit="net", disable=not fresh):
        from skipgate.costing import cost_of  # brings PyTorch, which known costs do without

        found[net] = plain(cost_of(wanted[net], settings.examples_of(net)))
        write_json(paths.COSTS, found)
    write_json(paths.COSTS, {net: found[net] for net in wanted})


if __name__ == "__main__":
    run(main, __doc__)
