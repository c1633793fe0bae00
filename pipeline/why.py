"""Print one page on a net.

It has settings, changes, results by seed, what the net feeds, and how to recreate it.
"""

from pathlib import Path

from pipeline.stage import run
from skipgate import params, specs


def main(net: str) -> None:
    settings = params.load()
    specs.resolve(settings, net)
    # These bring PyTorch and MLflow, after a wrong name is refused.
    from skipgate.behaviour import specify
    from skipgate.reporting.integrity import stale_specs
    from skipgate.reporting.story import story
    from skipgate.tracking import runs_of

    changes = list(stale_specs({net: specify(settings, net)}))
    print(story(settings, net, changes, runs_of(Path(), net, specs.load(net).digest)))


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
