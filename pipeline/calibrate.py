"""Draw papers of known truth, and write how often ours err into decisions 9 and 14.

That is the rule on numbers, and the search for the choice that leads to a paper's numbers.
"""

import re
from itertools import product
from pathlib import Path

from tqdm import tqdm

from pipeline.stage import run
from skipgate.files import write_atomically
from skipgate.judging import calibration, choice_rates
from skipgate.judging.calibration import Drawn, Rule
from skipgate.judging.choice_rates import Truth
from skipgate.reporting.tables import markdown

VERDICTS = Path("docs/decisions/0009-verdicts.md")
SEARCH = Path("docs/decisions/0014-choices.md")
PLACE = re.compile(r"(<!-- calibration -->\n).*?(<!-- /calibration -->)", re.DOTALL)
ROUNDS = 2000
RATIOS = (2, 3, 5, 10, 20, 50)
TABLES: dict[str, Drawn] = {
    "none": Drawn(),
    **{f"one, {ratio} times": Drawn((ratio,)) for ratio in RATIOS},
    **{f"three, {ratio} times": Drawn((ratio,) * 3) for ratio in RATIOS},
    "two failed nets, 17 and 7 times": Drawn((17, 7)),
    "as MNIST: 17, 7 and 2.9 times": Drawn((17, 7, 2.9)),
    "all, 0.3 to 3.3 times": Drawn(tuple(3.3 ** (step / 7) for step in range(-7, 8) if step)),
    "none of five gates": Drawn((), 5, known=False),
    "one of five gates, 3 times": Drawn((3,), 5, known=False),
    "all five gates, 0.3 to 3.3 times": Drawn((0.3, 0.6, 1.8, 3.3), 5, known=False),
}
"""How many times as far as expected the first cells of a table spread."""
RULES: dict[str, Rule] = {
    "before": calibration.cut,
    "own": calibration.alone,
    "now": calibration.shrunk,
}


WORLDS = 500
NETS = (1, 2, 4)
"""Of how many nets a made-up paper reports two numbers each."""
TRUTHS: tuple[Truth, ...] = ("default", "tried", "not tried")


def main() -> None:
    renew(VERDICTS, [row(name, seed) for seed, name in enumerate(tqdm(TABLES, desc="verdicts"))])
    cases = list(product(TRUTHS, NETS))
    renew(SEARCH, [searched(*case, seed) for seed, case in enumerate(tqdm(cases, desc="choices"))])


def renew(page: Path, rows: list[dict[str, object]]) -> None:
    """Put a table into its place on a page."""
    text = PLACE.sub(lambda found: f"{found[1]}{markdown(rows)}\n{found[2]}", page.read_text())
    write_atomically(page, text.encode())


def searched(truth: Truth, nets: int, seed: int) -> dict[str, object]:
    found = choice_rates.rates(truth, nets, WORLDS, seed)
    return {
        "what the paper used": truth,
        "numbers": f"{2 * nets}",
        "found": f"{found.found:.1%}",
        "found, and right": f"{found.right:.1%}" if truth == "tried" else "-",
        "nearer": f"{found.nearer:.1%}",
    }


def row(name: str, seed: int) -> dict[str, object]:
    found = {
        key: calibration.rates(rule, TABLES[name], ROUNDS, seed) for key, rule in RULES.items()
    }
    return {
        "cells that spread further": name,
        **{f"false alarms, {key}": f"{rates.alarms:.1%}" for key, rates in found.items()},
        **{f"power, {key}": f"{rates.power:.0%}" for key, rates in found.items()},
        "all together, now": f"{found['now'].joint:.1%}",
    }


if __name__ == "__main__":
    run(main, __doc__)
