"""Which gates a net has."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skipgate.files import Problem
from skipgate.reader import nearest, words_in

GATES = words_in(Path(__file__).parents[1] / "nets" / "gates")


@dataclass(frozen=True)
class GateChoice:
    """A gate by the name of its file in `nets/gates/`, with settings for its constructor."""

    gate: str
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_plain(cls, value: Any, path: str) -> "GateChoice":
        """Read `scalar`, `{gate: sigmoid, bias: -2}`, or a number, which is a constant gate."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return cls("constant", {"value": value})
        settings = dict(value) if isinstance(value, dict) else {"gate": value}
        word = settings.pop("gate", None)
        if word not in GATES:
            raise Problem(
                f"{path}: there is no gate {word!r} in nets/gates; {nearest(str(word), GATES)}"
            )
        return cls(word, settings)

    def to_plain(self) -> dict[str, Any]:
        """The same in the form that `from_plain` reads."""
        return {"gate": self.gate, **self.settings}
