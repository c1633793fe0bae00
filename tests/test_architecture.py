"""Imports point one way, and the house rules on size hold."""

import ast
import subprocess
import sys

import pytest

from tests.toys import ROOT

SOURCES = sorted((ROOT / "src" / "skipgate").rglob("*.py"))
STAGES = sorted((ROOT / "pipeline").glob("*.py"))
FORBIDDEN = {
    "nets": {
        "skipgate.data",
        "skipgate.training",
        "skipgate.probes",
        "skipgate.theory",
        "skipgate.results",
        "skipgate.behaviour",
    },
    "data": {
        "skipgate.nets",
        "skipgate.training",
        "skipgate.probes",
        "skipgate.results",
        "skipgate.behaviour",
    },
    "training": {"skipgate.probes", "skipgate.results", "skipgate.behaviour"},
    "probes": {"skipgate.theory", "skipgate.results", "skipgate.behaviour"},
    "theory": {"skipgate.data", "skipgate.results", "skipgate.behaviour", "pipeline"},
    "results": {
        "torch",
        "skipgate.nets",
        "skipgate.data",
        "skipgate.training",
        "skipgate.probes",
        "skipgate.theory",
        "skipgate.behaviour",
    },
}


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def begins_with(name, module):
    return name == module or name.startswith(module + ".")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_point_one_way(folder):
    files = [file for file in SOURCES if file.is_relative_to(ROOT / "src" / "skipgate" / folder)]
    assert files
    forbidden = {"skipgate.fanout", "skipgate.tracking", *FORBIDDEN[folder]}
    wrong = [
        (f.name, n) for f in files for n in imported(f) for m in forbidden if begins_with(n, m)
    ]
    assert wrong == []


def test_of_training_theory_knows_the_random_numbers_alone():
    files = [file for file in SOURCES if file.is_relative_to(ROOT / "src" / "skipgate" / "theory")]
    names = {
        name for file in files for name in imported(file) if begins_with(name, "skipgate.training")
    }
    assert names == {"skipgate.streams.stream", "skipgate.streams.streams"}


def test_only_tracking_imports_mlflow_only_the_cluster_ray_and_no_stage_torch():
    assert [f.name for f in SOURCES if any(begins_with(n, "mlflow") for n in imported(f))] == [
        "tracking.py"
    ]
    assert [f.name for f in SOURCES if any(begins_with(n, "ray") for n in imported(f))] == [
        "cluster.py"
    ]
    assert [f.name for f in STAGES if any(begins_with(n, "torch") for n in imported(f))] == []


def test_a_report_renders_without_torch():
    code = "import sys, skipgate.reporting.pages, skipgate.judging.frozen, skipgate.reporting.theory; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_files_and_functions_are_short():
    long = [
        (f.name, limit)
        for files, limit in ((SOURCES, 250), (STAGES, 60))
        for f in files
        if len(f.read_text().splitlines()) > limit
    ]
    assert long == []
    functions = [
        (file.name, node.name)
        for file in SOURCES + STAGES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > 40
    ]
    assert functions == []
