"""What the theory study says about the papers.

It has numbers that follow without training, and claims that can be computed.
"""

from dataclasses import replace

from skipgate import paths
from skipgate.files import Problem, read_json
from skipgate.judging.claims import computed
from skipgate.judging.claims.computed import ROUNDING, Theory
from skipgate.judging.evidence import Outcome
from skipgate.judging.judgement import JudgedClaim, JudgedTable, Judgement
from skipgate.judging.papers import Cell, Paper, Table
from skipgate.judging.statistics import Estimate
from skipgate.judging.verdicts import Verdict, Word


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
            if name in computed.TESTS:
                answered.append(JudgedClaim(source, name, claim, _outcome(name)))
    return Judgement("theory", 0, tables, answered)


def _outcome(claim: str) -> Outcome:
    test = computed.TESTS[claim]
    return replace(test.run(_read(test.part)), test=test.sentence)


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
