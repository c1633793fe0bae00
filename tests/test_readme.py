"""What a person reads first: links that lead somewhere, parts that are rendered, how to cite."""

import re
import tomllib
from itertools import chain

import pytest
import yaml

from skipgate import params, paths
from skipgate.files import write_json
from skipgate.reporting import overview
from skipgate.reporting.integrity import LINK
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
    parts = overview.PLACE.findall((ROOT / "README.md").read_text())
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


def test_what_was_found_counts_no_toy_and_leads_with_the_clearest(tmp_path, monkeypatch):
    (tmp_path / "params.yaml").symlink_to(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    answers = {"holds": 2, "fails": 1, "undecided": 3, "not run": 9}
    made_up = {"toy": ("digits", "agrees", 9), "own": ("mnist", "differs", 2)}
    for text, (study, word, clarity) in made_up.items():
        record = {
            "cells": {"a": {"word": word}, "b": {"word": "not run"}},
            "answers": answers,
            "findings": [
                {"text": f"{text} {number}", "clarity": clarity + number} for number in range(2)
            ],
        }
        write_json(paths.verdict_file(study), record)
    numbers, claims, surprise = overview.found(params.load()).splitlines()
    assert "Of 1 reported numbers" in numbers
    assert "1 differ from ours, 0 agree and 0 are inconclusive; of 0 that follow" in numbers
    assert claims.endswith(
        "Of 6 tests of what the papers say in words, toys left out, 2 hold, 1 fail and 3 are "
        "undecided."
    )
    assert surprise.endswith("**mnist**: own 1")
