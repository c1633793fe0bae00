"""Prove that results, digests, verdicts, claims and pages follow from each other."""

from tqdm import tqdm

from pipeline.stage import run
from skipgate import params
from skipgate.files import Problem


def main() -> None:
    settings = params.load()
    from skipgate.reporting.integrity import findings, stale_specs  # brings pandas

    found = list(findings(settings))
    from skipgate.behaviour import specify_all  # brings PyTorch, which the other checks do without

    nets = tqdm(
        specify_all(settings),
        desc="verify: digests",
        unit="net",
        total=len(settings.nets),
        leave=False,
    )
    found += stale_specs(dict(nets))
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
