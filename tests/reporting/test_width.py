"""Tables fit a screen."""

import re

import pytest

from tests.toys import ROOT

WIDEST = 125
"""Characters of a row as rendered, with three for each border: about what 1,280 pixels hold."""
PAGES = sorted(page for page in (ROOT / "reports").glob("*.md") if page.stem != "papers")


def rendered(row):
    """The widths of a row's cells, without the targets of links and the marks of emphasis."""
    text = re.sub(r"\]\([^)]*\)", "", row).replace("[", "").replace("\\|", "!")
    cells = text.strip("|").split("|")
    return [max(map(len, re.sub(r"[*`]", "", cell.strip()).split("<br>"))) for cell in cells]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_table_is_wider_than_a_screen(page):
    tables = re.findall(r"(?:^\|.*\n)+", page.read_text(), re.MULTILINE)
    for table in tables:
        head, _, *rows = table.splitlines()
        columns = zip(*map(rendered, (head, *rows)), strict=True)
        assert sum(max(column) + 3 for column in columns) <= WIDEST, head
