"""Make up papers of known truth; write how often the search for choices errs into decision 14."""

from itertools import product
from pathlib import Path

from tqdm import tqdm

from pipeline.calibrate import renew
from pipeline.stage import run
from skipgate.judging.choice_rates import Truth, rates

PAGE = Path("docs/decisions/0014-choices.md")
WORLDS = 500
NETS = (1, 2, 4)
"""Of how many nets a made-up paper reports two numbers each."""
TRUTHS: tuple[Truth, ...] = ("default", "tried", "not tried")


def main() -> None:
    cases = list(product(TRUTHS, NETS))
    renew(PAGE, [row(*case, seed) for seed, case in enumerate(tqdm(cases, desc="calibrate"))])


def row(truth: Truth, nets: int, seed: int) -> dict[str, object]:
    found = rates(truth, nets, WORLDS, seed)
    return {
        "what the paper used": truth,
        "numbers": f"{2 * nets}",
        "found": f"{found.found:.1%}",
        "found, and right": f"{found.right:.1%}" if truth == "tried" else "-",
        "nearer": f"{found.nearer:.1%}",
    }


if __name__ == "__main__":
    run(main, __doc__)
