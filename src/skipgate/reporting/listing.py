"""Every number, protocol and claim of the papers, with what became of it."""

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from skipgate.judging.coverage import coverage, kinds, verdict
from skipgate.judging.papers import Cell, Paper, Protocol, Statement, Table
from skipgate.judging.protocols import Settings, departures
from skipgate.params import Params
from skipgate.reporting import answers
from skipgate.reporting.glance import recorded
from skipgate.reporting.markdown import markdown
from skipgate.reporting.pages import NOTE

ABOUT = {
    "measured": "Measured",
    "exact": "Follows without training",
    "structure": "How networks are built",
    "repeated": "Said again, or computed from the source's own results; the audit checks it",
    "quoted": "Quoted from elsewhere, for context",
    "encoded": "Words, signs, powers or dates as numbers, for the audit; not counted",
}
FOLDED = ("repeated", "quoted", "encoded")
"""Kinds that nothing of ours is set beside."""
WHAT = 34
STATED = 28
WHERE = 16
SETTING = 38
"""Characters of a line in the columns of a protocol: its rows fit a screen."""
FEW = {True: "yes", False: "no", None: "open"}


def papers_page(params: Params, papers: dict[str, Paper]) -> str:
    """The page, by paper and table."""
    studies = {name: recorded(name) for name in (*params.studies, "theory")}
    settings = Settings(params)
    parts = [
        NOTE.format(stage="overview"),
        "# What the papers report",
        "\n".join(f"- {line}" for line in conclusions(params, papers, studies)),
        _by_paper(params, papers, studies),
    ]
    for name, paper in papers.items():
        parts.append(f"## {paper.title}\n\n{_source(name, paper)}")
        for kind in ABOUT:
            tables = {key: t for key, t in paper.tables.items() if t.kind == kind}
            parts += [_table(f"{name} {key}", table, studies) for key, table in tables.items()]
        parts += [_protocol(key, lines, settings) for key, lines in paper.protocols.items()]
        if paper.claims:
            parts.append(f"### Claims\n\n{answers.listing(name, paper, studies)}")
    return "\n\n".join(parts) + "\n"


def conclusions(
    params: Params, papers: dict[str, Paper], studies: dict[str, dict[str, Any]]
) -> list[str]:
    """The page in a few sentences."""
    found = coverage(params, papers, studies)
    count = kinds(papers)
    lines = [line for p in papers.values() for q in p.protocols.values() for line in q.statements]
    by = Counter(line.by for line in lines)
    followed = sum(bool(line.setting) for line in lines if line.by != "open")
    chosen = sum(bool(line.setting) for line in lines if line.by == "open")
    differing = studies["theory"].get("verdicts", {}).get("differs", 0)
    return [
        f"{found} {differing} of these differ from what is printed.",
        f"Without a net are {_needs(papers)}.",
        f"{count['structure']} numbers say how networks are built, {count['repeated']} repeat the "
        f"papers' own results and {count['quoted']} those of others. {count['encoded']} words that "
        "are kept as numbers for the [audit](audit.md) are not counted.",
        f"{len(lines)} statements make up the protocols: {by['paper']} by the papers, {by['code']} "
        f"by their authors' code, {by['cited']} by works that they follow, {by['open']} left open. "
        f"{followed} are followed by a setting, and for {chosen} open ones a setting was chosen.",
        _departing(departures(params, papers)),
    ]


def _needs(papers: Mapping[str, Paper]) -> str:
    """How many measured numbers have no net, and what they take."""
    tables = [table for paper in papers.values() for table in paper.tables.values()]
    wanted = Counter(t.needs for t in tables if t.needs for cell in t.cells if not cell.nets)
    return ", ".join(f"{count} that take {needs}" for needs, count in wanted.items()) or "none"


def _departing(found: Sequence[str]) -> str:
    if not found:
        return "No setting departs from the statement that it is said to follow."
    return f"Settings that depart from what they are said to follow: {'; '.join(found)}."


def _by_paper(params: Params, papers: dict[str, Paper], studies: dict[str, dict[str, Any]]) -> str:
    rows: list[dict[str, object]] = []
    for name, paper in papers.items():
        found = coverage(params, {name: paper}, studies)
        rows.append(
            {
                "paper": f"`{name}`",
                "measured": found.measured,
                "with a net": found.with_net,
                "run": found.run,
                "could be decided": found.decidable,
                "decided": found.decided,
                "exact": found.exact,
                "computed": found.computed,
                "protocols": len(paper.protocols),
                "claims": len(paper.claims),
            }
        )
    return markdown(rows)


def _source(name: str, paper: Paper) -> str:
    kept = f"Kept in `papers/{name}.yaml`."
    if not paper.arxiv:
        return kept
    return f"[arXiv:{paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}). {kept}"


