"""Compare a study's fresh numbers with its frozen ones; exit with 1 if one has left its band.

Without names of nets it looks at all nets of the study.
"""

import argparse
from collections.abc import Sequence

from pipeline.stage import answer, study_of
from skipgate import params, paths
from skipgate.files import Problem


def main(name: str, nets: Sequence[str]) -> None:
    study = study_of(params.load(), name, nets)
    # These bring SciPy and pandas, after a wrong name is refused.
    from skipgate.judging import frozen
    from skipgate.reporting.gate_page import bands_tables

    remedy = f"run: make freeze STUDY={name} REASON='...'"
    bands = frozen.bands(study, nets)
    absent = sorted(set(nets or study.specs) - bands.keys())
    if absent:
        raise Problem(f"not frozen yet: {', '.join(absent)}; {remedy}")
    print(f"{name}: frozen means, and in brackets the smallest rise that would alarm")
    print(bands_tables(study, bands))
    if others := frozen.other_code(study):
        print(f"frozen when they behaved differently: {', '.join(others)}")
    alarms = frozen.compare(study, nets)
    for alarm in alarms:
        print(alarm)
    if alarms:
        moved = ", ".join(dict.fromkeys(alarm.net for alarm in alarms))
        raise Problem(
            f"{moved} left the bands of {paths.frozen_file(name)}; find out why, or if the change "
            f"is meant, {remedy}"
        )
    count = sum(map(len, bands.values()))
    print(f"{name}: {count} quantities, and each of their seeds, hold")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", metavar="STUDY", help="a study of params.yaml")
    parser.add_argument(
        "nets", metavar="NET", nargs="*", default=(), help="nets of that study (default: all)"
    )
    answer(main, vars(parser.parse_args()))
