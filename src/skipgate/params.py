"""`params.yaml` as a whole: what is in it, and that its parts refer to each other."""

import math
import re
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from skipgate import paths
from skipgate.files import Problem, read_yaml
from skipgate.reader import nearest, positive, read
from skipgate.settings import (
    Augment,
    Body,
    Classify,
    FixedPixels,
    GateChoice,
    Given,
    Gpu,
    Handling,
    Measure,
    Probes,
    Recipe,
    Source,
    TaskSettings,
    Weights,
)
from skipgate.variations import labelled, varied

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
NOT_SAID = {"study", "base", "choices"}
"""What follows from where a net stands."""
NEED_ALL = ("centred", "standardised", "centred-128")
"""Pixels that are scaled by what the whole training set has."""


@dataclass(frozen=True)
class Net:
    """A body with a pair of gates, trained by a recipe over `seeds` seeds."""

    study: str
    data: str
    body: str
    recipe: str
    seeds: int
    T: GateChoice = field(default_factory=lambda: GateChoice("constant"))
    C: GateChoice = field(default_factory=lambda: GateChoice("constant"))
    probes: str = "usual"
    stack: int = 5
    """How many seeds are trained side by side; it decides last bits, not what a net is."""
    start: str = ""
    """Weights that somebody else has trained: an entry of `weights`, or a file of the user's."""
    base: str = ""
    """The net that this one is a variation of."""
    choices: tuple[str, ...] = ()
    """What is changed of that net, by name."""

    def __post_init__(self) -> None:
        positive(seeds=self.seeds, stack=self.stack)


@dataclass(frozen=True)
class StudySettings:
    """A group of nets reported on one page."""

    title: str
    about: str
    cost: str
    rule: Literal["last", "best", "validation"]
    """Which epoch a number is read at; the papers name none."""
    deviation: str = ""
    """Why its numbers are not comparable with the papers'; empty if they are."""
    frozen_seeds: int = 0
    """How many seeds `make freeze` trains for the frozen numbers; 0 freezes those reported."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """What its nets have, unless their own line says otherwise."""


@dataclass(frozen=True)
class Params:
    """The whole file."""

    data: dict[str, TaskSettings]
    sources: dict[str, Source]
    recipes: dict[str, Handling]
    bodies: dict[str, Body]
    probes: dict[str, Probes]
    studies: dict[str, StudySettings]
    nets: dict[str, Net]
    gpu: Gpu
    """By which the cost of nets that need one is estimated."""
    weights: dict[str, Weights] = field(default_factory=dict)
    variations: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Changes by name, each a path into what a net is made of with its value."""

    def weights_of(self, net: str) -> Weights:
        """Where the weights may be had of a net that somebody else has trained."""
        start = self.nets[net].start
        return self.weights.get(start, Weights(start))

    def needs_gpu(self, net: str) -> bool:
        """Whether a net is not to be trained without a GPU."""
        return self.recipes[self.nets[net].recipe].device == "cuda"

    def examples_of(self, net: str) -> int:
        """How many its training goes through in an epoch, as its settings say."""
        found = self.said_examples_of(net)
        if not found:
            where = f"params.recipes.{self.nets[net].recipe}.images"
            raise Problem(f"{where}: say how many, so that the cost of the net can be estimated")
        return found

    def said_examples_of(self, net: str) -> int:
        """The same; 0 where nothing but the data themselves says it."""
        line = self.nets[net]
        recipe = self.recipes[line.recipe]
        data = self.data[line.data]
        asked = (recipe.images, recipe.validation) if isinstance(recipe, Recipe) else (0, 0)
        known = asked[0] or getattr(data, "train", 0)
        return int(known) - asked[1] if known else 0

    def nets_of(self, study: str) -> dict[str, Net]:
        """The nets of one study, in the file's order."""
        return {name: net for name, net in self.nets.items() if net.study == study}

    def measure_of(self, study: str) -> Measure:
        """What the nets of a study are judged by."""
        found = [self.data[net.data].measure for net in self.nets_of(study).values()]
        if found:
            # Nets of one study may guess among more or fewer classes.
            alike = len({measure.guessing for measure in found}) == 1
            return found[0] if alike else replace(found[0], guessing=math.nan)
        raise Problem(f"params.nets: the study '{study}' has no nets; add one or drop the study")


