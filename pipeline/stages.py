"""Write the list of nets, data and studies that dvc.yaml loops over, from params.yaml.

A study of which nothing was run gets an empty folder of results, as DVC
renders no page from a folder that is not there.
"""

from pipeline.stage import run
from skipgate import params, paths, stages


def main() -> None:
    renew(params.load())


def renew(settings: params.Params) -> None:
    stages.renew(settings)
    for study in settings.studies:
        (paths.RESULTS / study).mkdir(parents=True, exist_ok=True)


if __name__ == "__main__":
    run(main, __doc__)
