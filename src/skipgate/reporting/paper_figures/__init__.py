"""The papers' figures, one for one, from a study's results and with the papers' axes.

A figure is drawn where the study has the nets that it takes. What of the paper's own numbers can
be read is drawn in.
"""

from pathlib import Path

from skipgate.judging.judgement import Judgement
from skipgate.reporting.canvas import save
from skipgate.reporting.paper_figures import epsilon, epsilon_depths
from skipgate.reporting.paper_figures.figure import PaperFigure
from skipgate.reporting.paper_figures.gresnet import Removal, Tables
from skipgate.reporting.paper_figures.gresnet_cifar import Curves, Gates
from skipgate.reporting.paper_figures.lecture import Depths, Starts
from skipgate.reporting.paper_figures.losses import GresnetLosses, UnrolledLosses
from skipgate.reporting.paper_figures.unrolled import Estimates, Refinement
from skipgate.reporting.paper_figures.veit import Lesions, Shuffles
from skipgate.results.store import StudyResults

FIGURES: tuple[type[PaperFigure], ...] = (
    Tables,
    GresnetLosses,
    Removal,
    Curves,
    Gates,
    Estimates,
    Refinement,
    Lesions,
    Shuffles,
    UnrolledLosses,
    epsilon.Picture,
    epsilon_depths.Depths,
    epsilon.Weights,
    epsilon_depths.Errors,
    epsilon_depths.Memory,
    epsilon_depths.Sweep,
    epsilon.ByEpoch,
    epsilon.Discarded,
    Depths,
    Starts,
)


def captions(study: StudyResults, judgement: Judgement) -> dict[str, str]:
    """What the figures show, by file name."""
    return {_file(figure): figure.caption() for figure in found(study, judgement)}


def draw_all(study: StudyResults, judgement: Judgement, folder: Path) -> None:
    """Write the figures that this study can draw as PNG."""
    for figure in found(study, judgement):
        save(figure.figure(), folder / _file(figure))


def found(study: StudyResults, judgement: Judgement) -> list[PaperFigure]:
    """The figures that this study can draw."""
    sought = (kind.find(study.main, judgement) for kind in FIGURES)
    return [figure for figure in sought if figure is not None]


def _file(figure: PaperFigure) -> str:
    return f"paper-{figure.name}.png"
