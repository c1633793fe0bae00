"""The page of the papers: every number and statement is on it, and rows fit a screen."""

import re

import pytest

from skipgate.judging import papers
from skipgate.judging.coverage import coverage
from skipgate.reporting.glance import recorded
from skipgate.reporting.listing import conclusions, papers_page

WIDEST = 120
"""Characters of a row, as rendered."""


@pytest.fixture(scope="module")
def page(settings, loaded):
    return papers_page(settings, loaded)


def longest(cell):
    """The length of a cell's longest line."""
    return max(map(len, cell.split("<br>")))


def sections(page):
    """The heading and the rows of every table, the first one by paper; claims aside."""
    for part in re.split(r"\n(?=###? |<details>)", page):
        heading = part.splitlines()[0]
        rows = [
            [cell.strip().replace("`", "") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
            for line in part.splitlines()
            if line.startswith("|") and not line.startswith("|:")
        ]
        if rows and heading != "### Claims":
            yield heading, rows


def test_rows_fit_a_screen(page):
    wide = {
        heading: width
        for heading, rows in sections(page)
        if (width := sum(max(map(longest, column)) for column in zip(*rows, strict=True))) > WIDEST
    }
    assert wide == {}


def test_every_number_and_statement_has_its_row(page, loaded):
    cells = [cell for paper in loaded.values() for _, cell in papers.cells(paper)]
    protocols = [protocol for paper in loaded.values() for protocol in paper.protocols.values()]
    lines = [line for protocol in protocols for line in protocol.statements]
    _, *tables = (rows for _, rows in sections(page))
    assert sum(len(rows) - 1 for rows in tables) == len(cells) + len(lines)
    for note in [cell.note for cell in cells] + [line.note for line in lines]:
        assert note in page


def test_every_number_says_what_became_of_it_or_what_it_takes(page):
    assert "nan" not in page
    assert "yet" not in page.split("### Claims")[0]
    for part in page.split("\n### ")[1:]:
        if "\n\nMeasured; " in part:
            assert "what became of it" in part or "it takes a" in part


def test_an_open_statement_shows_what_was_chosen(page):
    assert re.search(r"\| initialiser +\| open; glorot-uniform chosen +\|", page)
    assert re.search(
        r"\| epochs +\| 100 +\| v1 4.1, v2 3.1 +\| `recipes.mnist-dense.epochs` ", page
    )


def test_what_code_alone_says_and_what_is_quoted_are_marked(page):
    curves = page.split("### CIFAR-10 error of 110-layer networks")[1].split("\n|")[0]
    assert "published with the authors' code" in curves
    quoted = page.split("<summary>Test errors of other methods")[1].split("</details>")[0]
    assert "Quoted from elsewhere" in quoted
    assert page.count("18.85") == quoted.count("18.85") == 1


def test_the_conclusions_count_what_is_recorded(settings, loaded):
    studies = {name: recorded(name) for name in (*settings.studies, "theory")}
    found = coverage(settings, loaded, studies)
    first = conclusions(settings, loaded, studies)[0]
    assert f"Of {found.measured} measured numbers {found.with_net} have a net" in first
    assert f"{found.decidable} could be decided and {found.decided} were" in first
    assert found.measured >= found.with_net >= found.run >= found.decidable >= found.decided
    none = conclusions(settings, loaded, {name: {} for name in studies})[0]
    assert "0 were run, 0 could be decided and 0 were" in none


def test_a_paper_leads_to_its_source(page):
    for number in ("1611.01260", "1804.01661", "1612.07771"):
        assert f"[arXiv:{number}](https://arxiv.org/abs/{number})" in page
