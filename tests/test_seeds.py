"""The unit of work is a seed: one more trains and probes that one alone, whoever does it."""

import re
import shutil
import signal

import psutil
import pytest

from tests.project import NETS, Project, at, copied
from tests.test_fanout import checkpoints, wait_for

pytestmark = pytest.mark.xdist_group("seeds")  # they share a study that takes a while to run


def started(folder, epochs=6):
    made = Project(folder, epochs=epochs)
    made.run("git", "init", "--quiet")
    made.run("dvc", "init", "--quiet")
    return made


def committed(project):
    project.run("git", "add", "--all")
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    project.run("git", *names, "commit", "--quiet", "--message", "all")


def cloned(project, folder):
    project.run("git", "clone", "--quiet", str(project.folder), str(folder))
    return at(folder)


def family(process):
    whole = psutil.Process(process.pid)
    return [*whole.children(recursive=True), whole]


def set_seeds(project, seeds):
    project.edit_params(lambda s: s["studies"]["digits"]["defaults"].update(seeds=seeds))


def entries(project):
    """The vault's trainings, with the time at which each was written."""
    found = [p for p in (project.folder / ".vault").glob("*-[0-9]") if p.is_dir()]
    files = [file for entry in found for file in entry.iterdir()]
    return {f.relative_to(project.folder): (f.stat().st_mtime_ns, f.read_bytes()) for f in files}


def outcome(project):
    """Everything that follows from a training but for times."""
    found = {}
    for net in NETS:
        found[net, "model"] = (project.folder / "models" / "digits" / f"{net}.pt").read_bytes()
        for kind in ("train", "gates", "lesion", "prune", "shuffle", "estimation", "paths"):
            found[net, kind] = project.result_file(net, kind).read_bytes()
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Two seeds, run and committed."""
    project = started(tmp_path_factory.mktemp("base"))
    project.run("dvc", "repro", "report@digits")
    committed(project)
    return project


@pytest.fixture(scope="module")
def grown(base, tmp_path_factory):
    """Two seeds, then three, by `dvc repro`; what there was before and after."""
    project = copied(base, tmp_path_factory.mktemp("grown") / "project")
    before = (entries(project), outcome(project))
    set_seeds(project, 3)
    output = project.run("dvc", "repro", "report@digits")
    return project, before, output, outcome(project)


def test_one_more_seed_trains_and_probes_that_seed_alone(grown):
    project, (kept, first), output, _ = grown
    trained = {net for net in NETS if f"{net} seed 2:" in output}
    assert trained == set(NETS)
    assert "seeds 0" not in output
    now = entries(project)
    assert {file: now[file] for file in kept} == kept, "the others' entries are untouched"
    assert len(now) == len(kept) // 2 * 3
    for net in NETS:
        result = project.result(net, "train")
        assert result["seeds"] == [0, 1, 2]
        runs = project.result(net, "run")["runs"]
        assert [run["seeds"] for run in runs] == [[0, 1], [2]]
        speed = project.result(net, "speed")
        assert speed["seeds"] == [0, 1], "what was measured together says on which"
        assert first[net, "train"] != project.result_file(net, "train").read_bytes()


def test_pages_and_mlflow_follow(grown):
    project, *_ = grown
    page = (project.folder / "reports" / "digits.md").read_text()
    assert page.count("| 3 ") >= len(NETS)
    assert "thread(s), " in page
    assert re.search(r"thread\(s\), \d+ \+ \d+ s", page), "what was trained apart is told apart"
    assert "`gated-2`, seeds 0 to 1" in page
    assert "8 runs written" in project.stage("sync")


def test_processes_make_the_same_of_it(base, grown, tmp_path):
    project = copied(base, tmp_path / "project")
    set_seeds(project, 3)
    said = project.fanout("--dry-run").splitlines()
    assert said[0] == "digits: 2 of 2 nets to train"
    assert all(" seed 2: " in line for line in said[1:])
    project.fanout("--jobs", "2")
    project.run("dvc", "repro", "report@digits")
    assert outcome(project) == grown[3]


def test_back_to_fewer_seeds_trains_nothing_and_gives_the_bytes_there_were(grown, tmp_path):
    project, (_, first), *_ = grown
    back = copied(project, tmp_path / "back")
    set_seeds(back, 2)
    assert back.fanout("--dry-run").strip() == "digits: 0 of 2 nets to train"
    output = back.run("dvc", "repro", "report@digits")
    assert "epoch" not in output, "no bar of a training"
    assert outcome(back) == first


def test_where_the_weights_are_not_at_hand_one_more_seed_is_all_that_trains(base, grown, tmp_path):
    """A fresh clone has results and no weights: the others' results are kept as they are."""
    whole = grown[3]
    source = cloned(base, tmp_path / "clone")
    set_seeds(source, 3)
    output = source.run("dvc", "repro", "report@digits")
    assert "gated-2 seed 2:" in output
    assert "seeds 0" not in output
    for net in NETS:
        assert source.result_file(net, "train").read_bytes() == whole[net, "train"]
        for kind in ("lesion", "prune", "paths"):
            found = source.result(net, kind)
            assert found["seeds"] == [0, 1, 2]


