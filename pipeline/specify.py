"""Resolve every net and write what decides its training and its probing to specs/."""

from tqdm import tqdm

from pipeline.stage import run
from skipgate import params, paths, stages
from skipgate.behaviour import specify_all
from skipgate.files import Problem, write_json


def main() -> None:
    settings = params.load()
    specs = dict(tqdm(specify_all(settings), desc="specify", unit="net", total=len(settings.nets)))
    for net, line in settings.nets.items():
        if line.base and specs[net][0]["settings"] == specs[line.base][0]["settings"]:
            raise Problem(
                f"params.nets.{line.study}.{line.base}.vary: {' and '.join(line.choices)} changes "
                f"nothing: {net} has the settings of {line.base}, and so its digest; leave it out"
            )
    # Written only once all nets have passed, so that a bad setting leaves every spec as it was.
    for net, (train, probe) in specs.items():
        write_json(paths.spec_file(net), train)
        write_json(paths.probe_spec_file(net), probe)
    for file in [*paths.SPECS.glob("*.json"), *paths.PROBE_SPECS.glob("*.json")]:
        if file.stem not in specs:
            file.unlink()
    stages.check(settings)


if __name__ == "__main__":
    run(main, __doc__)
