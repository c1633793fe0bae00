"""From a net's weights to the results of its probes, seed by seed.

A seed's result is taken from the files of an earlier run, as long as `dvc.lock` says that nobody
has edited them and they are of the same code and weights; from the vault; or else it is made now.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from skipgate import lockfile, paths
from skipgate.data.examples import Split
from skipgate.files import Problem, json_bytes, read_json, rounded, write_json
from skipgate.nets.network import Network
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.results.by_seed import Content, join, models_of, split
from skipgate.results.store import read_part
from skipgate.settings import LAYOUTS
from skipgate.specs import ProbeSpec, Spec, digest_of, pieces
from skipgate.tasks import task_of
from skipgate.training.device import prepare
from skipgate.training.job import network_of
from skipgate.training.models import fingerprint, unpack
from skipgate.training.vault import Vault

FILE = "result.json"


def write(folder: Path, found: Mapping[str, Content]) -> None:
    """Write all results of a net, and remove those that it no longer has."""
    for kind, content in found.items():
        write_json(folder / f"{kind}.json", content)
    for file in folder.glob("*.json"):
        if file.stem not in found:
            file.unlink()


class Probing:
    """The probes of one net."""

    def __init__(self, spec: Spec, probes: ProbeSpec) -> None:
        self.spec = spec
        self.probes = probes
        self.kinds = tuple(probes.digests)
        model = paths.model_file(spec.study, spec.net)
        self._weights = unpack(model, spec.digest, f"run: dvc repro train@{spec.net}")
        self._prints = {seed: fingerprint(weights) for seed, weights in self._weights.items()}
        self._networks: dict[tuple[int, ...], Network] = {}
        self._vault = Vault(paths.vault_folder())
        folder = paths.result_file(spec.study, spec.net, "lesion").parent
        self._trusted = lockfile.is_as_written(folder)

    def result(self, kind: str) -> Content:
        """One probe's result for all seeds of the net."""
        wanted = range(self.spec.seeds)
        if LAYOUTS[kind].together:
            return self._together(kind, wanted)
        found = {s: part for s, part in self._recorded(kind).items() if s in wanted}
        missing = [seed for seed in wanted if seed not in found]
        for seeds in pieces(missing, self.spec.stack):
            found |= self._from_vault(kind, seeds) or self._made(kind, seeds)
        return join(kind, found)

    def _recorded(self, kind: str) -> dict[int, Content]:
        """Seeds of the file that an earlier run left, if they are of this code and weights."""
        content = read_part(self.spec, kind) if self._trusted else None
        if content is None or not self._is_current(kind, content):
            return {}
        return {
            seed: part
            for seed, part in split(kind, content).items()
            if self._is_of(seed, part["models"][0])
        }

    def _is_of(self, seed: int, model: str) -> bool:
        """Whether a result is of the weights at hand; without these the digests must do."""
        return self._prints.get(seed, model) == model

    def _is_current(self, kind: str, content: Content) -> bool:
        digests = self.spec.digest, self.probes.digests[kind]
        return (content["digest"], content.get("probe_digest")) == digests

    def _together(self, kind: str, wanted: Sequence[int]) -> Content:
        """A probe that is measured on several seeds at once, and says on which."""
        content = read_part(self.spec, kind) if self._trusted else None
        if content is not None and self._is_current(kind, content):
            same = map(self._is_of, content["seeds"], models_of(content))
            if all(same) and set(content["seeds"]) <= set(wanted):
                return content
        at_hand = [seed for seed in wanted if seed in self._weights]
        self._check(at_hand or wanted)
        entry = self._vault.find(self._key(kind, at_hand))
        if entry is not None:
            kept: Content = read_json(entry / FILE, "it is made again")
            return kept
        made = self._probed(kind, at_hand)
        self._vault.put(self._key(kind, at_hand), {FILE: json_bytes(made)})
        return made

    def _from_vault(self, kind: str, seeds: Sequence[int]) -> dict[int, Content] | None:
        """What an interrupted run has found in these seeds."""
        self._check(seeds)
        entries = {seed: self._vault.find(self._key(kind, [seed])) for seed in seeds}
        if None in entries.values():
            return None
        return {s: read_json(entry / FILE, "delete it") for s, entry in entries.items() if entry}

    def _made(self, kind: str, seeds: Sequence[int]) -> dict[int, Content]:
        """Probe these seeds side by side, and keep what was found in each."""
        parts = split(kind, self._probed(kind, seeds))
        for seed, part in parts.items():
            self._vault.put(self._key(kind, [seed]), {FILE: json_bytes(part)})
        return parts

    def _probed(self, kind: str, seeds: Sequence[int]) -> Content:
        settings = self.probes.settings
        if tuple(seeds) not in self._networks:
            self._networks[tuple(seeds)] = network_of(self.spec, self._weights, seeds)
        network = self._networks[tuple(seeds)]
        examples = self._examples.test.first(settings.images_for(kind))
        batch = self.spec.settings.recipe.evaluation_batch
        task = task_of(self.spec.settings.data)
        subject = Subject(network, examples, batch, self._examples.train, task, seeds)
        found: dict[str, Any] = rounded(PROBES[kind](subject, settings))
        return {
            "net": self.spec.net,
            "digest": self.spec.digest,
            "seeds": list(seeds),
            "models": [self._prints[seed] for seed in seeds],
            "probe_digest": self.probes.digests[kind],
            **found,
        }

    @cached_property
    def _examples(self) -> Split:
        settings = self.spec.settings
        folder = paths.data_folder(self.spec.dataset)
        return task_of(settings.data).load(folder, settings.recipe, prepare(settings.recipe))

    def _key(self, kind: str, seeds: Sequence[int]) -> str:
        prints = digest_of([self._prints[seed] for seed in seeds])
        return f"{kind}-{self.probes.digests[kind]}-{prints}"

    def _check(self, seeds: Sequence[int]) -> None:
        without = [str(seed) for seed in seeds if seed not in self._weights]
        if without:
            raise Problem(
                f"{self.spec.net}: the weights of seed {', '.join(without)} are not at hand, and "
                f"their results are not of the present code; run: make again NET={self.spec.net}"
            )
