"""What the papers say in words, and what became of it: a small block for each claim."""

import math

from skipgate.judging.claims import TESTS, computed
from skipgate.judging.evidence import LEVEL, SEEN, Outcome, Part
from skipgate.judging.judgement import JudgedClaim, JudgedTable, Judgement
from skipgate.judging.papers import Claim, Paper
from skipgate.reporting.markdown import markdown
from skipgate.results.store import StudyResults
from skipgate.settings import MEAN_GATE

ABOUT = (
    "Each sentence is quoted and tested on the seeds, paired: it **holds** when every part of the "
    "test is above 0 at the 5% level, **fails** when some part is below 0 at 5% over the number of "
    "parts, and is **undecided** otherwise. One that could not be otherwise is true **by "
    "construction** and no finding. A margin is positive where the sentence is right, and has its "
    "90% interval; beside it stand the margin that the source's own numbers give, and the smallest "
    "one that would have been seen four times out of five. The power is the chance of *holds* if "
    "the source's margins were true, with our seeds and our spread between them, by the "
    "non-central t distribution, and multiplied over the parts as if they were independent. Rows "
    "in *italics* are shown beside the test and decide nothing."
)

ABOUT_IMAGES = (
    "Each sentence is quoted and tested. **One network is one draw, and nothing here says what "
    "another training would have given: what is uncertain is which images it was tested on, and "
    "which orders and paths a probe has drawn.** Both are drawn again and again, with replacement "
    "(Efron's bootstrap), images by the same draws for all networks that share them, and the "
    "spread of a margin over these resamples is its "
    "standard error. A sentence **holds** when every part of the test is above 0 at the 5% level, "
    "**fails** when some part is below 0 at 5% over the number of parts, and is **undecided** "
    "otherwise. A margin is that of the images as they are, with its 90% interval; beside it "
    "stands the smallest one that would have been seen four times out of five. Which nets decide "
    "a sentence stands in `papers/`: the source's own network, or the nearest to it. Rows in "
    "*italics* are shown beside the test and decide nothing."
)


def section(judgement: Judgement) -> str:
    """All claims of a study: a table of answers, then the blocks."""
    if not judgement.claims:
        return ""
    rows: list[dict[str, object]] = [
        {"claim": f"`{c.name}`", "answer": c.outcome.answer, "in short": c.claim.says}
        for c in judgement.claims
    ]
    blocks = [block(judged, judgement.study) for judged in judgement.claims]
    parts = [part for judged in judgement.claims for part in judged.outcome.parts]
    about = ABOUT_IMAGES if any(part.is_resampled for part in parts) else ABOUT
    return "\n\n".join([about, markdown(rows), *blocks])


