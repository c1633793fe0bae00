"""Print one page on a net: settings, what changed, results by seed, verdicts, claims, MLflow runs, how to recreate it."""

from pathlib import Path

from pipeline.stage import run
from skipgate import params
from skipgate.results.integrity import stale_specs
from skipgate.results.story import story
from skipgate.tracking import runs_of


def main(net: str) -> None:
    settings = params.load()
    changes: list[str] = []
    if net in settings.nets:
        from skipgate.behaviour import specify  # brings PyTorch, late, so that a wrong name is refused at once

        changes = list(stale_specs({net: specify(settings, net)}))
    print(story(settings, net, changes, runs_of(Path(), net)))


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
