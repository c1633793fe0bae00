"""A small copy of the project to run real commands in."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from tests.toys import ROOT

NETS = ("residual-2", "gated-2")


class Project:
    """A copy of the project with two small nets, and commands run in it."""

    def __init__(self, folder: Path, epochs: int = 3) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}
        for name in ("src", "pipeline", "papers"):
            shutil.copytree(
                ROOT / name,
                folder / name,
                ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
            )
        for name in ("dvc.yaml", "params.yaml", "requirements.lock", ".gitignore"):
            shutil.copy(ROOT / name, folder)
        (folder / "frozen").mkdir()
        (folder / "README.md").write_text("<!-- verdicts -->\n<!-- /verdicts -->\n")

        def shrink(settings):
            nets = settings["nets"]["digits"]
            settings["nets"] = {"digits": {net: nets[net] for net in NETS}}
            settings["studies"]["digits"]["defaults"]["seeds"] = 2
            settings["studies"]["digits"]["frozen_seeds"] = 3
            settings["studies"] = {"digits": settings["studies"]["digits"]}
            settings["recipes"]["digits-dense"]["epochs"] = epochs

        self.edit_params(shrink)
        for file in (folder / "papers").glob("*.yaml"):
            file.write_text(yaml.safe_dump(_without_nets(yaml.safe_load(file.read_text()))))

    def edit_params(self, change) -> None:
        file = self.folder / "params.yaml"
        settings = yaml.safe_load(file.read_text())
        change(settings)
        file.write_text(yaml.safe_dump(settings, sort_keys=False))
        self.stage("stages", code=None)

    def start(self, *words: str, output: int = subprocess.PIPE) -> subprocess.Popen[str]:
        bin_folder = Path(sys.executable).parent
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "DVC_NO_ANALYTICS": "1",
            **self.environment,
        }
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            # A shell that runs the tests in the background has them ignore Ctrl-C, and children
            # would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, *words: str, code: int | None = 0) -> str:
        process = self.start(*words)
        output, _ = process.communicate(timeout=300)
        assert code is None or process.returncode == code, output
        return output

    def stage(self, name: str, *words: str, code: int | None = 0) -> str:
        return self.run("python", "-m", f"pipeline.{name}", *words, code=code)

    def repro(self, target: str) -> list[str]:
        """The stages that `dvc repro` ran."""
        output = self.run("dvc", "repro", target)
        return [
            line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")
        ]

    def fanout(self, *words: str, code: int = 0) -> str:
        return self.stage("fanout", "report@digits", *words, code=code)

    def spec(self, net: str) -> dict:
        return json.loads((self.folder / "specs" / f"{net}.json").read_text())

    def result(self, net: str, kind: str) -> dict:
        return json.loads(self.result_file(net, kind).read_text())

    def result_file(self, net: str, kind: str) -> Path:
        known = (self.folder / "specs" / f"{net}.json").exists()
        study = self.spec(net)["study"] if known else "digits"
        folder = self.folder / "results" / study / net
        return (folder if kind in ("train", "run") else folder / "probes") / f"{kind}.json"


def copied(project: Project, folder: Path) -> Project:
    """A copy of a project with all that it has made so far."""
    shutil.copytree(project.folder, folder, symlinks=True)
    return at(folder)


def at(folder: Path) -> Project:
    """The project that lies in a folder already."""
    made = Project.__new__(Project)
    made.folder = folder
    made.environment = {}
    return made


def _without_nets(paper: dict) -> dict:
    """A paper that names no net and no setting but those of a small copy."""
    for table in paper["tables"].values():
        for cell in table["cells"]:
            cell["nets"] = [net for net in cell.get("nets", ()) if net in NETS]
            cell.pop("setting", None)
        if table["kind"] == "measured":
            table["needs"] = "nets that are not in this copy"
    for claim in paper.get("claims", {}).values():
        claim.pop("judged_on", None)
    for protocol in paper.get("protocols", {}).values():
        for statement in protocol["statements"]:
            statement.pop("setting", None)
    return paper