def load(file: Path = paths.PARAMS) -> Params:
    """Read `params.yaml`; whatever does not fit is refused by its path."""
    raw = read_yaml(file)
    if isinstance(raw, dict):
        raw = dict(raw)
        raw["nets"] = _expanded(raw)
    params: Params = read(Params, raw, file.stem)
    _check_names(params)
    _check_data(params)
    _check_nets(params)
    return params


def _expanded(raw: dict[str, Any]) -> Any:
    """Every net by its name, with its study and the defaults of that study filled in.

    Variations are nets too; what they are made of is added to `raw`.
    """
    by_study = raw.get("nets")
    studies = raw.get("studies")
    if not isinstance(by_study, dict) or not isinstance(studies, dict):
        return by_study
    found: dict[str, Any] = {}
    elsewhere = []
    for study, nets in by_study.items():
        if study not in studies:
            raise Problem(f"params.nets: there is no study '{study}'; {nearest(study, studies)}")
        if not isinstance(nets, dict):
            raise Problem(f"params.nets.{study}: expected keys and values, found {nets!r}")
        defaults = {**_defaults(studies[study], study), "study": study}
        for name, net in nets.items():
            own = dict(net) if isinstance(net, dict) else {"body": net}
            if own.keys() == {"vary"}:
                elsewhere.append((name, defaults, own["vary"]))
            else:
                vary = own.pop("vary", [])
                _add(found, study, name, {**defaults, **own})
                _vary(raw, found, name, found[name], vary)
    # Of a net that stands in another study, only the variations are nets of this one.
    for name, defaults, vary in elsewhere:
        if name not in found:
            where = f"params.nets.{defaults['study']}.{name}"
            raise Problem(f"{where}: there is no such net to vary; {nearest(name, found)}")
        _vary(raw, found, name, {**found[name], **defaults}, vary)
    return found


def _add(found: dict[str, Any], study: str, name: str, net: dict[str, Any]) -> None:
    for key in net.keys() & {"base", "choices"}:
        raise Problem(f"params.nets.{study}.{name}.{key}: a net does not say this itself")
    if name in found:
        raise Problem(f"params.nets.{study}: the net '{name}' stands twice; rename one")
    if net["study"] != study:
        raise Problem(f"params.nets.{study}.{name}.study: nets stand under their study")
    found[name] = net


def _vary(
    raw: dict[str, Any], found: dict[str, Any], name: str, net: dict[str, Any], vary: Any
) -> None:
    """Add the variations of a net."""
    study = net["study"]
    where = f"params.nets.{study}.{name}.vary"
    for label, choices, changes in labelled(vary, raw.get("variations"), where):
        new = f"{name}-{label}"
        _add(found, study, new, varied(raw, new, net, changes, f"{where}.{label}"))
        found[new] |= {"base": name, "choices": list(choices)}


def _defaults(settings: Any, study: str) -> dict[str, Any]:
    """What a study gives its nets; a key that nets have not got is refused where it stands."""
    defaults = (settings.get("defaults") or {}) if isinstance(settings, dict) else {}
    if not isinstance(defaults, dict):
        raise Problem(f"params.studies.{study}.defaults: expected keys and values")
    known = {field.name for field in fields(Net)} - NOT_SAID
    for key in defaults:
        if key not in known:
            where = f"params.studies.{study}.defaults.{key}"
            raise Problem(f"{where}: unknown key; {nearest(str(key), known)}")
    return defaults


def _check_names(params: Params) -> None:
    """Names become file names and words of a command, so they are plain."""
    sections = ("data", "sources", "recipes", "bodies", "nets", "probes", "studies", "weights")
    for section in sections:
        for name in getattr(params, section):
            if not isinstance(name, str) or not NAME.fullmatch(name):
                raise Problem(
                    f"params.{section}: the name {name!r} must be of small letters, digits and "
                    "single hyphens"
                )


def _check_data(params: Params) -> None:
    """Every data set has a source, and something that says what its content is."""
    for name in params.data.keys() - params.sources.keys():
        raise Problem(f"params.sources: the data set '{name}' has no source; add it")
    for name in params.sources.keys() - params.data.keys():
        raise Problem(f"params.sources.{name}: there is no such data set; add it under data")
    for name, content in params.data.items():
        if not content.identity:
            raise Problem(
                f"params.data.{name}: nothing says what its content is; give sha256, or the md5 of "
                "every official file where nobody could record that"
            )