def block(judged: JudgedClaim, study: str) -> str:
    """One claim: its words, its place, the test, the answer, the margins, the power, the nets."""
    claim = judged.claim
    outcome = judged.outcome
    why = f" ({claim.by_construction})" if outcome.answer == "by construction" else ""
    nets = ", ".join(f"`{net}`" for net in outcome.nets)
    deviation = claim.deviation_in.get(study, claim.deviation)
    parts = [
        f"### {judged.name}: {outcome.answer}",
        f"> {claim.quote}",
        f"{judged.paper}, {claim.where.rstrip('.')}.{_elsewhere(judged, study)}",
        f"**Test:** {outcome.test}" if outcome.test else "",
        f"**Not as in the source:** {deviation}." if deviation else "",
        f"**Answer:** {outcome.answer}{why}. {_power(outcome)}".rstrip(),
        margins(outcome) if outcome.parts else f"{outcome.reason}.".capitalize(),
        f"Nets: {nets}." if nets else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _elsewhere(judged: JudgedClaim, study: str) -> str:
    """A sentence on data, where the source speaks of others than the study has."""
    claim = judged.claim
    told = claim.of.lower()
    same = not told or told.replace("-", "") in (study, *judged.data) or study in claim.judged_on
    return "" if same else f" **Stated of {claim.of}; judged here on `{study}`.**"


def _power(outcome: Outcome) -> str:
    """The power at the source's effect, or what could have been seen where it states none."""
    if not outcome.parts or outcome.answer == "by construction":
        return ""
    if all(part.is_resampled and not part.error for part in outcome.parts):
        return "It is the same in all resamples."
    if outcome.power is not None:
        return f"Power if the source's own margins are true: {_percent(outcome.power)}."
    widest = max(outcome.parts, key=lambda part: part.visible)
    if len(outcome.parts) == 1:
        seen = f"a mean margin of {_number(widest.visible, widest.unit)}"
    else:
        seen = f"in its least certain part a mean margin of {_number(widest.visible, widest.unit)}"
    return (
        f"The source states no number to set this against; {seen} would have been seen with a "
        f"chance of {SEEN:.0%}."
    )


def _percent(share: float) -> str:
    """A chance, with the digits that a small one needs."""
    if share > 0.99:
        return "over 99%"
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"


def margins(outcome: Outcome) -> str:
    """The parts in a table, those that decide first."""
    stated = any(part.stated is not None for part in (*outcome.parts, *outcome.beside))
    rows = [_row(part, part.name, stated) for part in outcome.parts]
    rows += [_row(part, f"*{part.name}*", stated) for part in outcome.beside]
    return markdown(rows)


def _row(part: Part, name: str, stated: bool) -> dict[str, object]:
    half = f"± {part.bound(LEVEL):.2g} " if len(part.margins) > 1 else ""
    row: dict[str, object] = {
        "part": name,
        "margin": f"{part.shown:+.3g} {half}{part.unit}".rstrip() if part.margins else "-",
        "draws": f"{len(part.margins)} of images" if part.is_resampled else len(part.margins),
    }
    if stated:
        row["by the source"] = "-" if part.stated is None else f"{part.stated:+.3g}"
    certain = part.is_resampled and not part.error
    row["would be seen"] = "-" if certain else _number(part.visible, "")
    return row


def _number(value: float, unit: str) -> str:
    return "-" if math.isinf(value) else f"{value:.2g} {unit}".rstrip()


def listing(name: str, paper: Paper, studies: dict[str, dict[str, object]]) -> str:
    """Every claim of a paper, with its words and what became of it."""
    lines = [
        f'- **{key}** ({claim.where}): "{claim.quote}" *{_fate(name, key, claim, studies)}*'
        for key, claim in paper.claims.items()
    ]
    return "\n".join(lines)


def _fate(name: str, key: str, claim: Claim, studies: dict[str, dict[str, object]]) -> str:
    """The answers of the studies that have one, or what it takes."""
    found = []
    for study, record in studies.items():
        told = record.get("claims", {})
        if isinstance(told, dict) and f"{name} {key}" in told:
            found.append(f"{study}: {told[f'{name} {key}']['answer']}")
    tested = key in TESTS or key in computed.TESTS
    waiting = f"Waits for {claim.needs}." if claim.needs else "Not run."
    return f"{'; '.join(found)}." if found and tested else waiting


def about_gates(judged: JudgedTable, study: StudyResults) -> str:
    """What a mean gate of ours is beside a paper's mean k; nothing for other tables."""
    if judged.table.metric != MEAN_GATE.name:
        return ""
    results = [study.results[v.net] for v in judged.verdicts if v.net in study.having("gates")]
    shut = []
    raw = []
    for result in results:
        values = [value for block in result.part("gates")["T"] for value in block]
        closed = sum(value == 0 for value in values)
        if closed:
            shut.append(f"{closed} of {len(values)} in `{result.spec.net}`")
        ks = [value for block in result.part("gates").get("k", ()) for value in block]
        if ks and None not in ks:
            raw.append(f"{sum(ks) / len(ks):.2f} in `{result.spec.net}`")
    counts = f" Gates that are 0: {', '.join(shut)}." if shut else ""
    means = f" Mean of k itself: {', '.join(raw)}." if raw else " Older results record no more."
    return (
        "Ours is the mean of max(0, k); the paper's is the mean of k. Where k is below 0 the mean "
        f"of k is lower than ours.{means}{counts}"
    )
