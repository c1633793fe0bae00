"""Compare a study's fresh numbers with its frozen ones; exit with 1 if one has left its band."""

from pipeline.stage import run
from skipgate import params, paths
from skipgate.files import Problem
from skipgate.judging import frozen
from skipgate.reporting.tables import markdown
from skipgate.results import store


def main(name: str) -> None:
    study = store.load(params.load(), name)
    study.demand("train")
    comparisons = frozen.compare(study)
    heading = f"{name}: {study.measure.axis}, level {frozen.LEVEL:g} over the study"
    print(f"{heading}\n{table(comparisons)}")
    moved = [c.net for c in comparisons if c.moved]
    unknown = sorted(study.results.keys() - {c.net for c in comparisons})
    if unknown:
        print(f"not frozen yet: {', '.join(unknown)}; run: make freeze STUDY={name}")
    if moved:
        raise Problem(
            f"{', '.join(moved)} left the band of {paths.frozen_file(name)}; find out why, or if "
            f"the change is meant, run: make freeze STUDY={name} and say so in CHANGELOG.md under "
            "Results"
        )


def table(comparisons: list[frozen.Comparison]) -> str:
    return markdown(
        [
            {
                "net": c.net,
                "frozen": f"{c.frozen.mean:.2f}",
                "fresh": f"{c.fresh.mean:.2f}" if c.fresh else "diverged",
                "smallest visible change": f"{c.visible:.2f}",
                "": "MOVED" if c.moved else "holds",
            }
            for c in comparisons
        ]
    )


if __name__ == "__main__":
    run(main, __doc__, name="a study of params.yaml")
