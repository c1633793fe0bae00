"""Remove a net's trainings and results, so that all its seeds are trained and probed again."""

import shutil

from pipeline.stage import run
from skipgate import params, paths, specs
from skipgate.training.vault import Vault


def main(net: str) -> None:
    specs.resolve(params.load(), net)
    spec = specs.load(net)
    Vault(paths.vault_folder()).drop(spec)
    paths.model_file(spec.study, net).unlink(missing_ok=True)
    shutil.rmtree(paths.result_file(spec.study, net, "train").parent, ignore_errors=True)


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
