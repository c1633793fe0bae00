"""Every number and claim of the papers, with what became of it.

One that nothing reproduces yet is listed as such.
"""

from skipgate.judging.papers import Cell, Paper, Table
from skipgate.params import Params
from skipgate.reporting.overview import recorded
from skipgate.reporting.pages import NOTE
from skipgate.reporting.tables import markdown


def papers_page(params: Params, papers: dict[str, Paper]) -> str:
    """The page, by paper and table."""
    studies = {name: recorded(name) for name in (*params.studies, "theory")}
    cells = [
        cell for paper in papers.values() for table in paper.tables.values() for cell in table.cells
    ]
    open_ = sum(not (cell.nets or cell.quantity) for cell in cells)
    parts = [
        NOTE.format(stage="overview"),
        "# What the papers report",
        f"{len(cells)} numbers, of which {open_} are reproduced by no net and no computation yet, "
        f"and {sum(len(p.claims) for p in papers.values())} claims.",
    ]
    for name, paper in papers.items():
        parts.append(f"## {paper.title} (`papers/{name}.yaml`)")
        parts += [_table(name, key, table, studies) for key, table in paper.tables.items()]
        if paper.claims:
            parts.append(f"### Claims\n\n{_claims(name, paper, studies)}")
    return "\n\n".join(parts) + "\n"


def _table(paper: str, key: str, table: Table, studies: dict[str, dict[str, object]]) -> str:
    rows: list[dict[str, object]] = [
        {
            "": cell.row,
            " ": cell.column,
            f"reported ({table.unit})": f"{cell.value:g}"
            + (f" ± {cell.deviation:g}" if cell.deviation else ""),
            "what became of it": _fate(f"{paper} {key}", cell, table, studies),
        }
        for cell in table.cells
    ]
    made = table.statistic if table.runs == 1 else f"{table.statistic} of {table.runs} runs"
    how = f"{made}, {table.read}, rounded to {table.rounding:g}"
    return f"### {table.title} ({table.where})\n\n{how}\n\n{markdown(rows)}"


def _fate(key: str, cell: Cell, table: Table, studies: dict[str, dict[str, object]]) -> str:
    if table.context:
        return "quoted from elsewhere, for context"
    found = []
    for study, record in studies.items():
        for net in (*cell.nets, cell.quantity):
            places = record.get("cells", {})
            judged = (
                places.get(f"{key}, {cell.row}, {cell.column}, {net}")
                if isinstance(places, dict)
                else None
            )
            if judged:
                found.append(f"{study}: {judged['word']}")
    return "; ".join(found) or (
        "to be run" if cell.nets or cell.quantity else "reproduced by nothing yet"
    )


def _claims(name: str, paper: Paper, studies: dict[str, dict[str, object]]) -> str:
    rows: list[dict[str, object]] = []
    for key, claim in paper.claims.items():
        answers = []
        for study, record in studies.items():
            told = record.get("claims", {})
            if isinstance(told, dict) and f"{name} {key}" in told:
                answers.append(f"{study}: {told[f'{name} {key}']['answer']}")
        not_run = f"not run; it takes {claim.needs}" if claim.needs else "not run"
        fate = "; ".join(answers) or not_run
        rows.append(
            {"claim": f"**{key}**: {claim.says}", "where": claim.where, "what became of it": fate}
        )
    return markdown(rows)
