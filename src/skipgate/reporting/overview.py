"""The overview of all studies: what can be taken in at a glance, and what surprises most."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skipgate import paths
from skipgate.judging.audit import audit
from skipgate.judging.coverage import coverage
from skipgate.judging.papers import Paper
from skipgate.params import Params
from skipgate.reporting import judged
from skipgate.reporting.glance import recorded, study_table
from skipgate.reporting.pages import NOTE

MEANINGS = {
    "agrees": "no difference seen, and its 90% interval lies within the margin stated in advance",
    "inconclusive": (
        "no difference seen, but too few seeds, or too uncertain a number of the paper's, to call "
        "it agreement"
    ),
    "differs": (
        "improbable at 5% if nothing differed, after Benjamini and Hochberg over the table: a "
        "finding; marked where it lies within the margin all the same"
    ),
    "not comparable": "the protocol differs, for a registered reason",
    "not run": "no result of the present code",
}
MOST_FINDINGS = 8
README = Path("README.md")
PLACE = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)
"""A part of a page that is rendered, while the rest is written by hand."""


def overview_page(params: Params, papers: dict[str, Paper]) -> str:
    """Coverage and the verdicts over all studies, the picture of them, then what surprises."""
    words = "\n".join(f"- **{word}**: {meaning}" for word, meaning in MEANINGS.items())
    findings = "\n".join(f"- {line}" for line in surprises(params)) or "None yet."
    parts = [
        NOTE.format(stage="overview"),
        "# Results",
        covered(params, papers),
        summary(params, paths.REPORTS),
        picture(params, paths.REPORTS),
        "## What surprises most",
        findings,
        f"{_audited(papers)}: [audit.md](audit.md). Every reported number and claim, with what "
        "became of it: [papers.md](papers.md). What CI watches, and how small a change it sees: "
        "[gate.md](gate.md); what proves that it does: [mutants.md](mutants.md). Speed: "
        "[bench.md](bench.md).",
        "## What the words mean, cell by cell",
        words,
    ]
    return "\n\n".join(parts) + "\n"


def _audited(papers: dict[str, Paper]) -> str:
    checks = audit(papers)
    wrong = sum(check.word == "contradicts" for check in checks)
    return (
        f"Of {len(checks)} of the papers' own sums and sentences, recomputed from what they print, "
        f"{wrong} do not follow"
    )


def readme(params: Params, papers: dict[str, Paper]) -> str:
    """The project's README with what is rendered in it renewed."""
    blocks = {
        "found": found(params),
        "judged": picture(params, README.parent),
        "coverage": covered(params, papers),
        "verdicts": summary(params, README.parent),
    }
    return placed(README.read_text() if README.exists() else "", blocks)


def placed(page: str, blocks: Mapping[str, str]) -> str:
    """A page with each block between its marks, where it has them."""

    def block(marks: re.Match[str]) -> str:
        before, name, after = marks.groups()
        return f"{before}{blocks[name]}\n{after}" if name in blocks else marks[0]

    return PLACE.sub(block, page)


def found(params: Params) -> str:
    """What came out, in three sentences: numbers, claims and the clearest surprise."""
    # A toy's numbers are not the papers'.
    studies = [name for name, settings in params.studies.items() if not settings.deviation]
    surprise = next(iter(surprises(params)), "nothing yet.")
    more = f"{paths.link(paths.REPORTS / 'README.md', README.parent)}#what-surprises-most"
    sentences = [
        f"**Numbers.** {_numbers(studies)}",
        f"**Claims.** {_claims([*studies, 'theory'])}",
        f"**What surprises most** ([and what else]({more})). {surprise}",
    ]
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _numbers(studies: list[str]) -> str:
    words = _words(studies)
    exact = _words(["theory"])
    return (
        f"Of {words.total()} reported numbers that were trained for at their paper's own protocol, "
        f"{words['differs']} differ from ours, {words['agrees']} agree and "
        f"{words['inconclusive']} are inconclusive; of {exact.total()} that follow without "
        f"training, {exact['agrees']} agree and {exact['differs']} differ."
    )


def _claims(studies: list[str]) -> str:
    answers = Counter[str]()
    for name in studies:
        answers.update(recorded(name).get("answers", {}))
    tested = sum(answers[word] for word in ("holds", "fails", "undecided"))
    return (
        f"Of {tested} tests of what the papers say in words, toys left out, {answers['holds']} "
        f"hold, {answers['fails']} fail and {answers['undecided']} are undecided."
    )


def _words(studies: list[str]) -> Counter[str]:
    """How many cells of these studies were judged by which word."""
    cells = [cell for name in studies for cell in recorded(name).get("cells", {}).values()]
    return Counter(cell["word"] for cell in cells if cell["word"] in judged.LOOKS)


def covered(params: Params, papers: dict[str, Paper]) -> str:
    """How much of what is reported was run, in one sentence."""
    return str(coverage(params, papers, _records(params)))


def summary(params: Params, start: Path) -> str:
    """One line per study, and what it does not say, for a page in the folder `start`."""
    told = [f"- {text}" for name in _records(params) if (text := _meaning(params, name))]
    return "\n\n".join([study_table(params, start), "\n".join(told)])


def picture(params: Params, start: Path) -> str:
    """Every judged number, for a page in the folder `start`."""
    caption = judged.caption(_records(params))
    return f"![Every judged number]({paths.link(paths.judged_file(), start)})\n\n*{caption}*"


def _records(params: Params) -> dict[str, dict[str, Any]]:
    return {name: recorded(name) for name in (*params.studies, "theory")}


def surprises(params: Params) -> list[str]:
    """Claims that fail and cells that differ: comparable studies first, the clearest first."""
    found: list[tuple[bool, float, str]] = []
    for name, settings in params.studies.items():
        toy = bool(settings.deviation)
        for finding in recorded(name).get("findings", ()):
            found.append(
                (
                    toy,
                    -finding["clarity"],
                    f"**{name}**{' (toy scale)' if toy else ''}: {finding['text']}",
                )
            )
    return [text for _, _, text in sorted(found)[:MOST_FINDINGS]]


def _meaning(params: Params, name: str) -> str:
    """What a line's numbers do not say."""
    if name == "theory":
        if recorded(name):
            return "**theory** is what follows without training; it takes seconds."
        return "**theory** is not run; seconds: `dvc repro theory-report`."
    settings = params.studies[name]
    record = recorded(name)
    if not record.get("nets"):
        return f"**{name}** is not run; {settings.cost}: `dvc repro report@{name}`."
    if all(net.start for net in params.nets_of(name).values()):
        return (
            f"**{name}** has networks that somebody else has trained, each of which is one draw: "
            "its claims are judged over images."
        )
    if "choices" in record:
        return (
            f"**{name}** varies nets of other studies, to see which unstated choices lead to a "
            "paper's numbers."
        )
    if settings.deviation:
        return f"**{name}** is a toy: its numbers are not comparable ({settings.deviation})."
    return (
        f"**{name}**: a number is decidable if it differs, or if equal ones could have been shown "
        "to agree: a paper's single run may vary by more than the margin."
    )
