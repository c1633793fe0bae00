"""Prove that results, digests, verdicts, claims and pages follow from each other."""

from tqdm import tqdm

from pipeline.stage import run
from skipgate import params
from skipgate.files import Problem
from skipgate.reporting.integrity import findings, stale_specs


def main() -> None:
    settings = params.load()
    found = list(findings(settings))
    from skipgate.behaviour import specify  # brings PyTorch, which the other checks do without

    fresh = {
        net: specify(settings, net)
        for net in tqdm(settings.nets, desc="verify: digests", unit="net", leave=False)
    }
    found += stale_specs(fresh)
    for sentence in found:
        print(f"verify: {sentence}")
    if found:
        raise Problem(f"{len(found)} findings; each line above says what moved and what to do")
    print(
        f"verify: results, digests, verdicts, claims and pages of {len(settings.nets)} nets follow "
        "from each other"
    )


if __name__ == "__main__":
    run(main, __doc__)
