"""How much the probes draw.

Each probe has its own part, so that a change of one does not repeat the others.
"""

import math
from dataclasses import dataclass, field

from skipgate.reader import between, later, nearest, positive


@dataclass(frozen=True)
class Layout:
    """How a probe's result is laid out: the seed is the last axis of all that is not shared."""

    shared: tuple[str, ...] = ()
    """Keys that are the same for every seed."""
    rows: tuple[str, ...] = ()
    """Keys of lists that run side by side, where seeds may have rows that others lack."""
    together: bool = False
    """Measured on several seeds at once: one seed's part cannot be told from it."""


LAYOUTS: dict[str, Layout] = {
    "gates": Layout(),
    "lesion": Layout(shared=("stage",)),
    "prune": Layout(),
    "shuffle": Layout(shared=("swaps", "tau")),
    "estimation": Layout(shared=("stage",)),
    "paths": Layout(shared=("removed", "cut"), rows=("removed", "cut", "errors")),
    "speed": Layout(together=True),
    "response": Layout(shared=("stage",)),
    "patches": Layout(shared=("stage", "units", "blocks", "activations", "strips")),
    "identity": Layout(shared=("stage", "training", "images", "alone")),
    "words": Layout(shared=("classes", "counts", "unigram", "queries")),
}
"""Every probe, in the order in which they run; each is the file of that name in `probes`."""
USUAL = ("gates", "lesion", "prune", "shuffle", "estimation", "paths", "speed")
"""Those that a net gets unless its settings name others."""


@dataclass(frozen=True)
class Pruning:
    """Removing blocks one after the other."""

    orders: int = 3
    """Random ones, each shared by all seeds."""
    greedy_images: int = 0
    """Training examples by which greedy pruning chooses.

    0 leaves it out, as it takes a pass for every pair of blocks.
    """

    def __post_init__(self) -> None:
        positive(orders=self.orders)


@dataclass(frozen=True)
class Shuffling:
    """Blocks that trade places."""

    draws: int = 8
    """Orders after more and more swaps; a quarter as many whole shuffles come on top."""

    def __post_init__(self) -> None:
        if self.draws < 2:
            raise ValueError(
                f"draws must be at least 2, found {self.draws}: the first is the trained order"
            )


@dataclass(frozen=True)
class Estimating:
    """Estimation errors, which take one pass only."""

    images: int = 0
    """How many test examples, from the first, are taken; 0 means all."""
    sums: bool = later(False)
    """Whether errors are taken before the last ReLU of a block as well."""


@dataclass(frozen=True)
class Patches:
    """Pieces of images that excite a unit most."""

    stage: int = 0
    """From 0."""
    units: int = 4
    pieces: int = 9
    """For each unit and block, each out of another image."""
    side: int = 48
    """Pixels of a piece."""

    def __post_init__(self) -> None:
        positive(units=self.units, pieces=self.pieces, side=self.side)


PATCHES = Patches()


@dataclass(frozen=True)
class Identities:
    """Blocks that are strict identities, and the network without them."""

    alone: int = 1000
    """Test examples, from the first, that are also predicted one at a time; 0 means all."""

    def __post_init__(self) -> None:
        between(0, math.inf, alone=self.alone)


IDENTITIES = Identities()


@dataclass(frozen=True)
class Reading:
    """Words of a language model, by class and by likeness."""

    frequent: int = 100
    """How many of the most frequent words are called so."""
    rare: int = 10
    """How often, at most, a rare word was trained on."""
    queries: tuple[str, ...] = ()
    """Words whose nearest are looked for, as far as the vocabulary has them."""
    nearest: int = 3

    def __post_init__(self) -> None:
        positive(frequent=self.frequent, rare=self.rare, nearest=self.nearest)


READING = Reading()


@dataclass(frozen=True)
class PathSampling:
    """Paths through the blocks."""

    draws: int = 8
    """Paths of each length per seed.

    There are an eighth as many networks for each number of lost blocks and shortcuts.
    """
    images: int = 64
    """Test examples whose gradient is followed, in one batch.

    They are as many as a gate that looks at whole batches is tested on.
    """
    lost: int = 3
    """The most blocks, and the most shortcuts, that are lost."""

    def __post_init__(self) -> None:
        positive(draws=self.draws, images=self.images, lost=self.lost)


@dataclass(frozen=True)
class Probes:
    """Which probes a net gets, and how much each draws."""

    images: int = 0
    """How many test examples, from the first, are probed on; 0 means all."""
    kinds: tuple[str, ...] = USUAL
    """Which probes a net gets."""
    prune: Pruning = field(default_factory=Pruning)
    shuffle: Shuffling = field(default_factory=Shuffling)
    estimation: Estimating = field(default_factory=Estimating)
    paths: PathSampling = field(default_factory=PathSampling)
    patches: Patches = later(PATCHES)  # noqa: RUF009  a frozen one
    identity: Identities = later(IDENTITIES)  # noqa: RUF009  a frozen one
    words: Reading = later(READING)  # noqa: RUF009
    whole: tuple[str, ...] = later(())
    """Probes that take the whole test set, whatever `images` says."""
    resamples: int = later(0)
    """How often the test examples are drawn again, with replacement (Efron's bootstrap).

    For networks of which there is one: what is uncertain then is which images it was tested on.
    """

    def __post_init__(self) -> None:
        if not self.kinds:
            raise ValueError("kinds is empty: name the probes that a net gets")
        for kind in (*self.kinds, *self.whole):
            if kind not in LAYOUTS:
                raise ValueError(f"there is no probe {kind!r}; {nearest(kind, LAYOUTS)}")

    def images_for(self, kind: str) -> int:
        """How many test examples a probe takes."""
        if kind in self.whole:
            return 0
        return self.estimation.images if kind == "estimation" else self.images