def test_a_package_that_moved_fetches_again_and_retrains_nothing(grown, tmp_path):
    project = grown[0]
    moved = copied(project, tmp_path / "moved")
    moved.edit_params(lambda s: s["sources"]["digits"].update(package="elsewhere@2.0.0"))
    ran = moved.repro("report@digits")
    assert set(ran) == {"fetch@digits", "specify", "costs", "report@digits"}


def test_other_content_is_refused_until_its_hash_is_recorded(grown, tmp_path):
    project = grown[0]
    other = copied(project, tmp_path / "other")
    other.edit_params(lambda s: s["data"]["digits"].update(sha256="0" * 64))
    assert "not to the recorded 0000" in other.run("dvc", "repro", "report@digits", code=255)
    other.stage("specify")
    changed = other.run("dvc", "status", *(f"train@{net}" for net in NETS))
    assert changed.count("modified:           specs/") == 2, "every net of that data set"


def test_an_interrupted_stage_leaves_the_results_there_were(base, tmp_path):
    """DVC removes a stage's outputs before it runs it, unless they persist."""
    project = copied(base, tmp_path / "project")
    before = outcome(project)
    project.edit_params(lambda s: s["recipes"]["digits-dense"].update(epochs=5000))
    process = project.start("dvc", "repro", "train@gated-2")
    wait_for(lambda: checkpoints(project))
    for each in family(process):  # as a terminal does it
        each.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert outcome(project) == before


def test_who_holds_the_lock_is_said(tmp_path):
    project = started(tmp_path, epochs=5000)
    process = project.start("dvc", "repro", "train@gated-2")
    wait_for(lambda: checkpoints(project))
    try:
        said = project.fanout("--jobs", "1", code=1)
    finally:
        for each in family(process):
            each.kill()
        process.communicate()
    assert f"dvc repro failed: process {process.pid}, " in said
    assert "dvc repro train@gated-2, holds the lock of this project" in said


def test_a_result_carries_the_digest_of_the_settings_that_made_it(tmp_path):
    """Settings come from the spec, as the digest does: an edit of params.yaml alone changes none."""
    project = started(tmp_path, epochs=2)
    project.run("dvc", "repro", "train@gated-2")
    project.edit_params(lambda s: s["probes"]["usual"].update(prune={"orders": 7}))
    project.stage("probe", "gated-2")
    assert len(project.result("gated-2", "prune")["random"]) == 3


def test_an_interrupted_probing_goes_on(tmp_path):
    """What was found is kept in the vault, and the folder stays as it was until all is done."""
    project = started(tmp_path, epochs=2)
    project.run("dvc", "repro", "train@gated-2")
    project.stage("probe", "gated-2")
    whole = {kind: project.result_file("gated-2", kind).read_bytes() for kind in ("prune", "paths")}
    shutil.rmtree(project.result_file("gated-2", "lesion").parent)
    kept = list((project.folder / ".vault").glob("lesion-*"))
    assert len(kept) == 2, "one entry per seed"
    times = {entry: entry.stat().st_mtime_ns for entry in kept}
    project.stage("probe", "gated-2")
    assert {entry: entry.stat().st_mtime_ns for entry in kept} == times
    for kind, content in whole.items():
        assert project.result_file("gated-2", kind).read_bytes() == content


def test_a_clone_keeps_what_it_cannot_make_again(base, tmp_path):
    """Results without weights outlive fewer seeds, and a kill before DVC has recorded them."""
    clone = tmp_path / "clone"
    source = cloned(base, clone)
    first = source.result_file("gated-2", "train").read_bytes()
    set_seeds(source, 1)
    assert "epoch" not in source.run("dvc", "repro", "probe@gated-2"), "fewer seeds train nothing"
    source.run("git", "checkout", "--quiet", ".")
    set_seeds(source, 3)
    lock = (clone / "dvc.lock").read_text()
    output = source.run("dvc", "repro", "probe@gated-2")
    assert "gated-2 seed 2:" in output
    whole = source.result_file("gated-2", "train").read_bytes()
    (clone / "dvc.lock").write_text(lock)  # as if DVC had been killed before it wrote it
    output = source.run("dvc", "repro", "probe@gated-2")
    assert "train.json is not what dvc.lock records, and is not used" in output
    assert "epoch/s" not in output, "nothing is trained again"
    assert source.result_file("gated-2", "train").read_bytes() == whole != first


def test_what_a_probe_found_is_kept_under_the_net_as_it_is(tmp_path):
    """The same weights under another digest: results carry the new one, and `again` is again."""
    project = started(tmp_path, epochs=2)
    project.run("dvc", "repro", "probe@gated-2")
    old = project.result("gated-2", "lesion")
    project.edit_params(lambda s: s["recipes"]["digits-dense"].update(precision="tf32"))
    project.run("dvc", "repro", "probe@gated-2")
    new = project.result("gated-2", "lesion")
    assert new["models"] == old["models"]
    assert new["digest"] == project.spec("gated-2")["digest"] != old["digest"]
    project.stage("forget", "gated-2")
    digest = new["digest"]
    assert not list((project.folder / ".vault").glob(f"*{digest}*"))
    output = project.run("dvc", "repro", "--force", "probe@gated-2")
    assert "epoch/s" in output
