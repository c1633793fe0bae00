"""Write a trained net without its strict-identity blocks, as a plain PyTorch state dict.

A block is a strict identity if its gate stays shut over a whole pass of the training set. What
would change predictions is refused, with its cost. docs/compression.md shows how to load the file.
"""

import argparse
from pathlib import Path

from pipeline.stage import answer
from skipgate import params, paths, specs
from skipgate.files import Problem, write_atomically
from skipgate.training.models import unpack

ALONE = 500
"""Test examples that are also predicted one at a time."""


def main(net: str, out: Path, seed: int, blocks: str | None, *, force: bool) -> None:
    specs.resolve(params.load(), net)
    spec = specs.load(net)
    if seed not in range(spec.seeds):
        raise Problem(
            f"{net} has {specs.told(range(spec.seeds))}, and no seed {seed}; for more, set seeds: "
            f"on its line of {paths.PARAMS}"
        )
    remedy = f"run: dvc repro train@{net}"
    weights = unpack(paths.model_file(spec.study, net), spec.digest, remedy)
    if seed not in weights:
        at_hand = specs.told(sorted(weights)) if weights else "none"
        raise Problem(f"the weights of {net}, seed {seed}, are not at hand ({at_hand}); {remedy}")
    wanted = None if blocks is None else places(blocks)
    from skipgate import compression  # brings PyTorch, which a refusal does without
    from skipgate.nets import plain
    from skipgate.reporting.markdown import markdown

    subject = compression.trained(spec, weights, seed)
    smaller = compression.compress(subject, wanted, force=force)
    rows = compression.reductions(subject, smaller)
    effects = compression.effects(subject, smaller, ALONE)
    write_atomically(out, plain.to_bytes(plain.state_dict(smaller)))
    print(markdown(rows))
    for sentence in (*effects, f"written to {out}"):
        print(sentence)


def places(text: str) -> list[int]:
    """The numbers in "3,5"."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise Problem(f"--blocks wants numbers such as 3,5, found '{text}'") from error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("net", help="a net of params.yaml that has been trained")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="what to write")
    parser.add_argument(
        "--seed", type=int, default=0, help="which of its seeds (default: %(default)s)"
    )
    parser.add_argument(
        "--blocks",
        metavar="3,5",
        help="remove these blocks, counted from 0 (default: all strict identities)",
    )
    parser.add_argument(
        "--force", action="store_true", help="remove blocks that are no strict identities too"
    )
    answer(main, vars(parser.parse_args()))
