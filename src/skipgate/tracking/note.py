"""What is said of a net beside its numbers: its description in MLflow, and its verdict."""

import subprocess
from dataclasses import dataclass
from urllib.parse import urlsplit

from skipgate import paths
from skipgate.judging.judgement import Judgement
from skipgate.reporting.story import claims_of, verdicts_of
from skipgate.results.names import family, size
from skipgate.results.store import Result
from skipgate.specs import told


@dataclass(frozen=True)
class Told:
    """What a study's judgement says of its nets, and where the project is at home on the web."""

    judgement: Judgement
    home: str = ""

    def verdict(self, net: str) -> str:
        """The words of its cells; a net that no paper reports has none."""
        words = [v.word for v in self.judgement.verdicts if v.net == net]
        return ", ".join(dict.fromkeys(words))

    def note(self, result: Result) -> str:
        """The net, its numbers beside the papers', the claims it decides, and its page."""
        spec = result.spec
        page = paths.REPORTS / f"{spec.study}.md"
        where = f"[{page}]({self.home}/blob/HEAD/{page})" if self.home else f"`{page}`"
        numbers = verdicts_of(self.judgement, spec.net) or ["no paper reports its number"]
        claims = claims_of(self.judgement, spec.net) or ["none"]
        parts = [
            f"**{spec.net}**: {family(spec)}, {size(spec)}, {spec.parameters:,} parameters, "
            f"{told(range(spec.seeds))}. Its curves are means over seeds.",
            "Beside the papers:",
            _listed(numbers),
            "Claims that it decides:",
            _listed(claims),
            f"All about its study: {where}. All about it: `python -m pipeline.why {spec.net}`.",
        ]
        return "\n\n".join(parts)


def home() -> str:
    """The web address of the repository that this one was cloned from; empty where it has none.

    Names and passwords in it are left out, and so is a path on this machine.
    """
    try:
        answer = subprocess.run(
            ["git", "remote", "get-url", "origin"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    url = answer.stdout.strip().removesuffix(".git")
    if url.startswith("git@"):
        url = "https://" + url.removeprefix("git@").replace(":", "/", 1)
    parts = urlsplit(url)
    return f"https://{parts.hostname}{parts.path}" if parts.scheme in ("http", "https") else ""


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
