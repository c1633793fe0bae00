"""The character-aware language model of Kim et al. 2015."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from skipgate.reader import between, positive
from skipgate.settings.body import Body, Init

TWIN_UNITS = 4
TWIN_MAPS = 2


@dataclass(frozen=True)
class Character(Body):
    """A word from its characters: embedding, convolutions, `layers` blocks, LSTMs, softmax.

    A convolution has a number of maps for each width, tanh, and the maximum over the word. A block
    has one dense layer with ReLU as F. Dropout is on what leaves an LSTM, upwards only.
    """

    reads_text: ClassVar[bool] = True

    kind: Literal["character"]
    layers: int
    units: int
    maps: tuple[int, ...]
    """Of the convolutions of width 1, 2, ..."""
    embedding: int = 15
    recurrent: int = 2
    """Layers of LSTM."""
    dropout: float = 0.5
    init: Init = "uniform-all"

    def __post_init__(self) -> None:
        positive(
            layers=self.layers,
            units=self.units,
            embedding=self.embedding,
            recurrent=self.recurrent,
            **{"the maps of a width": min(self.maps, default=0)},
        )
        between(0, 0.99, dropout=self.dropout)

    @property
    def size(self) -> str:
        return f"{self.units} units"

    @property
    def width(self) -> int:
        """Of a block."""
        return sum(self.maps)

    def shallow(self) -> Self:
        return replace(
            self,
            layers=min(self.layers, 2),
            units=min(self.units, TWIN_UNITS),
            maps=tuple(min(count, TWIN_MAPS) for count in self.maps),
        )
