"""One gate per file; the file's name is the word that `params.yaml` uses for it."""

import inspect
import typing

from skipgate.files import Problem
from skipgate.nets.gate import Gate, Slot
from skipgate.reader import class_in, construct
from skipgate.settings import GateChoice


def make(choice: GateChoice, slot: Slot, place: str, path: str) -> Gate:
    """The chosen gate for this slot; its settings are read strictly against its constructor."""
    kind = _class_in(choice.gate)
    where = f"{path}.{place}"
    if place not in kind.places:
        raise Problem(
            f"{where}: the gate '{choice.gate}' cannot stand here, only under "
            f"{' or '.join(kind.places)}"
        )
    hints = typing.get_type_hints(kind.__init__)
    options = _options(kind)
    for name in options.keys() - hints.keys():
        raise Problem(f"{_file(choice.gate)}: the option '{name}' needs a type")
    required = {name for name, default in options.items() if default is inspect.Parameter.empty}
    build: typing.Any = kind
    gate: Gate = construct(
        lambda **values: build(slot, **values),
        {name: hints[name] for name in options},
        required,
        choice.settings,
        where,
    )
    return gate


def filled(choice: GateChoice) -> GateChoice:
    """The same choice with the gate's defaults written out."""
    defaults = {
        name: d
        for name, d in _options(_class_in(choice.gate)).items()
        if d is not inspect.Parameter.empty
    }
    return GateChoice(choice.gate, {**defaults, **choice.settings})


def _options(kind: type[Gate]) -> dict[str, typing.Any]:
    """The settings a gate takes, with their defaults."""
    return {
        p.name: p.default for p in inspect.signature(kind).parameters.values() if p.name != "slot"
    }


def _class_in(word: str) -> type[Gate]:
    kind: type[Gate] = class_in(f"{__name__}.{word}", Gate)
    return kind


def _file(word: str) -> str:
    return f"nets/gates/{word}.py"
