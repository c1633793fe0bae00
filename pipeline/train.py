"""Train all seeds of one net; a killed run goes on where it stopped."""

import time

from pipeline.stage import run
from skipgate import params, paths, progress, specs
from skipgate.files import write_json
from skipgate.provenance import provenance
from skipgate.training.device import prepare
from skipgate.training.job import Job, train


def main(net: str) -> None:
    spec = specs.load(net)
    checkpoint = paths.CHECKPOINTS / f"{spec.digest}.pt"
    job = Job(spec, paths.data_folder(spec.dataset), paths.model_file(spec.study, net), checkpoint)
    bar = progress.Bar(spec, progress.heading(params.load(), spec))
    start = time.monotonic()
    try:
        result = train(job, bar.show)
    finally:
        bar.close()
    recipe = spec.settings.recipe
    run_record = provenance(str(prepare(recipe)), recipe.threads, time.monotonic() - start)
    write_json(paths.result_file(spec.study, net, "train"), result)
    write_json(paths.result_file(spec.study, net, "run"), {"net": net, "digest": spec.digest, **run_record})


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
