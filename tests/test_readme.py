"""What a person reads first: links that lead somewhere, parts that are rendered, how to cite."""

import re
import tomllib
from itertools import chain

import pytest
import yaml

from skipgate.reporting.integrity import LINK
from skipgate.reporting.overview import PLACE
from tests.toys import ROOT

PAGES = sorted(
    page.relative_to(ROOT)
    for page in chain(ROOT.glob("*.md"), ROOT.glob("docs/**/*.md"), ROOT.glob("reports/*.md"))
)
ANCHOR = re.compile(r"\]\(([^)#:]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LISTING = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`[^`\n]*`")


def anchors(page):
    """What GitHub calls the headings of a page."""
    titles = HEADING.findall(LISTING.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page):
    text = QUOTED.sub("", LISTING.sub("", (ROOT / page).read_text()))
    folder = (ROOT / page).parent
    assert [target for target in LINK.findall(text) if not (folder / target).exists()] == []
    inner = [
        (folder / target if target else ROOT / page, to) for target, to in ANCHOR.findall(text)
    ]
    assert [(str(target), to) for target, to in inner if to not in anchors(target)] == []


def test_every_rendered_part_has_its_place():
    parts = PLACE.findall((ROOT / "README.md").read_text())
    assert [name for _, name, _ in parts] == ["found", "judged", "coverage", "verdicts"]


def test_the_citation_is_of_this_version_and_names_all_sources():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    papers = [yaml.safe_load(file.read_text()) for file in (ROOT / "papers").glob("*.yaml")]
    assert {each["title"] for each in cited["references"]} == {each["title"] for each in papers}
    links = {each["url"] for each in cited["references"]}
    for paper in papers:
        assert "arxiv" not in paper or f"https://arxiv.org/abs/{paper['arxiv']}" in links
