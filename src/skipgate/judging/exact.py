"""What the theory study says about the papers.

It has numbers that follow without training, and claims that can be computed.
"""

from collections.abc import Callable
from typing import Any

from skipgate import paths
from skipgate.files import Problem, read_json
from skipgate.judging.evidence import Outcome, decide, paired
from skipgate.judging.judgement import JudgedClaim, JudgedTable, Judgement
from skipgate.judging.papers import Cell, Paper, Table
from skipgate.judging.statistics import Estimate
from skipgate.judging.verdicts import Verdict, Word

Theory = dict[str, Any]
ROUNDING = 1e-9
"""What counts as 0 in computations with 64 bits."""
WHITE = 0.1
"""A correlation below this is taken for that of white noise."""


def judge_theory(papers: dict[str, Paper]) -> Judgement:
    """All exact numbers and computable claims."""
    tables = []
    answered = []
    for source, paper in papers.items():
        for name, table in paper.tables.items():
            verdicts = [_verdict(table, cell) for cell in table.cells if cell.quantity]
            if verdicts:
                tables.append(JudgedTable(source, name, table, verdicts, verdicts))
        for name, claim in paper.claims.items():
            if name in CLAIMS:
                part, test = CLAIMS[name]
                answered.append(JudgedClaim(source, name, claim, test(_read(part))))
    return Judgement("theory", 0, tables, answered)


def _read(part: str) -> Theory:
    found: Theory = read_json(paths.theory_file(part), "run: dvc repro theory")
    return found


def _verdict(table: Table, cell: Cell) -> Verdict:
    """Agrees if our number rounds to the printed one."""
    part, key = cell.quantity.split(".", 1)
    values = _read(part)
    values = values.get("table", values)
    if key not in values:
        raise Problem(
            f"papers: the quantity '{cell.quantity}' is not in {paths.theory_file(part)}; "
            "correct its name"
        )
    ours = float(values[key])
    word: Word = "agrees" if abs(ours - cell.value) <= table.rounding / 2 + ROUNDING else "differs"
    return Verdict(cell, cell.quantity, Estimate(ours, 0.0, 0.0, 1), word, "")


def _answer(right: bool, reason: str) -> Outcome:
    return Outcome("holds" if right else "fails", reason=reason)


def _strict_zero(found: Theory) -> Outcome:
    right = (
        not any(found["below"])
        and set(found["above"]) == {1.0}
        and found["samples that differ"] == 0
    )
    reason = (
        f"of {found['samples']:,} samples {found['samples that differ']} differ; at exactly "
        "epsilon the gate is shut"
    )
    return _answer(right, reason)


def _slices(found: Theory) -> Outcome:
    worst = max(found["deviations"].values())
    reason = (
        f"of a layer's output: largest deviation {worst:g} (the cost itself is not linear in k)"
    )
    return _answer(worst < ROUNDING, reason)


def _combination(found: Theory) -> Outcome:
    beaten = [
        name
        for name, case in found["cases"].items()
        if min(case["grid variance"]) < case["variance"] - 4 * case["error"]
    ]
    reason = (
        f"in {len(found['cases'])} cases of two errors, {len(beaten)} times some other weight on "
        "the grid did better"
    )
    return _answer(not beaten, reason)


def _looks_linear(found: Theory) -> Outcome:
    ours, ordinary = (
        max(max(values) for values in found[kind].values()) for kind in ("looks-linear", "ordinary")
    )
    reason = (
        f"{max(found['depths'])} layers: deviation from linear {ours:g}, with ordinary weights "
        f"{ordinary:.3g}"
    )
    return _answer(ours < ROUNDING < ordinary, reason)


def _shattered(found: Theory) -> Outcome:
    """Neighbouring points of the line, network by network."""
    depths = found["depths"]
    curves = {name: [rows[0] for rows in found["networks"][name]] for name in ("plain", "residual")}
    plain = curves["plain"]
    residual = curves["residual"]
    parts = [
        paired(f"plain, d = {depths[0]} above d = {depths[-1]}", plain[0], plain[-1], ""),
        paired(
            f"plain, d = {depths[-1]}, less than {WHITE:g}",
            [WHITE] * len(plain[-1]),
            list(map(abs, plain[-1])),
            "",
        ),
        *(
            paired(f"residual above plain, d = {depth}", a, b, "")
            for depth, a, b in zip(depths[1:], residual[1:], plain[1:], strict=True)
        ),
    ]
    return decide(parts, [])


CLAIMS: dict[str, tuple[str, Callable[[Theory], Outcome]]] = {
    "strict-zero": ("epsilon", _strict_zero),
    "surface-slices": ("slices", _slices),
    "optimal-combination": ("mixes", _combination),
    "looks-linear": ("linear", _looks_linear),
    "shattered-gradients": ("shattered", _shattered),
}
