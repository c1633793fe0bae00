"""Which unstated choices lead to a paper's numbers: sentences and tables."""

from collections.abc import Iterator, Sequence

import numpy as np

from skipgate.judging.choices import READINGS, Candidate, Choices, Effect, Round
from skipgate.judging.quantities import thirds, watched
from skipgate.judging.statistics import Estimate, difference, estimate
from skipgate.reporting.markdown import markdown
from skipgate.reporting.tables import linked
from skipgate.results.names import size
from skipgate.results.store import Result, Rule

AT: dict[Rule, str] = {
    "last": "the last epoch",
    "best": "the best epoch on the test set",
    "validation": "the best epoch on held-out images",
}
FAR = 2.0
"""A number that lies so many deviations away from what a candidate predicts is missed by it."""
ABOUT = (
    "How much likelier the paper's numbers are by each choice than by the default at the last "
    "epoch, as a power of ten, and the chance of such numbers, or of worse ones, if this is what "
    "the paper did (at the likeliest epoch). A paper is taken for one more draw like our seeds. "
    "Few numbers rule choices out, but do not tell one that the paper made from one that happens "
    "to lead to them too. "
    "[How](../docs/decisions/0014-choices.md)."
)
ABOUT_OUTCOME = (
    "Of all candidates that were tried on the most numbers, the one by which these are likeliest, "
    "beside what the paper reports and what the default gives: its mean over seeds, and what a "
    "paper that did so would report about 19 times out of 20."
)
ABOUT_EFFECTS = (
    "What each choice does to the net that it changes, paired by seed, with 95% intervals; the "
    "choice that makes the paper's numbers likeliest comes first."
)

ABOUT_BLOCKS = (
    "Figure 5 of the paper has k lower in the middle than at either end. Mean k of each third of "
    "the blocks, and how many blocks are shut for good (T = 0), with 95% intervals over seeds; "
    "low in the middle: both ends are above it, paired by seed."
)


def conclusions(choices: Choices, waiting: int) -> list[str]:
    """What a person in a hurry should know, a sentence for each set of rows."""
    tried = {one.choices for part in choices.rounds for one in part.candidates} - {()}
    alone = sum(len(choice) == 1 for choice in tried)
    pairs = f", and {len(tried) - alone} pairs of them together" if len(tried) > alone else ""
    counted = f"{alone} choices that the paper leaves open were changed one at a time{pairs}"
    rest = f"; {waiting} nets of this study are not run yet." if waiting else "."
    return [counted + rest, *map(_concluded, reversed(choices.rounds))] if tried else []


def _concluded(part: Round) -> str:
    best = part.candidates[part.best]
    rows = f"{_titled(part)} ({_counted(part)})"
    ahead = (
        f"10^{part.gains[part.best]:.1f} times as likely as the default at the last epoch; by "
        f"chance alone the best of {len(part.candidates)} candidates is so far ahead with "
        f"p = {part.chance:.2g}"
    )
    fits = f"p = {best.chance(part.reported):.2g} of such numbers by it"
    if part.answer == "found":
        return f"**{rows}: {_told(best)} leads to the paper's numbers**: {ahead}; {fits}."
    if part.answer == "nearer":
        return (
            f"**{rows}: {_told(best)} comes nearest, but does not lead to the paper's numbers**: "
            f"{ahead}; {fits}: {_missed(best, part)}."
        )
    default = part.candidates[0].chance(part.reported)
    return (
        f"**{rows}: no choice leads to the paper's numbers more clearly than the default.** The "
        f"likeliest is {_told(best)}, {ahead}; p = {default:.2g} of such numbers by the default."
    )


def _titled(part: Round) -> str:
    """The rows of a round, those of one column together: "gated at d = 2 and 10"."""
    columns: dict[str, list[str]] = {}
    for row in part.rows:
        column, _, label = row.title.partition(", ")
        columns.setdefault(column, []).append(label)
    return ", ".join(f"{name} at {_listed(labels)}" for name, labels in columns.items())


def _listed(labels: Sequence[str]) -> str:
    """Labels in words, by their numbers; what all of them begin with is said once."""
    ordered = sorted(labels, key=lambda label: (len(label), label))
    first, _, _ = ordered[0].rpartition(" ")
    shared = bool(first) and all(label.rpartition(" ")[0] == first for label in ordered)
    rest = [label.rpartition(" ")[2] for label in ordered[1:]] if shared else ordered[1:]
    return " and ".join(filter(None, [", ".join([ordered[0], *rest[:-1]]), *rest[-1:]]))


def _outcome(choices: Choices) -> Iterator[str]:
    """The likeliest candidate of the round with most numbers, beside the paper and the default."""
    if choices.rounds:
        part = max(choices.rounds, key=lambda part: (_count(part), len(part.candidates)))
        best = part.candidates[part.best]
        yield f"### The likeliest: {_told(best)}"
        yield ABOUT_OUTCOME
        yield markdown(list(_predicted(part, best)))


