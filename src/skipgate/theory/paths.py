"""Paths through a residual network (Veit et al. 2016, in the lecture).

A path goes through each block or around it. n blocks make C(n, l) paths of length l and 2^n in
all; deleting m blocks leaves the paths that go around all m, a share of 2^-m.
"""

import math
from itertools import product
from typing import Any

BLOCKS = (3, 25, 50, 54)
"""The lecture's example, its MNIST network, gresnet's d = 100, and ResNet-110."""
COUNTED = 10
"""Blocks of the network whose paths are counted one by one."""
CENTRE = 0.95


def study() -> dict[str, Any]:
    """Paths by length, and the shares lost with deleted blocks, by formula and by counting."""
    flat: dict[str, Any] = {}
    for n in BLOCKS:
        shortest, longest = central(n)
        flat |= {f"paths {n}": 2**n, f"mean length {n}": n / 2, f"central {n}": [shortest, longest]}
    return {
        **flat,
        "by length": {str(n): [math.comb(n, length) for length in range(n + 1)] for n in BLOCKS},
        "counted by length": counted(COUNTED),
        "formula by length": [math.comb(COUNTED, length) for length in range(COUNTED + 1)],
        "removed": [1 - 0.5**m for m in range(COUNTED + 1)],
        "counted removed": [counted_removed(COUNTED, m) for m in range(COUNTED + 1)],
        "terms of the lecture": BLOCKS[0] + 1,
    }


def counted(n: int) -> list[int]:
    """Paths by length, found by enumeration."""
    lengths = [sum(path) for path in product((0, 1), repeat=n)]
    return [lengths.count(length) for length in range(n + 1)]


def counted_removed(n: int, m: int) -> float:
    """The share of paths that go through at least one of m blocks, found by enumeration."""
    return sum(any(path[:m]) for path in product((0, 1), repeat=n)) / float(2**n)


def central(n: int) -> tuple[int, int]:
    """The shortest range of lengths about the mean that holds 95% of all paths."""
    middle = n / 2
    reach = 0
    while (
        sum(math.comb(n, length) for length in range(n + 1) if abs(length - middle) <= reach)
        < CENTRE * 2**n
    ):
        reach += 1
    return math.ceil(middle - reach), math.floor(middle + reach)
