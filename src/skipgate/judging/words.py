"""What can be said of a claim, in a word. No statistics: a table of answers is shown at once."""

from typing import Literal

Answer = Literal["holds", "fails", "undecided", "by construction", "not run"]
ANSWERS: tuple[Answer, ...] = ("holds", "fails", "undecided", "by construction", "not run")
