"""Write the list of nets, data and studies that dvc.yaml loops over, from params.yaml."""

from pipeline.stage import run
from skipgate import params, stages


def main() -> None:
    stages.renew(params.load())


if __name__ == "__main__":
    run(main, __doc__)
