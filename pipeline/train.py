"""Train the seeds of one net that are not there yet; a killed run goes on where it stopped."""

from collections.abc import Sequence

from pipeline.stage import run
from skipgate import params, paths, progress, specs
from skipgate.training import harvest
from skipgate.training.vault import Vault


def main(net: str) -> None:
    spec = specs.load(net)
    vault = Vault(paths.vault_folder())

    def train(seeds: Sequence[int]) -> None:
        from skipgate.training.job import obtain  # brings PyTorch, which finished seeds do without

        with progress.Bar(spec, progress.heading(params.load(), spec)) as bar:
            obtain(spec, seeds, paths.data_folder(spec.dataset), vault, bar.show)

    harvest.write(harvest.gather(spec, vault, train))


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
