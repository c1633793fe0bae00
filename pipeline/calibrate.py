"""Draw tables of known truth and write how often the rule on numbers errs into decision 9."""

import re
from pathlib import Path

from tqdm import tqdm

from pipeline.stage import run
from skipgate.files import write_atomically
from skipgate.judging import calibration
from skipgate.judging.calibration import Rule
from skipgate.reporting.tables import markdown

PAGE = Path("docs/decisions/0009-verdicts.md")
PLACE = re.compile(r"(<!-- calibration -->\n).*?(<!-- /calibration -->)", re.DOTALL)
ROUNDS = 1000
SEED = 0
RATIOS = (2, 3, 5, 10, 20, 50)
LIKE_MNIST = (17.0, 7.0, 2.9)
RULES: dict[str, Rule] = {
    "before": calibration.cut,
    "own": calibration.alone,
    "now": calibration.shrunk,
}


def main() -> None:
    tables: dict[str, tuple[float, ...]] = {
        "none": (),
        **{f"one, {ratio}": (ratio,) for ratio in RATIOS},
        **{f"three, {ratio}": (ratio,) * 3 for ratio in RATIOS},
        "three, 17, 7 and 2.9": LIKE_MNIST,
    }
    rows = [row(name, ratios) for name, ratios in tqdm(tables.items(), desc="calibrate")]
    text = PLACE.sub(lambda found: f"{found[1]}{markdown(rows)}\n{found[2]}", PAGE.read_text())
    write_atomically(PAGE, text.encode())


def row(name: str, ratios: tuple[float, ...]) -> dict[str, object]:
    found = {key: calibration.rates(rule, ratios, ROUNDS, SEED) for key, rule in RULES.items()}
    return {
        "wild cells, and how far they spread": name,
        **{f"false alarms, {key}": f"{rates.alarms:.1%}" for key, rates in found.items()},
        **{f"power, {key}": f"{rates.power:.0%}" for key, rates in found.items()},
        "all together, now": f"{found['now'].joint:.1%}",
    }


if __name__ == "__main__":
    run(main, __doc__)
