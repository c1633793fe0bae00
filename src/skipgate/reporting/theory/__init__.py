"""The page of the theory study, from `results/theory`. Generated; no number on it is typed."""

from pathlib import Path

from skipgate import paths
from skipgate.files import read_json
from skipgate.judging.judgement import Judgement
from skipgate.reporting import answers
from skipgate.reporting.conclusions import told_answers
from skipgate.reporting.pages import NOTE
from skipgate.reporting.theory import figures, sections, starts
from skipgate.reporting.theory.findings import Theory, findings

PARTS = ("sdi", "mixes", "slices", "linear", "epsilon", "paths", "counts", "shattered")
REMEDY = "run: dvc repro theory"
ABOUT = (
    "What the papers derive, by formula and by sampling fresh layers and networks of this project. "
    "Nothing is trained, so nothing depends on a recipe or on data. Each number leads to the file "
    "it comes from. Cost: seconds. Command: `dvc repro theory-report`."
)
ABOUT_EXACT = "Numbers that need no training. A reported number agrees when ours rounds to it."


def load() -> Theory:
    """All results of the study."""
    return {part: read_json(paths.theory_file(part), REMEDY) for part in PARTS}


def draw() -> None:
    """The figures of the page."""
    figures.draw_all(load(), paths.figure_folder("theory"))


def theory_page(judgement: Judgement) -> str:
    """The page, with links to figures that are drawn apart from it."""
    theory = load()
    pictures = _pictures(paths.figure_folder("theory"))
    parts = [
        NOTE.format(stage="theory-report"),
        "# theory: what follows without training",
        _concluded(theory, judgement),
        ABOUT,
        f"## Where this contradicts the papers\n\n{_contradictions(theory)}",
        sections.sdi(theory),
        pictures["distances"],
        sections.mixes(theory),
        sections.slices(theory),
        pictures["loss"],
        starts.linear(theory),
        starts.shattered(theory),
        pictures["shattered"],
        pictures["paper-fleuret-shattered"],
        sections.epsilon(theory),
        sections.routes(theory),
        pictures["paths"],
        sections.counts(theory),
        f"## Beside the papers\n\n{ABOUT_EXACT}\n\n{sections.exact(judgement)}",
        "## Claims\n\n" + answers.section(judgement),
    ]
    return "\n\n".join(parts) + "\n"


def _concluded(theory: Theory, judgement: Judgement) -> str:
    """The page in a few sentences."""
    words = [verdict.word for verdict in judgement.verdicts]
    wrong = len(list(findings(theory, sections.linked)))
    lines = [
        f"Of {len(words)} reported numbers {words.count('agrees')} agree and "
        f"{words.count('differs')} differ.",
        told_answers(judgement),
        f"{wrong} statements of the papers do not follow from their own premises or from what is "
        "computed here; they stand first below.",
        starts.shattered_in_short(theory),
        starts.linear_in_short(theory),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _contradictions(theory: Theory) -> str:
    return "\n".join(f"- {line}" for line in findings(theory, sections.linked))


def _pictures(folder: Path) -> dict[str, str]:
    """The figures in Markdown, each above its caption."""
    return {
        name: f"![{caption}]({paths.link(folder / name, paths.REPORTS)}.png)\n\n*{caption}*"
        for name, caption in figures.captions().items()
    }
