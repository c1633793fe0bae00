"""What of the Dockerfile can be run without an engine, without root and without installing."""

import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from tests.toys import ROOT

LINES = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
STEPS = [
    tuple(step.split(maxsplit=1))
    for step in LINES.replace("\\\n", " ").splitlines()
    if step and not step.isspace()
]
INSTALLS = "make setup"
HOME = PurePosixPath("/skipgate")


def words(kind):
    return [text.split() for step, text in STEPS if step == kind]


def tracked():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [Path(name) for name in listed.stdout.splitlines()]


def is_ignored(file):
    """By .dockerignore, whose patterns begin at the root unless they say `**/`."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    return any(
        each.match(pattern) if pattern.startswith("**/") else each == Path(pattern)
        for pattern in patterns
        for each in (file, *file.parents)
    )


def copy(sources, folder):
    for file in tracked():
        if not is_ignored(file) and any(
            source == "." or Path(source) in (file, *file.parents) for source in sources
        ):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)


def run(command, folder):
    done = subprocess.run(
        ["sh", "-euc", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _install(folder):
    """An environment of a cached layer, older than what is copied after it."""
    ready = folder / ".venv" / ".ready"
    ready.parent.mkdir()
    ready.touch()
    os.utime(ready, (0, 0))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder as the steps after USER leave it, but for what `make setup` installs."""
    folder = tmp_path_factory.mktemp("image")
    begun = STEPS.index(next(step for step in STEPS if step[0] == "USER"))
    for kind, text in STEPS[begun:]:
        if kind == "COPY":
            copy([word for word in text.split()[:-1] if not word.startswith("--")], folder)
        if kind == "RUN":
            planned = run(text.replace(INSTALLS, f"{INSTALLS} --dry-run"), folder)
            if INSTALLS in text:
                assert "--require-hashes" in planned
                assert "--editable ." in planned
                _install(folder)
    return folder


def test_what_is_copied_is_there_and_not_ignored():
    sources = {word for each in words("COPY") for word in each[:-1] if not word.startswith("--")}
    assert sources > {"."}
    for source in sources - {"."}:
        assert Path(source) in tracked()
        assert not is_ignored(Path(source))
    assert [str(file) for file in tracked() if is_ignored(file)] == []
    assert is_ignored(Path(".venv/bin/python"))
    assert is_ignored(Path("src/skipgate/__pycache__/cli.pyc"))


def test_the_image_begins_with_a_target_that_there_is(built):
    (entry,), (command,) = words("ENTRYPOINT"), words("CMD")
    line = " ".join(word.strip('[",]') for word in (*entry, *command))
    assert line == "make repro"
    planned = run(f"{line} --dry-run", built)
    assert "pipeline.repro digits" in planned
    assert "pip install" not in planned, "an image brings its environment along"


def test_what_outlives_the_container_is_made_by_its_user(built):
    """Else Docker makes a volume that belongs to root, and nothing can be written there."""
    (user,) = words("USER")
    assert any(f"useradd --create-home --uid {user[0]} " in text for _, text in STEPS)
    assert all(f"--chown={user[0]}" in each for each in words("COPY"))
    assert words("WORKDIR") == [[str(HOME)]]
    (volumes,) = words("VOLUME")
    for volume in volumes:
        inner = PurePosixPath(volume.strip('[",]')).relative_to(HOME)
        assert (built / inner).is_dir()


def test_packages_of_the_system_have_these_names():
    if not shutil.which("apt-cache"):
        pytest.skip("only Debian and its like know the names of packages")
    known = set(run("apt-cache pkgnames", ROOT).split())
    if len(known) < 10_000:
        pytest.skip("the lists of packages are not here; run: apt-get update")
    (installed,) = re.findall(r"apt-get install ([^&]+)&&", LINES.replace("\\\n", " "))
    names = [word for word in installed.split() if not word.startswith("--")]
    assert names
    assert set(names) - known == set()
