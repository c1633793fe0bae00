"""Train the seeds of one net that are not there yet; a killed run goes on where it stopped.

A net that somebody else has trained is obtained and tested.
"""

from collections.abc import Sequence

from pipeline.stage import run
from skipgate import params, paths, progress, specs
from skipgate.files import NotAtHand
from skipgate.live import Live
from skipgate.settings import History
from skipgate.training import harvest
from skipgate.training.vault import Vault


def main(net: str) -> None:
    spec = specs.load(net)
    settings = params.load()
    data = paths.data_folder(spec.dataset)
    vault = Vault(paths.vault_folder())

    def take(_: Sequence[int]) -> None:
        from skipgate.training import given

        given.obtain(spec, settings.nets[net].start, settings.weights_of(net), data, vault)

    def train(seeds: Sequence[int]) -> None:
        from skipgate.training.job import obtain  # brings PyTorch, which finished seeds do without

        with progress.Bar(spec, progress.heading(settings, spec)) as bar, Live(spec) as live:

            def watch(together: Sequence[int], history: History) -> None:
                bar.show(together, history)
                live.show(together, history)

            obtain(spec, seeds, data, vault, watch)

    try:
        harvest.write(harvest.gather(spec, vault, take if settings.nets[net].start else train))
    except NotAtHand as absence:
        harvest.write_absent(spec, str(absence))
        print(f"{net} is left out: {absence}")


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
