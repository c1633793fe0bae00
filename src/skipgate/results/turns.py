"""Something that is on or off in every epoch, as the epochs at which it turns; it begins off.

`[12, 15, 40]` is on from 12 to 14 and from 40 to the end: of hundreds of blocks over a thousand
epochs, little is left.
"""

from collections.abc import Sequence


def extend(turns: list[int], epoch: int, *, on: bool) -> None:
    """Add what holds at an epoch that comes after all others."""
    if on != is_on(turns):
        turns.append(epoch)


def is_on(turns: Sequence[int], epoch: int | None = None) -> bool:
    """Whether it is on at an epoch, or after all that are known."""
    return sum(epoch is None or turn <= epoch for turn in turns) % 2 == 1


def by_epoch(turns: Sequence[int], epochs: int) -> list[bool]:
    """Whether it is on at each epoch."""
    return [is_on(turns, epoch) for epoch in range(epochs)]
