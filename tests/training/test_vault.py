import dataclasses
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from skipgate.files import Problem
from skipgate.specs import Spec, pieces
from skipgate.training.vault import Vault, key_of, piece_of
from tests.toys import toy_settings

FILES = {"model.pt": b"weights", "train.json": b"{}"}


def test_an_entry_comes_back_whole(tmp_path):
    vault = Vault(tmp_path / "vault")
    assert vault.find("k") is None
    entry = vault.put("k", FILES)
    assert vault.find("k") == entry
    assert {name: (entry / name).read_bytes() for name in FILES} == FILES


def test_the_first_of_two_stays(tmp_path):
    vault = Vault(tmp_path)
    vault.put("k", FILES)
    assert (vault.put("k", {"model.pt": b"later"}) / "model.pt").read_bytes() == b"weights"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["k"], "nothing else is left lying about"


@pytest.mark.parametrize("damage", ["cut", "missing", "no manifest"])
def test_a_damaged_entry_is_removed(tmp_path, damage):
    vault = Vault(tmp_path)
    entry = vault.put("k", FILES)
    if damage == "cut":
        (entry / "model.pt").write_bytes(b"weig")
    else:
        (entry / ("model.pt" if damage == "missing" else "manifest.json")).unlink()
    assert vault.find("k") is None
    assert not entry.exists()
    vault.put("k", FILES)
    assert vault.find("k") is not None


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path):
    (tmp_path / ".new-k-abc").mkdir()
    (tmp_path / ".new-other-abc").mkdir()
    Vault(tmp_path).put("k", FILES)
    assert [p.name for p in tmp_path.glob(".new-*")] == [".new-other-abc"]


def spec(seeds=6, stack=5):
    return Spec("x", "digits", "digits", toy_settings(), 1, "a-digest", seeds, stack)


def test_seeds_are_cut_at_multiples_of_the_stack():
    assert list(pieces(range(12), 5)) == [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9), (10, 11)]
    assert list(pieces([3, 5, 6, 11], 5)) == [(3,), (5, 6), (11,)]
    assert list(pieces(range(3), 1)) == [(0,), (1,), (2,)]


def test_each_seed_has_an_entry_and_seeds_cut_together_share_a_lock():
    made = spec()
    assert key_of(made, 0) != key_of(made, 1)
    assert piece_of(made, (0, 1)) == piece_of(made, (4,)) != piece_of(made, (5,))


def test_dropping_removes_all_of_a_net_and_nothing_of_another(tmp_path):
    vault = Vault(tmp_path)
    made = spec()
    for seed in range(6):
        vault.put(key_of(made, seed), FILES)
    checkpoint = vault.checkpoint(piece_of(made, (5,)))
    checkpoint.parent.mkdir()
    checkpoint.touch()
    other = dataclasses.replace(made, digest="another")
    vault.put(key_of(other, 0), FILES)
    vault.put(f"lesion-{made.digest}-x", FILES)
    vault.drop(made)
    assert vault.missing(made, range(6)) == list(range(6))
    assert vault.find(f"lesion-{made.digest}-x") is None
    assert not checkpoint.exists()
    assert vault.missing(other, [0]) == []


def hold(root: Path, taken) -> None:
    with Vault(root).lock("k"):
        taken.set()
        time.sleep(60)


def test_a_lock_dies_with_its_holder(tmp_path):
    context = multiprocessing.get_context("spawn")
    taken = context.Event()
    holder = context.Process(target=hold, args=(tmp_path, taken))
    holder.start()
    taken.wait(60)
    os.kill(holder.pid, signal.SIGKILL)
    with Vault(tmp_path).lock("k"):
        pass
    holder.join()


def test_a_full_disk_ends_in_a_sentence_and_no_half_entry(small_disk):
    vault = Vault(small_disk)
    with pytest.raises(
        Problem,
        match=r"model\.pt could not be written \(No space left on device\); free some space",
    ):
        vault.put("k", {"model.pt": bytes(1_000_000)})
    assert vault.find("k") is None
    assert not list(small_disk.iterdir())
