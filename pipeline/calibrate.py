"""Draw tables of known truth and write how often the rule on numbers errs into decision 9."""

import re
from pathlib import Path

from tqdm import tqdm

from pipeline.stage import run
from skipgate.files import write_atomically
from skipgate.judging import calibration
from skipgate.judging.calibration import Drawn, Rule
from skipgate.reporting.markdown import markdown

PAGE = Path("docs/decisions/0009-verdicts.md")
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


def main() -> None:
    renew(PAGE, [row(name, seed) for seed, name in enumerate(tqdm(TABLES, desc="calibrate"))])


def renew(page: Path, rows: list[dict[str, object]]) -> None:
    """Put a table into its place on a page."""
    text = PLACE.sub(lambda found: f"{found[1]}{markdown(rows)}\n{found[2]}", page.read_text())
    write_atomically(page, text.encode())


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