def _table(place: str, table: Table, studies: dict[str, dict[str, Any]]) -> str:
    rows: list[dict[str, object]] = [
        {
            "": cell.row.replace("|", "\\|"),
            " ": cell.column,
            f"reported ({table.unit})": _reported(table, cell),
            "what became of it": _fate(place, cell, studies),
            "built so": f"`{cell.setting}`" if cell.setting else "",
        }
        for cell in table.cells
    ]
    notes = _notes([(f"{cell.row}, {cell.column}", cell.note) for cell in table.cells])
    body = "\n\n".join(part for part in (f"{_how(table)}.", markdown(_used(rows)), notes) if part)
    if table.kind in FOLDED:
        heading = f"{table.title} ({table.where})"
        return f"<details><summary>{heading}</summary>\n\n{body}\n\n</details>"
    return f"### {table.title} ({table.where})\n\n{body}"


def _how(table: Table) -> str:
    """How a table's numbers came about, in a sentence."""
    parts = [ABOUT[table.kind]]
    if table.kind == "measured":
        names = ", ".join(f"`{name}`" for name in table.protocols)
        parts += [f"protocol {names}", _runs(table)]
    if table.by == "code":
        parts.append("published with the authors' code")
    read = "read off a figure" if table.read == "figure" else table.read
    parts.append(f"{read}, rounded to {_number(table.rounding)}" if table.rounding else read)
    if table.needs:
        parts.append(f"it takes {table.needs}")
    return "; ".join(parts)


def _runs(table: Table) -> str:
    if not table.runs_stated:
        return "the number of runs is not stated, so each counts as a single run"
    return f"{table.statistic} of {table.runs} runs"


def _reported(table: Table, cell: Cell) -> str:
    """A number with the digits that the source prints."""
    text = _number(cell.value)
    if table.rounding < 1 and table.unit != "as headed" and table.rounding:
        text = f"{cell.value:.{-math.floor(math.log10(table.rounding))}f}"
    return text + (f" ± {cell.deviation:g}" if cell.deviation else "")


def _used(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """The rows without the columns that all of them leave empty."""
    used = {name for row in rows for name, text in row.items() if text != ""}
    return [{name: text for name, text in row.items() if name in used} for row in rows]


def _fate(place: str, cell: Cell, studies: dict[str, dict[str, Any]]) -> str:
    found = []
    for study in studies:
        for net in (*cell.nets, cell.quantity):
            judged = verdict(studies, study, place, cell, net)
            if judged:
                found.append(f"{study}: {judged['word']}")
    return "; ".join(found) or ("to be run" if cell.nets or cell.quantity else "")


def _protocol(name: str, protocol: Protocol, settings: Settings) -> str:
    rows: list[dict[str, object]] = [
        {
            "": _wrapped(line.what, WHAT),
            "stated": _wrapped(_stated(line, settings), STATED),
            "where": _wrapped(f"cited: {line.where}" if line.by == "cited" else line.where, WHERE),
            "setting": _code(line.setting),
        }
        for line in protocol.statements
    ]
    notes = _notes([(line.what, line.note) for line in protocol.statements])
    parts = (f"### Protocol `{name}`: {protocol.title}", markdown(_used(rows)), notes)
    return "\n\n".join(part for part in parts if part)


def _wrapped(text: str, width: int) -> str:
    """Text in lines of a table's cell."""
    return "<br>".join(textwrap.wrap(text, width))


def _code(setting: str) -> str:
    """A setting in lines that end after a comma or before a dot."""
    words = setting.replace(",", ", ").replace(".", " .")
    lines = textwrap.wrap(words, SETTING, break_long_words=False, break_on_hyphens=False)
    return "<br>".join(f"`{line.replace(' ', '')}`" for line in lines)


def _stated(line: Statement, settings: Settings) -> str:
    """A statement's value, or what was chosen where it is open."""
    if line.by != "open" or not line.setting:
        return _told(line.value)
    chosen = list(settings.found(line.setting).values())
    same = all(value == chosen[0] for value in chosen)
    return f"open; {_told(chosen[0] if same else chosen)} chosen"


def _told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_told(item) for item in value)
    if value is None or isinstance(value, bool):
        return FEW[value]
    return _number(value) if isinstance(value, int | float) else str(value)


def _number(value: float) -> str:
    """A number written out, in groups of three digits where it is long."""
    if abs(value) >= 10000:
        return f"{value:,.10g}"
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _notes(notes: Sequence[tuple[str, str]]) -> str:
    """Notes below a table, each with all the places that it belongs to."""
    places: dict[str, list[str]] = {}
    for place, note in notes:
        if note:
            places.setdefault(note, []).append(place)
    return "\n".join(f"- {'; '.join(of)}: {note}" for note, of in places.items())
