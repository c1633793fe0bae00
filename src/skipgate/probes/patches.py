"""The pieces of images that excite a unit most, block by block of a stage (unrolled Figure 4)."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from skipgate.evaluation import evaluating
from skipgate.files import Problem
from skipgate.nets.block import Block
from skipgate.probes.subject import Subject
from skipgate.settings import Patches, Probes


@dataclass(frozen=True)
class Peaks:
    """Of every unit and example the largest activation and where it is, (example, unit)."""

    value: Tensor
    row: Tensor
    column: Tensor
    side: int
    """Of the map that rows and columns count in."""


@torch.no_grad()
def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Strips of pieces as pictures, as [unit][block], with the activations of the pieces.

    The units are those that respond most selectively in the stage's last block: their largest
    activation is highest above the mean of all examples' largest, in standard deviations.
    """
    chosen = settings.patches
    places = [i for i, b in enumerate(subject.network.blocks) if b.site.stage == chosen.stage]
    peaks = _peaks(subject, places)
    units = _selective(peaks[-1].value)[: chosen.units]
    images = torch.cat([subject.picture(x) for x, _ in subject.examples.in_turn(subject.batch)])
    best = [[_best(block, unit, chosen.pieces) for block in peaks] for unit in units]
    return {
        "stage": chosen.stage,
        "units": units,
        "blocks": places,
        "activations": [
            [
                block.value[of_block, unit].tolist()
                for block, of_block in zip(peaks, of, strict=True)
            ]
            for unit, of in zip(units, best, strict=True)
        ],
        "strips": [
            [
                _strip(_pieces(images, block, of_block, unit, chosen))
                for block, of_block in zip(peaks, of, strict=True)
            ]
            for unit, of in zip(units, best, strict=True)
        ],
    }


def _peaks(subject: Subject, places: Sequence[int]) -> list[Peaks]:
    found: dict[int, list[tuple[Tensor, Tensor, int]]] = {place: [] for place in places}

    def visit(place: int, block: Block, h: Tensor) -> Tensor:
        y: Tensor = block(h)
        if place in found:
            if y.ndim < 5:
                raise Problem(
                    "units of a dense network have no place in an image; leave patches out of "
                    "the kinds of its probes"
                )
            value, where = y[0].flatten(2).max(2)
            found[place].append((value, where, y.shape[-1]))
        return y

    network = subject.network
    with evaluating(network):
        for x, _targets in subject.batches():
            network.follow(network.stem(x), visit)
    peaks = []
    for batches in found.values():
        values, places_of, sides = zip(*batches, strict=True)
        value = torch.cat(values)
        where = torch.cat(places_of)
        side = sides[0]
        peaks.append(Peaks(value, where // side, where % side, side))
    return peaks


def _selective(value: Tensor) -> list[int]:
    """Units from the most selective on; one that never responds comes last."""
    spread = value.std(0, correction=0)
    above = (value.max(0).values - value.mean(0)) / spread
    ranked: list[int] = torch.where(spread > 0, above, -1.0).argsort(descending=True).tolist()
    return ranked


def _best(peaks: Peaks, unit: int, pieces: int) -> list[int]:
    """The examples that excite a unit most."""
    order: list[int] = peaks.value[:, unit].argsort(descending=True, stable=True).tolist()
    return order[:pieces]


def _pieces(
    images: Tensor, peaks: Peaks, examples: Sequence[int], unit: int, settings: Patches
) -> list[Tensor]:
    """Squares around the peaks, moved into the image where they would reach over its edge."""
    found = []
    for example in examples:
        corner = [
            _corner(int(where[example, unit]), peaks.side, length, settings.side)
            for where, length in zip((peaks.row, peaks.column), images.shape[2:], strict=True)
        ]
        rows, columns = (slice(start, start + settings.side) for start in corner)
        found.append(images[example][:, rows, columns])
    return found


def _corner(where: int, cells: int, length: int, side: int) -> int:
    """Where a piece begins whose middle is that of a cell."""
    middle = (where + 0.5) * length / cells
    return int(min(max(middle - side / 2, 0), max(length - side, 0)))


def _strip(pieces: Sequence[Tensor]) -> str:
    """The pieces side by side as a small picture, in characters."""
    from PIL import Image  # slow to import, and only needed here

    row = (255 * torch.cat(list(pieces), 2)).round().clamp(0, 255)
    pixels = row.permute(1, 2, 0).to(torch.uint8).cpu().numpy()
    rgb = np.repeat(pixels, 3, 2) if pixels.shape[2] == 1 else pixels
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=85)
    return base64.b64encode(buffer.getvalue()).decode()
