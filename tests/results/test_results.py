"""From result files to judgements: what is damaged or stale never becomes a number."""

import copy
import dataclasses
import json
import math
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from skipgate import params, paths
from skipgate.files import Problem
from skipgate.judging import papers
from skipgate.judging.judgement import judge_study
from skipgate.judging.statistics import estimate
from skipgate.reporting import figures, pages, paper_figures, tables
from skipgate.results import store
from skipgate.settings.measures import error_rate
from skipgate.settings.probing import USUAL
from tests.toys import ROOT

MEASURE = error_rate(10)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the committed results, to be tampered with."""
    for name in ("results", "specs", "papers", "frozen"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return params.load()


def edit(file, change):
    value = json.loads(Path(file).read_text())
    change(value)
    Path(file).write_text(json.dumps(value))


def rendered(project, study="digits"):
    loaded = store.load(project, study)
    judgement = judge_study(project, loaded, papers.load(project))
    figures.draw_all(loaded, paths.figure_folder(study))
    paper_figures.draw_all(loaded, judgement, paths.figure_folder(study))
    return pages.study_page(project, loaded, judgement), judgement.plain()


def test_committed_results_belong_to_the_committed_specs(project):
    assert store.load(project, "digits").missing == {}


def test_a_result_of_other_code_is_missing_and_takes_no_other_part_along(project):
    for kind in ("train", "run", *USUAL):
        file = paths.result_file("digits", "gated-2", kind)
        edit(file, lambda value: value.update(digest="0" * 16))
    edit(
        "results/digits/gated-10/probes/prune.json",
        lambda value: value.update(probe_digest="0" * 16),
    )
    study = store.load(project, "digits")
    assert study.missing == {"gated-2": "not run yet; run: dvc repro probe@gated-2"}
    stale = "no prune result of the present code; run: dvc repro probe@gated-10"
    assert study.results["gated-10"].missing == {"prune": stale}
    page, line = rendered(project)
    assert (line["nets"], line["verdicts"]["not run"]) == (len(project.nets_of("digits")) - 1, 2)
    assert re.search(r"\| `gated-2` +\| not run", page)
    assert f"- `gated-10`: {stale}" in page
    for title, there in (("Half of the blocks removed", 0), ("Lesions and shuffles", 1)):
        section = page.split(f"## {title}")[1].split("## ")[0]
        assert section.count("| `gated-10`") == there, "what is not there takes nothing else along"


def test_a_net_without_some_probes_or_without_a_training_is_ordinary(project):
    """As a pretrained network has it, and one whose probes are fewer."""
    for kind in ("train", "run"):
        paths.result_file("digits", "residual-2", kind).unlink()
    for kind in ("gates", "lesion", "paths", "speed", "shuffle", "estimation"):
        paths.result_file("digits", "residual-10", kind).unlink()
    page, line = rendered(project)
    assert line["cells"]["gresnet mnist-test-error, d = 2, residual, residual-2"]["ours"] is None
    assert line["cells"]["gresnet mnist-test-error, d = 10, residual, residual-10"]["ours"]
    assert re.search(r"\| `residual-2` +\| residual +\| d = 2 +\| - +\| - +\| 5 ", page)
    assert line["claims"]["gresnet gated-beats-residual-mnist"]["why"] == "waits for `residual-2`"


def test_a_net_that_is_not_probed_for_a_number_says_so_and_silences_no_other(project):
    """Without its gates gated-2 has no mean k; claims on deeper networks do not wait for it."""
    spec = paths.probe_spec_file("gated-2")
    edit(spec, lambda value: value["digests"].pop("gates"))
    _, line = rendered(project)
    whole = json.loads((ROOT / "reports" / "verdicts" / "digits.json").read_text())
    changed = {n for n, told in line["claims"].items() if told != whole["claims"][n]}
    assert changed == {"gresnet k-falls-with-depth"}
    assert line["cells"]["gresnet mnist-mean-k, d = 2, mean k, gated-2"]["word"] == "not run"


def test_seeds_that_are_not_there_yet_are_named(project):
    edit(paths.spec_file("gated-10"), lambda value: value.update(seeds=6))
    result = store.load(project, "digits").results["gated-10"]
    assert result.missing["train"] == "seed 5 not run yet; run: dvc repro probe@gated-10"
    assert result.has("run", "speed")


def test_a_truncated_result_is_refused_with_the_remedy(project):
    file = Path("results/digits/gated-2/probes/lesion.json")
    file.write_text(file.read_text()[:100])
    with pytest.raises(
        Problem,
        match=r"lesion\.json is damaged or cut short .*; restore it with git, or run: dvc repro probe@gated-2",
    ):
        store.load(project, "digits")


def test_numbers_in_a_report_lead_to_files_that_hold_them(project):
    page, _ = rendered(project)
    ours = json.loads(Path("results/digits/gated-10/train.json").read_text())
    mean = np.mean([column[-1] for column in ours["metrics"]["test_error"]])
    assert f"[{mean:.2f} ± " in page
    for target in {part.split(")")[0] for part in page.split("](")[1:]}:
        root = ROOT if target.startswith("../docs/") else Path()
        assert (root / "reports" / target).exists(), target


def test_the_committed_report_is_what_the_results_render_to(project):
    page, line = rendered(project)
    assert page == (ROOT / "reports" / "digits.md").read_text()
    assert line == json.loads((ROOT / "reports" / "verdicts" / "digits.json").read_text())


def without(value, seeds):
    """A result in which these seeds have no number: every innermost list runs over the seeds."""
    if isinstance(value, dict):
        return {key: without(item, seeds) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], list):
        return [without(item, seeds) for item in value]
    if isinstance(value, list) and len(value) == 5:
        return [None if seed in seeds else item for seed, item in enumerate(value)]
    return value


def diverged(value, seeds):
    """A training in which these seeds failed from epoch 3 on."""
    for seed in seeds:
        value["diverged"][seed] = 3
        for columns in value["metrics"].values():
            columns[seed][3:] = [None] * len(columns[seed][3:])


def test_diverged_seeds_are_left_out_of_means_and_counted(project):
    """Of one net the first seed is lost, of another every seed."""
    for net, seeds in (("gated-10", [0]), ("gated-50", range(5))):
        edit(f"results/digits/{net}/train.json", lambda value, s=seeds: diverged(value, s))
        for kind, keys in (
            ("gates", "TC"),
            ("lesion", ("whole", "without")),
            ("prune", ("random", "smallest")),
            ("shuffle", ["errors"]),
            ("estimation", ("mean", "deviation", "size")),
        ):
            lost = partial(
                lambda value, k, s: value.update(without({key: value[key] for key in k}, s)),
                k=keys,
                s=seeds,
            )
            edit(paths.result_file("digits", net, kind), lost)
    page, _ = rendered(project)
    assert "5, 1 diverged" in page
    assert "5, 5 diverged" in page
    assert "[diverged](../results/digits/gated-50/train.json)" in page
    assert "None" not in page
    assert "nan" not in page
    assert estimate([None, None]) is None


def test_estimates():
    found = estimate([1.0, 2.0, 3.0, None])
    assert (found.mean, found.deviation, found.count) == (2.0, 1.0, 3)
    assert found.half == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)


def test_one_seed_has_no_interval():
    assert str(estimate([2.5])) == "2.50 (one seed)"


def test_an_ablation_is_set_beside_the_net_it_changes(project):
    """A twin of gated-10 that adds before the ReLU and errs by a point more in every seed."""
    study = store.load(project, "digits")
    before = tables.ablations(study).splitlines()
    assert all("`pre-epsilon-" in row for row in before[2:]), "other nets differ in more"
    main = study.results["gated-10"]
    body = dataclasses.replace(main.spec.settings.body, addition="before")
    spec = dataclasses.replace(
        main.spec,
        net="gated-10-before",
        settings=dataclasses.replace(main.spec.settings, body=body),
    )
    parts = copy.deepcopy(main.parts)
    for column in parts["train"]["metrics"]["test_error"]:
        column[-1] += 1
    study.results["gated-10-before"] = store.Result(spec, parts)
    after = tables.ablations(study).splitlines()
    assert len(after) == len(before) + 1
    row = after[-1]
    for words in (
        "`gated-10-before`",
        "`gated-10`",
        "addition after to before",
        "[1.00 ± 0.00]",
        "[0.00 ± 0.00]",
    ):
        assert words in row


def test_an_interval_beyond_all_errors_gives_way_to_the_seeds():
    assert tables.score_text(MEASURE, [8.58, 20.04, 63.16]) == "8.58, 20.04, 63.16"
    assert tables.score_text(MEASURE, [2.0, 2.2, None]) == "2.10 ± 1.27"
    assert tables.score_text(MEASURE, [None]) == "diverged"


def test_blocks_that_let_nothing_through_are_counted(project):
    result = store.load(project, "digits").results["gated-10"]
    result.parts["gates"]["T"] = [[0, 0, 0, 0, 0.1], [1, 0, 1, 1, 1]]
    assert tables._closed(result) == "1.0 of 2"


def test_an_unknown_study_is_refused(project):
    with pytest.raises(Problem, match="has no study 'digts'; did you mean 'digits'"):
        store.load(project, "digts")


def test_a_study_with_a_registered_deviation_is_never_judged(project):
    assert project.studies["digits"].deviation
    _, line = rendered(project)
    assert len(line["cells"]) == line["verdicts"]["not comparable"] > 0
