"""What a change moved, in Markdown: nets whose numbers are others, verdicts and answers too."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skipgate.reporting.markdown import markdown
from skipgate.settings import MEAN_GATE

BESIDE = ("low", "high", "seeds", "diverged", MEAN_GATE.name)
"""What a net's metrics have beside the mean of its measure."""


@dataclass(frozen=True)
class Told:
    """What the reports of all studies told at one time, by study."""

    metrics: dict[str, dict[str, Any]]
    records: dict[str, dict[str, Any]]


def moved(old: Told, new: Told, since: str) -> str:
    """A section for each study in which something moved, or one sentence."""
    studies = dict.fromkeys((*new.records, *old.records))
    sections = [section for study in studies if (section := _study(old, new, study))]
    if not old.metrics:
        sections.insert(0, f"There are no metrics at {since}: every number is new.")
    return "\n\n".join(sections) or f"No number and no verdict has moved since {since}."


def _study(old: Told, new: Told, study: str) -> str:
    nets = _nets(*(told.metrics.get(study, {}).get("nets", {}) for told in (old, new)))
    records = [told.records.get(study, {}) for told in (old, new)]
    words = [
        *_words(*(_by(record, "cells", "word") for record in records)),
        *_words(*(_by(record, "claims", "answer") for record in records)),
    ]
    parts = [f"### {study}", markdown(nets) if nets else "", "\n".join(words)]
    return "\n\n".join(part for part in parts if part) if nets or words else ""


def _nets(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, object]]:
    return [
        {"net": f"`{net}`", "before": _told(old.get(net)), "after": _told(new.get(net))}
        for net in dict.fromkeys((*new, *old))
        if old.get(net) != new.get(net)
    ]


def _told(net: dict[str, Any] | None) -> str:
    """A net's mean with its interval, how many seeds it has, and its mean gate."""
    if net is None:
        return "-"
    found = [f"{key} {value:g}" for key, value in net.items() if key not in BESIDE]
    if found and "low" in net:
        found[0] += f" ({net['low']:g} to {net['high']:g})"
    found += [f"{net[key]} {key}" for key in ("seeds", "diverged") if key in net]
    gate = net.get(MEAN_GATE.name)
    return ", ".join(found + ([] if gate is None else [f"{MEAN_GATE.label} {gate:g}"]))


def _by(record: dict[str, Any], section: str, key: str) -> dict[str, str]:
    return {name: found[key] for name, found in record.get(section, {}).items()}


def _words(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """A line for each verdict or answer that is another; what is gone or new has a dash."""
    for name in dict.fromkeys((*new, *old)):
        before = old.get(name, "-")
        after = new.get(name, "-")
        if before != after:
            yield f"- {name}: {before}, now **{after}**"
