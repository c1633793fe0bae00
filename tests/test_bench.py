"""The page of speeds is kept section by section."""

import pytest

import pipeline.bench
from skipgate import bench_page as bench
from skipgate.files import Problem
from tests.toys import ROOT


def test_the_committed_page_is_its_sections_in_order():
    page = (ROOT / "reports" / "bench.md").read_text()
    parts = bench.parts(page)
    assert list(parts) == [title for title in bench.TITLES if title in parts]
    assert all("\nMeasured with PyTorch " in part for part in parts.values())
    assert bench.whole(parts) == page


def test_measuring_one_section_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(bench.paths, "REPORTS", tmp_path)
    monkeypatch.setattr(
        bench.bench_convolutions, "NETWORKS", {"small": bench.Resnet("resnet", 1, 4)}
    )
    monkeypatch.setattr(bench, "ROUNDS", 1)
    kept = bench.whole({bench.TITLES[0]: f"{bench.TITLES[0]}\n\nas it was\n"})
    (tmp_path / "bench.md").write_text(kept)
    pipeline.bench.main(["convolutions"])
    page = (tmp_path / "bench.md").read_text()
    assert page.startswith(kept)
    assert list(bench.parts(page)) == [bench.TITLES[0], bench.TITLES[2]]
    assert "| small" in page


def test_an_unknown_section_is_refused_before_anything_is_measured():
    with pytest.raises(Problem, match="there is no section 'lesion'; did you mean 'lesions'"):
        pipeline.bench.main(["training", "lesion"])


def test_every_section_that_may_be_named_is_there():
    assert tuple(bench.SECTIONS) == pipeline.bench.SECTIONS
