"""From a net's weights to the results of its probes, seed by seed.

A seed's result is taken from the files of an earlier run, as long as `dvc.lock` says that nobody
has edited them and they are of the same code and weights; from the vault; or else it is made now.
"""

import functools
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from skipgate import lockfile, paths
from skipgate.data.examples import Split
from skipgate.data.pixels import unscaled
from skipgate.files import Problem, json_bytes, read_json, rounded, write_json
from skipgate.nets.network import Network
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.results.by_image import parted
from skipgate.results.by_seed import Content, join, models_of, split
from skipgate.results.store import read_part
from skipgate.settings import LAYOUTS, Probes
from skipgate.specs import ProbeSpec, Spec, digest_of, pieces
from skipgate.tasks import task_of
from skipgate.training.device import prepare
from skipgate.training.job import network_of
from skipgate.training.models import fingerprint, unpack
from skipgate.training.vault import Vault

FILE = "result.json"


def resamples_for(kind: str, settings: Probes) -> int:
    """How often a probe's examples are drawn again; what is measured in seconds is not."""
    return 0 if LAYOUTS[kind].together else settings.resamples


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
        remedy = f"run: make again NET={spec.net}"
        self._weights = unpack(model, spec.digest, remedy) if model.exists() else {}
        self._prints = {seed: fingerprint(weights) for seed, weights in self._weights.items()}
        self._network = functools.lru_cache(maxsize=1)(self._built)
        self._vault = Vault(paths.vault_folder())
        folder = paths.result_file(spec.study, spec.net, "lesion").parent
        self._trusted = lockfile.is_as_written(folder)

    def result(self, kind: str) -> Content:
        """One probe's result for all seeds of the net."""
        wanted = range(self.spec.seeds)
        if LAYOUTS[kind].together:
            return self._together(kind, wanted)
        found = {s: part for s, part in self._recorded(kind).items() if s in wanted}
        for seed, part in found.items():
            if seed not in self._weights:  # nobody could make it again: it must outlive a kill
                self._keep(kind, [seed], part)
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
        current = content is not None and self._is_current(kind, content)
        if content and current and all(map(self._is_of, content["seeds"], models_of(content))):
            return content
        at_hand = [seed for seed in wanted if seed in self._weights]
        self._check(at_hand or wanted)
        first = next(pieces(at_hand, self.spec.stack))  # more would not fit side by side
        kept = self._kept(kind, first)
        return kept or self._keep(kind, first, self._probed(kind, first))

    def _from_vault(self, kind: str, seeds: Sequence[int]) -> dict[int, Content] | None:
        """What an interrupted run has found in these seeds."""
        found = {seed: self._kept(kind, [seed]) for seed in seeds}
        parts = {seed: part for seed, part in found.items() if part is not None}
        return parts if len(parts) == len(seeds) else None

    def _made(self, kind: str, seeds: Sequence[int]) -> dict[int, Content]:
        """Probe these seeds side by side, and keep what was found in each."""
        self._check(seeds)
        parts = split(kind, self._probed(kind, seeds))
        return {seed: self._keep(kind, [seed], part) for seed, part in parts.items()}

    def _keep(self, kind: str, seeds: Sequence[int], content: Content) -> Content:
        self._vault.put(self._key(kind, seeds), {FILE: json_bytes(content)})
        return content

    def _kept(self, kind: str, seeds: Sequence[int]) -> Content | None:
        """What the vault has, under this net's own name."""
        entry = self._vault.find(self._key(kind, seeds))
        if entry is None:
            return None
        return {**read_json(entry / FILE, "it is made again"), "net": self.spec.net}

    def _probed(self, kind: str, seeds: Sequence[int]) -> Content:
        settings = self.probes.settings
        network = self._network(tuple(seeds))
        examples = self._examples.test.first(settings.images_for(kind))
        recipe = self.spec.settings.recipe
        subject = Subject(
            network,
            examples,
            recipe.evaluation_batch,
            self._examples.train,
            task_of(self.spec.settings.data),
            seeds,
            resamples_for(kind, settings),
            partial(unscaled, pixels=recipe.pixels),
        )
        found: dict[str, Any] = parted(
            kind, rounded(PROBES[kind](subject, settings)), subject.resamples
        )
        return {
            "net": self.spec.net,
            "digest": self.spec.digest,
            "seeds": list(seeds),
            "models": [self._prints[seed] for seed in seeds],
            "probe_digest": self.probes.digests[kind],
            **found,
        }

    def _built(self, seeds: tuple[int, ...]) -> Network:
        return network_of(self.spec, self._weights, seeds)

    @cached_property
    def _examples(self) -> Split:
        settings = self.spec.settings
        folder = paths.data_folder(self.spec.dataset)
        recipe = settings.recipe
        return task_of(settings.data).load(folder, recipe, prepare(recipe)).used_by(recipe)

    def _key(self, kind: str, seeds: Sequence[int]) -> str:
        """By code, settings and weights; without weights at hand, by the seeds."""
        weights = digest_of([self._prints.get(seed, f"seed {seed}") for seed in seeds])
        return f"{kind}-{self.spec.digest}-{self.probes.digests[kind]}-{weights}"

    def _check(self, seeds: Sequence[int]) -> None:
        without = [str(seed) for seed in seeds if seed not in self._weights]
        if without:
            folder = paths.result_file(self.spec.study, self.spec.net, "lesion").parent
            raise Problem(
                f"{self.spec.net}: the weights of seed {', '.join(without)} are not at hand, and "
                f"{folder} has no result of the present code for them that dvc.lock records; "
                f"restore it with: git checkout -- {folder}, or run: make again "
                f"NET={self.spec.net}"
            )