def _check_nets(params: Params) -> None:
    """References must lead somewhere, and what a net is made of must go together."""
    for name, net in params.nets.items():
        _check_references(params, name, net)
        _check_start(params, name, net)
        _check_pixels(params, name, net)
        _check_colours(params, name, net)
        _check_text(params, name, net)
        _check_schedule(params, name, net)
        if params.data[net.data].measure.key != params.measure_of(net.study).key:
            raise Problem(
                f"params.nets.{name}: the study '{net.study}' is judged by "
                f"{params.measure_of(net.study).label}; put this net into another study"
            )


def _check_schedule(params: Params, name: str, net: Net) -> None:
    recipe = params.recipes[net.recipe]
    if isinstance(recipe, Recipe) and recipe.schedule.by_seed and net.stack > 1:
        raise Problem(
            f"params.nets.{name}: the schedule '{recipe.schedule.kind}' looks at a seed's own "
            "results, which seeds in one stack do not share; set stack: 1"
        )


def _check_start(params: Params, name: str, net: Net) -> None:
    """A net is trained, or comes with its weights."""
    given = isinstance(params.recipes[net.recipe], Given)
    if given != bool(net.start):
        raise Problem(
            f"params.nets.{name}: a net with a recipe of the kind 'given', and no other, says in "
            "`start` whose weights it has"
        )
    if given and net.seeds != 1:
        raise Problem(f"params.nets.{name}.seeds: one trained network is one draw; set seeds: 1")
    if net.start and net.start not in params.weights and NAME.fullmatch(net.start):
        known = nearest(net.start, params.weights)
        raise Problem(
            f"params.nets.{name}.start: there are no weights '{net.start}'; {known} A file of "
            "your own has a dot or a slash in its path"
        )


def _check_pixels(params: Params, name: str, net: Net) -> None:
    """Fixed pixels have a number for all channels, or one for each; streamed ones are fixed."""
    pixels = params.recipes[net.recipe].pixels
    content = params.data[net.data]
    channels = content.shape[0]
    if isinstance(content, Classify) and content.streamed and pixels in NEED_ALL:
        raise Problem(
            f"params.recipes.{net.recipe}.pixels: '{pixels}' takes all training images at once, "
            f"and those of {name} are streamed; give fixed pixels, with mean and deviation"
        )
    if isinstance(pixels, FixedPixels):
        for word in ("mean", "deviation"):
            found = len(getattr(pixels, word))
            if found not in (1, channels):
                raise Problem(
                    f"params.recipes.{net.recipe}.pixels.{word}: the images of {name} have "
                    f"{channels} channels and this has {found} numbers; give one, or one for each"
                )


def _check_colours(params: Params, name: str, net: Net) -> None:
    """Jitter and lighting are of colours."""
    recipe = params.recipes[net.recipe]
    if not isinstance(recipe, Recipe) or params.data[net.data].shape[0] == 3:
        return
    for word in ("jitter", "lighting"):
        if getattr(recipe.augment, word) != getattr(Augment(), word):
            raise Problem(
                f"params.recipes.{net.recipe}.augment.{word}: the images of {name} have no "
                "colours; leave it out"
            )


def _check_text(params: Params, name: str, net: Net) -> None:
    """Bodies that read words are for texts, and no others are."""
    body = params.bodies[net.body]
    if bool(params.data[net.data].symbols) != body.reads_text:
        raise Problem(
            f"params.nets.{name}: the body '{net.body}' reads "
            f"{'text' if body.reads_text else 'no text'}, and '{net.data}' is "
            f"{'none' if body.reads_text else 'one'}; change one of the two"
        )


def _check_references(params: Params, name: str, net: Net) -> None:
    for key, known in (
        ("data", params.data),
        ("body", params.bodies),
        ("recipe", params.recipes),
        ("probes", params.probes),
    ):
        word = getattr(net, key)
        if word not in known:
            raise Problem(f"params.nets.{name}.{key}: there is no '{word}'; {nearest(word, known)}")