def _predicted(part: Round, best: Candidate) -> Iterator[dict[str, object]]:
    """A row for each number that the paper reports."""
    default = part.candidates[0]
    for row in sorted(part.rows, key=lambda row: (len(row.title), row.title)):
        spread = FAR * np.sqrt(np.diag(best.predictions[row.net].scale))
        for place, number in enumerate(row.numbers):
            mean = best.predictions[row.net].mean[place]
            half = spread[place]
            yield {
                "net": row.title,
                "number": number.measure.label,
                "reported": f"{number.value:g}",
                "default, last epoch": f"{default.predictions[row.net].mean[place]:.2f}",
                "predicted": f"{mean:.2f} ± {half:.2f}",
                "fits": "yes" if abs(number.value - mean) <= half else "no",
            }


def _counted(part: Round) -> str:
    return f"{_count(part)} numbers"


def _count(part: Round) -> int:
    return sum(len(row.numbers) for row in part.rows)


def _told(candidate: Candidate) -> str:
    """A candidate in words."""
    what = " with ".join(f"`{choice}`" for choice in candidate.choices) or "the default"
    return f"{what} at {AT[candidate.reading]}"


def _missed(candidate: Candidate, part: Round) -> str:
    """Which of the paper's numbers lie far from what a candidate predicts."""
    missed = []
    for row in part.rows:
        prediction = candidate.predictions[row.net]
        spread = np.sqrt(np.diag(prediction.scale))
        for number, mean, deviation in zip(row.numbers, prediction.mean, spread, strict=True):
            if abs(number.value - mean) > FAR * deviation:
                missed.append(
                    f"{number.measure.label} of {row.title} is reported as {number.value:g} "
                    f"and predicted as {mean:.2f} ± {FAR * deviation:.2f}"
                )
    return "; ".join(missed) or "no number alone lies far away, all together do"


def section(choices: Choices) -> str:
    """The choices with the paper's words, a table of each round, and what each choice does."""
    parts = [*_outcome(choices), _words(choices)]
    for part in reversed(choices.rounds):
        rows = _titled(part)
        reported = "; ".join(_reported(part))
        parts += [f"### {rows[0].upper()}{rows[1:]}", f"Reported: {reported}. {ABOUT}"]
        parts.append(markdown(list(_likelihoods(part))))
    parts += [*_blocks(choices), "### What each choice does", ABOUT_EFFECTS]
    parts.append(markdown([_effect(effect) for effect in choices.effects]))
    return "\n\n".join(parts)


def _blocks(choices: Choices) -> Iterator[str]:
    """Where in the deepest network gates are open, by each choice."""
    if choices.deepest:
        base = choices.deepest[()]
        yield f"### k by block, {size(base.spec)}"
        yield ABOUT_BLOCKS
        yield markdown([_shape(names, result) for names, result in choices.deepest.items()])


def _shape(names: tuple[str, ...], result: Result) -> dict[str, object]:
    first, middle, last = thirds(result)
    closed = estimate(watched(result)["closed"])
    ends = [estimate(difference(end, middle)) for end in (first, last)]
    low = all(end and end.mean > end.half for end in ends)
    high = any(end and end.mean < -end.half for end in ends)
    return {
        "choice": _named(names),
        "first third": linked(estimate(first) or "-", result, "gates"),
        "middle": linked(estimate(middle) or "-", result, "gates"),
        "last third": linked(estimate(last) or "-", result, "gates"),
        "shut": closed or "-",
        "low in the middle": "yes" if low else "no" if high else "not clearly",
    }


def _named(names: tuple[str, ...]) -> str:
    return " + ".join(f"`{name}`" for name in names) or "*default*"


def _words(choices: Choices) -> str:
    """What each choice is, and the words that leave it open."""
    used = dict.fromkeys(name for effect in choices.effects for name in effect.choices)
    lines = []
    for name in used:
        if name in choices.words:
            word = choices.words[name]
            lines.append(f'- `{name}`: {word.says}. "{word.quote}" ({word.where})')
    return "\n".join(lines)


def _reported(part: Round) -> Iterator[str]:
    for row in part.rows:
        told = ", ".join(f"{number.measure.label} {number.value:g}" for number in row.numbers)
        yield f"{row.title} {told}" if len(part.rows) > 1 else told


def _likelihoods(part: Round) -> Iterator[dict[str, object]]:
    """A row for each choice, the likeliest first."""
    by_choice: dict[tuple[str, ...], list[int]] = {}
    for place in np.argsort(part.gains, kind="stable")[::-1].tolist():
        by_choice.setdefault(part.candidates[place].choices, []).append(place)
    for choice, places in by_choice.items():
        gains = {part.candidates[place].reading: part.gains[place] for place in places}
        likeliest = part.candidates[places[0]]
        yield {
            "choice": _named(choice),
            **{AT[reading]: _gain(gains.get(reading)) for reading in READINGS},
            "p": f"{likeliest.chance(part.reported):.2g}",
        }


def _gain(gain: float | None) -> str:
    return "-" if gain is None else f"{gain:+.1f}"


def _effect(effect: Effect) -> dict[str, object]:
    measure = effect.result.measure
    unit = measure.points or "difference"
    moved: Sequence[tuple[str, Estimate | None, str]] = (
        (f"{measure.label}, last ({unit})", effect.on_score("last"), "train"),
        ("best epoch", effect.on_score("best"), "train"),
        ("mean T", effect.on_gates, "gates"),
    )
    return {
        "choice": _named(effect.choices),
        "of": effect.row.title,
        **{name: linked(found or "-", effect.result, kind) for name, found, kind in moved},
    }
