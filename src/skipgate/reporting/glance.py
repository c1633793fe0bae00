"""All studies in one table, from what their reports recorded: shown at once, without statistics."""

from pathlib import Path
from typing import Any

from skipgate import paths
from skipgate.files import read_json
from skipgate.judging.words import ANSWERS
from skipgate.params import Params
from skipgate.reporting.markdown import markdown


def study_table(params: Params, start: Path | None = None) -> str:
    """One line per study; for a page in the folder `start`, with links from there."""
    return markdown([_line(params, name, start) for name in (*params.studies, "theory")])


def recorded(name: str) -> dict[str, Any]:
    """What the report of a study recorded of its judgement; nothing if there is no report yet."""
    file = paths.verdict_file(name)
    found: dict[str, Any] = (
        read_json(file, f"run: dvc repro report@{name}") if file.exists() else {}
    )
    return found


def _line(params: Params, name: str, start: Path | None) -> dict[str, object]:
    """One study's line; what is not there yet has a dash."""
    record = recorded(name)
    verdicts = record.get("verdicts", {})
    totals = record.get("totals", {})
    answers = record.get("answers", {})
    nets = f"{record.get('nets', 0)} of {len(params.nets_of(name))}"
    return {
        "study": name if start is None else _linked(name, start),
        "nets run": nets if name in params.studies else "-",
        "numbers": totals.get("cells", "-"),
        "decidable": totals.get("decidable", "-"),
        **{word: verdicts.get(word, "-") for word in ("agrees", "differs")},
        "claims": sum(answers.values()) if answers else "-",
        **{word: answers.get(word, "-") for word in ANSWERS if word != "not run"},
    }


def _linked(name: str, start: Path) -> str:
    """A study's name, leading to its page if there is one."""
    page = paths.REPORTS / f"{name}.md"
    return f"[{name}]({paths.link(page, start)})" if page.exists() else name
