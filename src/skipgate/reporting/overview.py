"""The overview of all studies: what can be taken in at a glance, and what surprises most."""

from pathlib import Path
from typing import Any

from skipgate import paths
from skipgate.files import read_json
from skipgate.judging.audit import audit
from skipgate.judging.evidence import ANSWERS
from skipgate.judging.papers import Paper
from skipgate.judging.verdicts import WORDS
from skipgate.params import Params
from skipgate.reporting.pages import NOTE
from skipgate.reporting.tables import markdown

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
SAID = {"fails": "fail"}
MOST_FINDINGS = 8


def overview_page(params: Params, papers: dict[str, Paper]) -> str:
    """The verdict table over all studies, then what surprises."""
    checks = audit(papers)
    wrong = sum(check.word == "contradicts" for check in checks)
    own = (
        f"Of {len(checks)} of the papers' own sums and sentences, recomputed from what they print, "
        f"{wrong} do not follow"
    )
    words = "\n".join(f"- **{word}**: {meaning}" for word, meaning in MEANINGS.items())
    findings = "\n".join(f"- {line}" for line in surprises(params)) or "None yet."
    parts = [
        NOTE.format(stage="overview"),
        "# Results",
        verdict_table(params, paths.REPORTS),
        "## What surprises most",
        findings,
        f"{own}: [audit.md](audit.md). Every reported number and claim, with what became of it: "
        "[papers.md](papers.md). Speed: [bench.md](bench.md).",
        "## What the words mean, cell by cell",
        words,
    ]
    return "\n\n".join(parts) + "\n"


def verdict_table(params: Params, start: Path) -> str:
    """One line per study, with links from a page in the folder `start`."""
    lines = []
    for name in params.studies:
        line = recorded(name)
        nets = f"{line.get('nets', 0)} of {len(params.nets_of(name))}"
        lines.append(_line(name, start, nets, _meaning(params, name, line)))
    computed = "what follows without training: distances to identity, mixes, counts, paths"
    waiting = "not run; seconds: `dvc repro theory-report`"
    lines.append(_line("theory", start, "-", computed if recorded("theory") else waiting))
    return markdown(lines)


def recorded(name: str) -> dict[str, Any]:
    """What the report of a study recorded of its judgement; nothing if there is no report yet."""
    file = paths.verdict_file(name)
    found: dict[str, Any] = (
        read_json(file, f"run: dvc repro report@{name}") if file.exists() else {}
    )
    return found


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


def _line(name: str, start: Path, nets: str, meaning: str) -> dict[str, object]:
    """One study's line; what is not there yet has a dash."""
    page = paths.REPORTS / f"{name}.md"
    line = recorded(name)
    verdicts = line.get("verdicts", {})
    answers = line.get("answers", {})
    # What is so by construction could not have failed to hold.
    asked = sum(answers.values()) - answers.get("by construction", 0)
    return {
        "study": f"[{name}]({paths.link(page, start)})" if page.exists() else name,
        "nets run": nets,
        "cells": sum(verdicts.values()) if line else "-",
        **{word: verdicts.get(word, "-") for word in WORDS},
        "claims held": f"{answers.get('holds', 0)} of {asked}" if line else "-",
        "what it means": meaning,
    }


def _meaning(params: Params, name: str, line: dict[str, Any]) -> str:
    settings = params.studies[name]
    if not line.get("nets"):
        return f"not run; {settings.cost}: `dvc repro report@{name}`"
    verdicts = line["verdicts"]
    answers = line["answers"]
    judged = sum(verdicts[word] for word in ("agrees", "inconclusive", "differs"))
    others = ", ".join(
        f"{answers[a]} {SAID.get(a, a)}" for a in ANSWERS if a != "holds" and answers.get(a)
    )
    claims = f"{answers['holds']} claims hold" + (f", {others}" if others else "")
    if settings.deviation:
        return f"toy scale: {claims}; numbers are not comparable ({settings.deviation})"
    so_far = " judged so far" if verdicts["not run"] else ""
    return f"{verdicts['differs']} of {judged} numbers{so_far} differ from the paper's; {claims}"
