"""Train all seeds of one net, or take the training from the vault; a killed run goes on where it stopped."""

import json

from pipeline.stage import run
from skipgate import params, paths, progress, specs
from skipgate.files import write_atomically
from skipgate.training.vault import MODEL, RESULT, RUN, Vault, key_of


def main(net: str, *, keep: bool) -> None:
    spec = specs.load(net)
    data = paths.data_folder(spec.dataset)
    vault = Vault(paths.vault_folder())
    entry = vault.find(key_of(spec))
    if entry is None:
        from skipgate.training.job import (
            obtain,  # brings PyTorch, which a training in the vault can do without
        )

        if keep:
            entry = obtain(
                spec,
                data,
                vault,
                lambda history: print(json.dumps(progress.latest(history)), flush=True),
            )
        else:
            with progress.Bar(spec, progress.heading(params.load(), spec)) as bar:
                entry = obtain(spec, data, vault, bar.show)
    if keep:
        return
    write_atomically(paths.model_file(spec.study, net), (entry / MODEL).read_bytes())
    for name, kind in ((RESULT, "train"), (RUN, "run")):
        write_atomically(paths.result_file(spec.study, net, kind), (entry / name).read_bytes())


if __name__ == "__main__":
    run(
        main,
        __doc__,
        {"keep": "only fill the vault, with a line of JSON an epoch"},
        net="a net of params.yaml",
    )
