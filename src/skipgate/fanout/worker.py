"""Trains some seeds of a net into the vault, and prints a line of JSON per epoch.

This is the process that the local engine starts: `python -m skipgate.fanout.worker NET SEED ...`.
`torchrun --nproc-per-node N -m skipgate.fanout.worker NET SEED ...` has N processes share every
batch (docs/several-gpus.md).
"""

import json
import sys
from collections.abc import Sequence

from skipgate import paths, specs
from skipgate.files import Problem
from skipgate.group import ALONE, Group, joined
from skipgate.live import Live
from skipgate.progress import latest
from skipgate.settings import History
from skipgate.training.job import obtain
from skipgate.training.vault import Vault


def main(net: str, seeds: Sequence[int], group: Group = ALONE) -> None:
    """Train those of these seeds that the vault lacks."""
    spec = specs.load(net)

    data = paths.data_folder(spec.dataset)
    with Live(spec) as live:

        def tell(together: Sequence[int], history: History) -> None:
            if group.leads:
                sys.stdout.write(json.dumps(latest(spec.measure.key, history)) + "\n")
                sys.stdout.flush()
                live.show(together, history)

        obtain(spec, seeds, data, Vault(paths.vault_folder()), tell, group)


if __name__ == "__main__":
    try:
        with joined() as found:
            main(sys.argv[1], [int(word) for word in sys.argv[2:]], found)
    except Problem as problem:
        sys.exit(f"skipgate: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
