"""Pickles are read as data: whatever a file would call is refused by name, and never runs."""

import collections
import io
import os
import pickle
import pickletools
import zipfile

import pytest
import torch
from torch import nn

from skipgate.files import Problem
from skipgate.foreign import pickles


def saved(value, **options) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
    )


def same(found, expected) -> bool:
    return found.keys() == expected.keys() and all(
        torch.equal(found[key], expected[key]) for key in expected
    )


@pytest.mark.parametrize("archive", [True, False], ids=["archive", "before 1.6"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_state_dict_is_its_tensors(archive, wrapped):
    state = module().state_dict()
    value = {"epoch": 3, "state_dict": state} if wrapped else state
    content = saved(value, _use_new_zipfile_serialization=archive)
    assert same(pickles.tensors(content), state)


@pytest.mark.parametrize("archive", [True, False], ids=["archive", "before 1.6"])
def test_a_module_is_its_tensors_without_its_classes(archive):
    made = module()
    content = saved(made, _use_new_zipfile_serialization=archive)
    assert same(pickles.tensors(content), made.state_dict())


def test_a_bare_pickle_of_tensors_is_read():
    """Such as `weights_only` refuses: each tensor holds a file of its own."""
    state = module().state_dict()
    assert same(pickles.tensors(pickle.dumps(state, protocol=4)), state)


def test_views_of_one_storage_stay_apart():
    whole = torch.arange(12.0)
    state = collections.OrderedDict(a=whole[2:6], b=whole.view(3, 4).T)
    assert same(pickles.tensors(saved(state)), state)


class Calls:
    """An object that a pickle makes by calling something."""

    def __init__(self, function, *words):
        self.function, self.words = function, words

    def __reduce__(self):
        return self.function, self.words


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("deep", [False, True])
def test_a_pickle_that_would_call_something_is_refused_by_name(tmp_path, archive, deep):
    trace = tmp_path / "trace"
    evil = Calls(os.system, f"touch {trace}")
    content = saved({"weight": [evil] if deep else evil}, _use_new_zipfile_serialization=archive)
    with pytest.raises(Problem, match=r"it would call (posix|nt|os)\.system"):
        pickles.tensors(content)
    assert not trace.exists()


@pytest.mark.parametrize(
    "function", [eval, exec, getattr, __import__, print], ids=lambda f: f.__name__
)
def test_builtins_are_refused_too(function):
    content = pickle.dumps({"weight": Calls(function, "1")})
    with pytest.raises(Problem, match=f"it would call builtins.{function.__name__}"):
        pickles.tensors(content)


def test_a_call_inside_a_nested_file_is_refused():
    nested = pickle.dumps(Calls(os.getcwd))
    content = pickle.dumps({"weight": Calls(torch.storage._load_from_bytes, nested)})
    with pytest.raises(Problem, match=r"it would call \w+\.getcwd"):
        pickles.tensors(content)


def test_the_old_opcodes_for_objects_call_nothing_either():
    content = b"(S'echo'\nios\nsystem\n."  # INST: os.system('echo')
    assert any(op.name == "INST" for op, *_ in pickletools.genops(content))
    with pytest.raises(Problem, match=r"it would call os\.system"):
        pickles.tensors(content)


def test_a_state_is_kept_and_never_handed_to_a_class():
    """A class that would do something when its state is set is not even imported."""
    content = b"\x80\x02cantigravity\nThing\n)\x81}q\x00X\x01\x00\x00\x00aK\x01sb."
    found = pickles.load(content)
    assert isinstance(found, pickles.Stub)
    assert found.state == {"a": 1}
    assert "antigravity" not in __import__("sys").modules


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("archive", [True, False])
def test_a_file_cut_short_is_refused(share, archive):
    content = saved(module().state_dict(), _use_new_zipfile_serialization=archive)
    with pytest.raises(Problem, match=r"damaged or cut short|bytes instead of"):
        pickles.tensors(content[: int(share * len(content))])


def test_a_storage_shorter_than_its_tensor_is_refused():
    content = saved({"weight": torch.ones(100)})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data[:40] if name.endswith("data/0") else data)
    with pytest.raises(Problem, match="40 bytes instead of 400"):
        pickles.tensors(buffer.getvalue())


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, "text"])
def test_what_holds_no_tensors_is_refused(value):
    with pytest.raises(Problem, match="neither a state dict nor a module"):
        pickles.tensors(pickle.dumps(value))


def test_a_module_that_holds_itself_is_refused():
    """An endless walk through its parts ends in a sentence."""
    content = (
        b"\x80\x02cx\nModule\n)\x81q\x00}q\x01X\x08\x00\x00\x00_modulesq\x02"
        b"}q\x03X\x01\x00\x00\x00aq\x04h\x00ssb."
    )
    with pytest.raises(Problem, match="recursion"):
        pickles.tensors(content)


def test_files_within_files_go_one_level_deep():
    content = pickle.dumps(torch.ones(2).untyped_storage()._cdata)
    for _ in range(2):
        content = pickle.dumps(Calls(torch.storage._load_from_bytes, content))
    with pytest.raises(Problem, match=r"it would call torch\.storage\._load_from_bytes"):
        pickles.load(content)


def test_a_tensor_larger_than_its_storage_is_refused():
    small = torch.ones(1).expand(1000, 1000)
    with pytest.raises(Problem, match="more numbers than its storage"):
        pickles.tensors(saved({"weight": small}))


def test_a_storage_that_is_too_large_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(pickles, "MOST", 100)
    with pytest.raises(Problem, match="the storage 0 is larger than 100 bytes"):
        pickles.tensors(saved({"weight": torch.ones(100)}))


def test_a_pickle_cannot_alter_what_reads_the_next_one():
    """BUILD may set attributes of what a pickle names; they are gone with its file."""
    names = b"ctorch._utils\n_rebuild_parameter\n"
    content = b"\x80\x02" + names + b"N}X\x0c\x00\x00\x00__defaults__K\x01\x85s\x86b."
    pickles.load(content)
    found = pickles.load(b"\x80\x02" + names + b".")
    assert found.__defaults__ is None
