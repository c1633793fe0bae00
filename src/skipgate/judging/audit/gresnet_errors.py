"""The errors and protocols of "Learning Identity Mappings with Residual Gates", cross-checked."""

from collections.abc import Iterator

from skipgate.judging.audit.check import Check, Printed, about, holds_if, listed

MNIST = "mnist-test-error"
CIFAR = "cifar10-v1"
LATER = "cifar10-v2"
SIZES = "stated-sizes"
OTHERS = "others-errors"
SMALL = "ResNet 5"
WIDE = "Wide ResNet (3,4)"
WIDER = "Wide ResNet (4,10) + Dropout"


def _gain(p: Printed, row: str) -> float:
    """The relative error reduction by gating, in %.

    It has no rounding error: two decimals print an error rate on 10,000 images exactly.
    """
    if row.startswith("d = "):
        return 100 * (1 - p(MNIST, row, "gated") / p(MNIST, row, "residual"))
    return 100 * (1 - p(CIFAR, row, "gated") / p(CIFAR, row, "original"))


def gains(p: Printed) -> Iterator[Check]:
    """Relative gains that the text names, against the tables of errors."""
    for table in ("stated-gains", "stated-whole-gains"):
        for row, stated in p.column(table, "about").items():
            place = "v1 section 4.1, v2 section 3.1" if row.startswith("d = ") else "v1 section 4.2"
            says = f"gating lowers the error by about {stated:g}%, {row}"
            found = _gain(p, row)
            yield p.check(
                f"gain, {row}", place, says, f"{found:.2f}%", about(found, stated, p.unit(table))
            )
    bound = p("stated-whole-gains", WIDE, "more than")
    found = _gain(p, WIDE)
    says = f"more than {bound:g}% relative gain of the {WIDE}"
    yield p.check("gain in the abstract", "v1 abstract", says, f"{found:.2f}%", found > bound)


def trends(p: Printed) -> Iterator[Check]:
    """What grows and falls with depth on MNIST, and which errors are the lower ones."""
    found = {row: _gain(p, row) for row in p.column(MNIST, "gated")}
    rising = list(found.values()) == sorted(found.values())
    yield p.check(
        "gain grows",
        "v1 and v2 Figure 4",
        "the gain grows with depth",
        listed(found, ".2f"),
        rising,
    )
    wrong = [
        d
        for d in found
        if not p(MNIST, d, "gated") < p(MNIST, d, "residual") < p(MNIST, d, "classical")
    ]
    says = "gated below residual below classical at every depth"
    follows = f"broken at: {', '.join(wrong) or 'no depth'}"
    yield p.check("order on MNIST", "v1 Table 2, v2 Table 1", says, follows, not wrong)
    k = p.column("mnist-mean-k", "mean k")
    falling = list(k.values()) == sorted(k.values(), reverse=True)
    yield p.check(
        "k falls", "v1 Table 3, v2 Table 2", "mean k falls with depth", listed(k), falling
    )


def cifar_orders(p: Printed) -> Iterator[Check]:
    """Which errors are the lower ones on CIFAR-10."""
    gaps = {
        f"{row}, {t}": p(t, row, "gated") - p(t, row, "original")
        for t in (CIFAR, LATER)
        for row in p.column(t, "gated")
    }
    follows = listed(gaps, "+.2f")
    yield p.check(
        "order on CIFAR",
        "v1 Table 4, v2 Table 3",
        "gated below original",
        follows,
        max(gaps.values()) < 0,
    )
    costs = {
        row: error - p(LATER, row, "gated")
        for row, error in p.column(LATER, "gated with k decay").items()
    }
    says = "decay on k raises both errors"
    yield p.check("k decay", "v2 section 3.2", says, listed(costs, "+.2f"), min(costs.values()) > 0)


def quoted(p: Printed) -> Iterator[Check]:
    """Errors that are quoted from elsewhere."""
    old, new = (
        p(OTHERS, f"Wide ResNet (4,10), quoted in {version}", "C10+") for version in ("v1", "v2")
    )
    says = f"Wide ResNet (4,10) has {old}% in v1"
    follows = f"{new}% in v2, from the same source; v2 Table 3 has it with dropout"
    yield p.check("quoted Wide ResNet", "v1 Table 5, v2 Table 4", says, follows, old == new)
    original = p(LATER, WIDER, "original")
    says = f"the original {WIDER} has {original}%, beside {p(LATER, WIDER, 'gated')}% when gated"
    follows = (
        f"quoted from elsewhere in Table 4: {new}%; if not run again, a measured number is set "
        "against a quoted one"
    )
    yield p.check(
        "original in v2", "v2 Table 3", says, follows, holds_if(original != new, "unclear")
    )


def unsurpassed(p: Printed) -> Iterator[Check]:
    """The first version's best error, against the errors of others."""
    rivals = [
        v
        for row, v in p.column(OTHERS, "C10+").items()
        if not row.endswith("v2") and row != "DenseNet"
    ]
    ours = p(CIFAR, WIDE, "gated")
    says = "the state of the art is not surpassed"
    follows = f"{ours:.2f}% against {min(rivals)}% in Table 5"
    yield p.check("not the best", "v1 section 4.2", says, follows, ours > min(rivals))


def records(p: Printed) -> Iterator[Check]:
    """The second version's best results."""
    for data, column, table in (("CIFAR-10", "C10+", LATER), ("CIFAR-100", "C100+", "cifar100-v2")):
        best = min(p.column(OTHERS, column).values())
        ours = p("abstract-errors", data, "gated")
        inside = p(table, WIDER, "gated")
        yield p.check(
            f"abstract on {data}",
            "v2 abstract",
            f"{ours}% on {data}",
            f"{inside}% in the table",
            ours == inside,
        )
        says = f"better than all published on {data}"
        follows = f"{inside}% against {best}%, the best of others in Table 4"
        yield p.check(f"best on {data}", "v2 sections 1 and 3.2", says, follows, inside < best)


def protocols(p: Printed) -> Iterator[Check]:
    """What the two versions cannot both say."""
    first, later = (
        " and ".join(f"{share:.0%}" for share in p.stated(f"cifar-{version}", "rate falls after"))
        for version in ("v1", "v2")
    )
    says = f"the rate falls at {first} of the epochs, by the scheme of He et al. (2016)"
    follows = f"at {later} in v2, by that scheme too"
    yield p.check("schedules", "v1 section 4.2, v2 section 3.2", says, follows, first == later)
    errors = [
        " and ".join(f"{p(t, SMALL, column)}%" for column in ("original", "gated"))
        for t in (CIFAR, LATER)
    ]
    follows = f"{errors[1]} in v2, under {'the same' if first == later else 'another'} schedule"
    word = holds_if(first == later or errors[0] != errors[1], "unclear")
    yield p.check(
        "equal errors", "v1 Table 4, v2 Table 3", f"{SMALL} has {errors[0]} in v1", follows, word
    )


def headings(p: Printed) -> Iterator[Check]:
    """Headings of tables that do not fit the numbers below them."""
    chance = 100 / p(SIZES, "CIFAR-10", "classes")
    for place, table in (("v1 Tables 4 and 5", CIFAR), ("v2 Table 3", LATER)):
        most = max(cell.value for cell in p.cells(table))
        follows = f"at most {most}%, below the {chance:g}% of guessing: errors, as the captions say"
        yield p.check(
            f"headings, {place}", place, "the heading is accuracy ('Acc')", follows, most > chance
        )
