"""Where things lie, relative to the project's root; the one place that knows the layout."""

import os
from pathlib import Path

PARAMS = Path("params.yaml")
LOCK = Path("requirements.lock")
PAPERS = Path("papers")
REPORTS = Path("reports")
RESULTS = Path("results")
COSTS = RESULTS / "costs.json"
"""What nets would cost on a GPU."""
SPECS = Path("specs")
PROBE_SPECS = SPECS / "probes"
STAGES = SPECS / "stages.yaml"
"""What `dvc.yaml` loops over."""

SYNCED = Path("mlruns") / ".synced"
"""What the results were when MLflow's database was last brought up to date."""


def data_folder(name: str) -> Path:
    """Decoded arrays of one data set."""
    return Path("data") / name


def vault_folder() -> Path:
    """Finished and unfinished trainings.

    SKIPGATE_VAULT may name a folder that several machines share. In the temporary copy that an
    experiment runs in, DVC_ROOT is the project that it was started from.
    """
    own = Path(os.environ.get("DVC_ROOT", ""), ".vault")
    return Path(os.environ.get("SKIPGATE_VAULT", own))


def spec_file(net: str) -> Path:
    """What decides the training of a net."""
    return SPECS / f"{net}.json"


def probe_spec_file(net: str) -> Path:
    """What decides the probing of a net, given its trained weights."""
    return PROBE_SPECS / f"{net}.json"


def model_file(study: str, net: str) -> Path:
    """Trained weights of a net's seeds; in DVC's cache, not in git."""
    return Path("models") / study / f"{net}.pt"


def result_file(study: str, net: str, kind: str) -> Path:
    """One small result, in git: `train`, `run` (provenance) or the name of a probe."""
    folder = RESULTS / study / net
    return (folder if kind in ("train", "run") else folder / "probes") / f"{kind}.json"


def theory_file(name: str) -> Path:
    """Results of one part of the theory study."""
    return RESULTS / "theory" / f"{name}.json"


def frozen_file(study: str) -> Path:
    """Reference statistics that fresh runs of a study are checked against."""
    return Path("frozen") / f"{study}.json"


def verdict_file(study: str) -> Path:
    """How many of a study's cells got which verdict."""
    return REPORTS / "verdicts" / f"{study}.json"


def figure_folder(study: str) -> Path:
    """Figures of a study's report."""
    return REPORTS / "figures" / study


def metrics_file(study: str) -> Path:
    """A study in numbers alone, for `dvc metrics`."""
    return REPORTS / "metrics" / f"{study}.json"


def plots_folder(study: str) -> Path:
    """Tables of a study's curves, for `dvc plots`."""
    return REPORTS / "plots" / study


def judged_file() -> Path:
    """The picture of every judged number."""
    return REPORTS / "figures" / "judged.png"


def link(target: Path, start: Path) -> str:
    """A relative link from a page in the folder `start`."""
    return Path(os.path.relpath(target, start)).as_posix()
