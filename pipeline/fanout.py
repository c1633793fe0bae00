"""Train the missing or stale nets of a study, several at once, into the vault.

`dvc repro` takes them from there.
"""

import argparse

from pipeline.stage import answer
from skipgate import params, paths
from skipgate.fanout import estimates, plan
from skipgate.fanout.board import Board
from skipgate.files import Problem
from skipgate.training.vault import Vault


def main(target: str, engine: str, jobs: int, address: str | None, *, dry_run: bool) -> None:
    if jobs < 1:
        raise Problem(f"--jobs must be at least 1, found {jobs}")
    settings = params.load()
    vault = Vault(paths.vault_folder())
    study = plan.study_of(settings, target)
    plan.prepare(settings, study, dry_run=dry_run)
    tasks = plan.waiting(settings, study, vault)
    nets = {task.spec.net for task in tasks}
    print(f"{study}: {len(nets)} of {len(settings.nets_of(study))} nets to train", flush=True)
    refused = plan.refused(tasks) if engine == "local" else {}
    if dry_run:
        for line in estimates.lines(settings, tasks):
            print(f"  {line}", flush=True)
    elif tasks:
        train([task for task in tasks if task.spec.net not in refused], engine, jobs, address)
    if refused:
        raise Problem("; ".join(refused.values()))


def train(tasks: list[plan.Task], engine: str, jobs: int, address: str | None) -> None:
    board = Board(tasks)
    try:
        if engine == "local":
            from skipgate.fanout.local import Pool

            Pool(jobs, board).run(tasks)
        else:
            from skipgate.fanout import cluster

            cluster.run(tasks, address, Vault(paths.vault_folder()), board)
    finally:
        board.close()
    if board.failures:
        raise Problem(
            "; ".join(f"{net} failed: {why}" for net, why in sorted(board.failures.items()))
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="report@STUDY")
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="processes here, or a Ray cluster",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="processes of the local engine (default: %(default)s)"
    )
    parser.add_argument("--address", help="HOST:PORT of the Ray cluster (default: RAY_ADDRESS)")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be trained")
    answer(main, vars(parser.parse_args()))
