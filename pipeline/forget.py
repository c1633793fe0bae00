"""Remove a net's training from the vault, so that it is trained again."""

from pipeline.stage import run
from skipgate import paths, specs
from skipgate.training.vault import Vault, key_of


def main(net: str) -> None:
    Vault(paths.vault_folder()).drop(key_of(specs.load(net)))


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
