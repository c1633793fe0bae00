"""The processes that train a net together, as `torchrun` starts them.

Each has a share of every batch. Without `torchrun` there is one, which leads and has everything:
nothing is sent, and nothing is waited for.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, distributed

from skipgate.files import Problem

PATIENCE = timedelta(minutes=30)
"""How long a process waits for another that is alive and does not answer."""
BACKENDS = "cpu:gloo,cuda:nccl"
"""What tensors travel by, depending on where they lie."""

T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """What one of several has of what is shared out."""

    rank: int = 0
    count: int = 1

    def rows(self, whole: int) -> slice:
        """Its examples in a batch of `whole`; no two processes differ by more than one."""
        return slice(whole * self.rank // self.count, whole * (self.rank + 1) // self.count)


EVERYTHING = Share()


@dataclass(frozen=True)
class Group:
    """The processes of one training, as one of them sees them.

    All must call the same methods in the same order.
    """

    share: Share = EVERYTHING
    place: int = 0
    """Of this process among those of its machine: which GPU it takes."""

    @property
    def alone(self) -> bool:
        """Whether there is one process only."""
        return self.share.count == 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that decides and writes."""
        return self.share.rank == 0

    @property
    def record(self) -> dict[str, int]:
        """How many they are, for what is written; nothing where there is one."""
        return {} if self.alone else {"processes": self.share.count}

    def decided(self, find: Callable[[], T]) -> T:
        """What the leader finds; the others do not look."""
        if self.alone:
            return find()
        found = [find() if self.leads else None]
        with _answers():
            distributed.broadcast_object_list(found, src=0)
        return cast(T, found[0])

    def average(self, tensors: Sequence[Tensor], examples: int) -> None:
        """Give all processes the mean of these tensors, weighted by how many examples each had.

        They travel as one, with the number of examples at its end.
        """
        if self.alone:
            return
        count = tensors[0].new_full((1,), examples)
        joined = torch.cat([*(tensor.flatten() * examples for tensor in tensors), count])
        self.add_up([joined])
        means = (joined[:-1] / joined[-1]).split([tensor.numel() for tensor in tensors])
        for tensor, mean in zip(tensors, means, strict=True):
            tensor.copy_(mean.view_as(tensor))

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Give all processes the sums of these tensors."""
        if self.alone:
            return
        for tensor in tensors:
            with _answers():
                distributed.all_reduce(tensor)

    def total(self, number: int) -> int:
        """The sum of what all processes have."""
        if self.alone:
            return number
        found = torch.tensor(number)
        self.add_up([found])
        return int(found)

    def follow(self, tensors: Sequence[Tensor]) -> None:
        """Give all processes what the leader has in these tensors."""
        if self.alone:
            return
        for tensor in tensors:
            with _answers():
                distributed.broadcast(tensor, src=0)

    def agree(self, values: Mapping[str, Any]) -> None:
        """Refuse to go on where processes differ in anything of this."""
        if self.alone:
            return
        found: list[Any] = [None] * self.share.count
        with _answers():
            distributed.all_gather_object(found, dict(values))
        for name in values:
            told = list(dict.fromkeys(str(each[name]) for each in found))
            if len(told) > 1:
                raise Problem(
                    f"the processes of this training differ in their {name} ({', '.join(told)}); "
                    "start all with the same command, code and kind of machine"
                )


ALONE = Group()


@contextmanager
def joined() -> Iterator[Group]:
    """The group that `torchrun` has started this process in; without it, one that is alone."""
    if not distributed.is_torchelastic_launched() or _said("WORLD_SIZE") == 1:
        yield ALONE
        return
    with _answers():
        distributed.init_process_group(
            BACKENDS if torch.cuda.is_available() else "gloo", timeout=PATIENCE
        )
    group = Group(Share(_said("RANK"), _said("WORLD_SIZE")), _said("LOCAL_RANK"))
    yield group
    group.total(0)  # none leaves while another may still ask it something
    distributed.destroy_process_group()


def processes_here() -> int:
    """How many processes of this training share this machine."""
    return _said("LOCAL_WORLD_SIZE") if distributed.is_torchelastic_launched() else 1


def _said(name: str) -> int:
    """A number that `torchrun` has put into the environment."""
    return int(os.environ[name])


@contextmanager
def _answers() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise Problem(
            "another process of this training has ended or does not answer; the same command goes "
            "on from the last checkpoint"
        ) from error
