"""Rows as a table in Markdown."""

from collections.abc import Sequence

from tabulate import tabulate


def markdown(rows: Sequence[dict[str, object]]) -> str:
    """One row after the other, text being kept as it is; the first row has all columns."""
    return tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True)
