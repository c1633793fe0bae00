"""That what is committed follows from what is committed.

Each finding is a sentence: what moved, and what to do.
"""

import re
from collections.abc import Iterator
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

from skipgate import paths
from skipgate.files import json_bytes, read_json
from skipgate.judging import frozen, papers
from skipgate.judging.exact import judge_theory
from skipgate.judging.judgement import judge_study
from skipgate.lockfile import md5, written
from skipgate.params import Params
from skipgate.reporting import curves
from skipgate.reporting.audit_page import audit_page
from skipgate.reporting.gate_page import gate_page
from skipgate.reporting.glance import recorded
from skipgate.reporting.listing import papers_page
from skipgate.reporting.metrics import metrics
from skipgate.reporting.overview import README, overview_page, readme
from skipgate.reporting.pages import study_page
from skipgate.reporting.theory import theory_page
from skipgate.results import store

LINK = re.compile(r"\]\(([^)#:]+)\)")
FREEZE = "run: make freeze STUDY={} REASON='...'"
REPEATED = ("verdicts", "answers", "findings")
"""Keys of a record that only count or repeat the others."""


def findings(params: Params) -> Iterator[str]:
    """All that does not follow, files first, then judgements, then pages."""
    yield from written_by_hand()
    known = papers.load(params)
    for name in params.studies:
        if paths.verdict_file(name).exists():
            yield from _of_study(params, name, known)
        elif any((paths.RESULTS / name).glob("*/*.json")):
            yield f"{name} has results and no page; run: make report STUDY={name}"
    if paths.verdict_file("theory").exists():
        yield from _of_theory(known)
    yield from differs(paths.REPORTS / "audit.md", audit_page(known), "run: dvc repro paper-audit")
    remedy = "run: dvc repro -f -s overview"
    yield from differs(paths.REPORTS / "papers.md", papers_page(params, known), remedy)
    yield from differs(paths.REPORTS / "README.md", overview_page(params, known), remedy)
    yield from differs(paths.REPORTS / "gate.md", gate_page(params), remedy)
    yield from differs(README, readme(params, known), remedy)
    yield from dead_links()


def _of_study(params: Params, name: str, known: dict[str, papers.Paper]) -> Iterator[str]:
    """The record and the page of a study."""
    study = store.load(params, name)
    judgement = judge_study(params, study, known)
    run = f"run: make report STUDY={name}"
    remedy = f"{run}, and say why in CHANGELOG.md under Results"
    yield from _changes(str(paths.verdict_file(name)), recorded(name), judgement.plain(), remedy)
    if not params.studies[name].frozen_seeds:
        yield from (f"{alarm}; {FREEZE.format(name)}" for alarm in frozen.moved(study))
    page = study_page(params, study, judgement)
    yield from differs(paths.REPORTS / f"{name}.md", page, run)
    numbers = metrics(study, judgement, params.studies[name].rule)
    yield from differs(paths.metrics_file(name), json_bytes(numbers).decode(), run)
    yield from _of_plots(paths.plots_folder(name), curves.files(study), run)


def _of_plots(folder: Path, files: dict[str, bytes], remedy: str) -> Iterator[str]:
    """The tables that `dvc plots` draws, and what else lies beside them."""
    for file, content in files.items():
        yield from differs(folder / file, content.decode(), remedy)
    for file in sorted(found.name for found in folder.glob("*")):
        if file not in files:
            yield f"{folder / file} follows from no result; {remedy}"


def _of_theory(known: dict[str, papers.Paper]) -> Iterator[str]:
    """The record and the page of the theory study."""
    theory = judge_theory(known)
    file = str(paths.verdict_file("theory"))
    remedy = "run: dvc repro theory-report"
    yield from _changes(file, recorded("theory"), theory.plain(), remedy)
    yield from differs(paths.REPORTS / "theory.md", theory_page(theory), remedy)


def written_by_hand() -> Iterator[str]:
    """Results and pages that are not what their stage wrote, by the hashes in dvc.lock."""
    for file, (stage, found) in written().items():
        if file.is_relative_to("results") and file.exists() and md5(file) != found:
            yield (
                f"{file} is not what the stage {stage} wrote; restore it with: "
                f"git checkout -- {file}, or make it again with: dvc repro -s {stage}"
            )


def _changes(where: str, old: Any, new: Any, remedy: str, path: str = "") -> Iterator[str]:
    """What a record says, and what follows from the results now, key by key."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}: {key}" if path else key
            yield from _changes(where, old.get(key), new.get(key), remedy, inner)
    elif old != new and not path.startswith(REPEATED):
        yield (
            f"{where} records for {path} {_short(old)}, but from the results and papers follows "
            f"{_short(new)}; {remedy}"
        )


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 160 else text[:150] + " ..."


def differs(file: Path, expected: str, remedy: str) -> Iterator[str]:
    """The first line of a page that is not what the results render to."""
    found = file.read_text() if file.exists() else ""
    if found == expected:
        return
    both = (text.splitlines(keepends=True) for text in (found, expected))
    lines = enumerate(zip_longest(*both, fillvalue=""), start=1)
    number, (is_there, should) = next((i, pair) for i, pair in lines if pair[0] != pair[1])
    if is_there.rstrip("\n") == should.rstrip("\n"):
        yield f"{file}, line {number}: the line does not end as it should; {remedy}"
        return
    pairs = zip(is_there, should, strict=False)
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    excerpt = slice(max(at - 20, 0), at + 20)
    yield (
        f"{file}, line {number}: says '...{is_there[excerpt].rstrip()}...' where the results "
        f"render to '...{should[excerpt].rstrip()}...'; {remedy}"
    )


def dead_links() -> Iterator[str]:
    """Numbers that lead nowhere."""
    for page in sorted(paths.REPORTS.glob("*.md")):
        targets = {
            target
            for target in LINK.findall(page.read_text())
            if not (page.parent / target).exists()
        }
        for target in sorted(targets):
            yield (
                f"{page} leads to {target}, which is not there; make the result again or render "
                "the page again"
            )


def stale_specs(fresh: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[str]:
    """Nets whose spec on disk is not what the code makes of them now."""
    for net, made in fresh.items():
        for file, new in zip((paths.spec_file(net), paths.probe_spec_file(net)), made, strict=True):
            old = read_json(file, "run: dvc repro specify") if file.exists() else {}
            if old != new:
                yield (
                    f"{file}: by the code {_first_change(old, new)}; if that is meant, "
                    f"run: dvc repro probe@{net}"
                )


def _first_change(old: Any, new: Any, path: str = "") -> str:
    """The setting that moved, or failing that the behaviour."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new}, key=lambda key: key != "settings")
        key = next(key for key in keys if old.get(key) != new.get(key))
        return _first_change(old.get(key), new.get(key), f"{path}.{key}".strip("."))
    return f"{path} is {_short(new)} where the spec says {_short(old)}"
