"""Imports point one way down an ordered list of layers, and the house rules on size hold."""

import ast
import subprocess
import sys

import pytest

from tests.toys import ROOT

PACKAGE = ROOT / "src" / "skipgate"
SOURCES = sorted(PACKAGE.rglob("*.py"))
STAGES = sorted((ROOT / "pipeline").glob("*.py"))

WITHOUT_TORCH = (
    "files",
    "lockfile",
    "paths",
    "reader",
    "cli",
    "settings",
    "variations",
    "params",
    "stages",
    "specs",
    "provenance",
    "results",
    "judging",
    "reporting",
    "progress",
)
LAYERS = (
    *WITHOUT_TORCH,
    "streams",
    "group",
    "nets",
    "foreign",
    "data",
    "tasks",
    "evaluation",
    "training",
    "compression",
    "probes",
    "theory",
    "behaviour",
    "costing",
    "tracking",
    "live",
    "fanout",
    "bench",
    "bench_convolutions",
    "bench_compiled",
    "bench_language",
    "bench_page",
)
"""Each may import what stands before it, and itself. What has no torch imports nothing that has."""


def imported(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def begins_with(name, module):
    return name == module or name.startswith(module + ".")


def layer_of(file):
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def layers_used(file):
    names = [name.split(".") for name in imported(file)]
    return {name[1] for name in names if name[0] == "skipgate" and len(name) > 1}


def test_every_folder_and_module_has_its_layer():
    found = {layer_of(file) for file in SOURCES} - {"__init__"}
    assert found == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_down_the_layers(layer):
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    files = [file for file in SOURCES if layer_of(file) == layer]
    wrong = {
        (str(file.relative_to(PACKAGE)), name)
        for file in files
        for name in layers_used(file)
        if name in LAYERS and name not in allowed
    }
    assert wrong == set()


@pytest.mark.parametrize("layer", WITHOUT_TORCH)
def test_what_reports_are_made_of_has_no_torch(layer):
    files = [file for file in SOURCES if layer_of(file) == layer]
    assert [f for f in files if any(begins_with(n, "torch") for n in imported(f))] == []


def test_no_layer_imports_the_pipeline():
    assert [f for f in SOURCES if any(begins_with(n, "pipeline") for n in imported(f))] == []


def test_only_tracking_imports_mlflow_only_the_cluster_ray_and_no_stage_torch():
    def importing(module, files):
        return [f.name for f in files if any(begins_with(n, module) for n in imported(f))]

    tracking = [file for file in SOURCES if layer_of(file) == "tracking"]
    assert set(importing("mlflow", SOURCES)) <= {file.name for file in tracking}
    assert importing("ray", SOURCES) == ["cluster.py"]
    assert importing("torch", STAGES) == []


@pytest.mark.parametrize(
    "modules",
    [
        "skipgate.reporting.pages, skipgate.judging.frozen, skipgate.reporting.theory",
        "skipgate.reporting.integrity, skipgate.reporting.story, skipgate.judging.audit",
        "skipgate.training.harvest, skipgate.training.models, skipgate.fanout.plan",
    ],
)
def test_what_is_said_to_need_no_torch_needs_none(modules):
    """Pages render anywhere, and finished seeds are put in place without waiting for PyTorch."""
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_functions_and_stages_are_short():
    assert [f.name for f in STAGES if len(f.read_text().splitlines()) > 80] == []
    functions = [
        (file.name, node.name)
        for file in SOURCES + STAGES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > 40
    ]
    assert functions == []
