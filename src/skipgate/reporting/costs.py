"""What nets that were not run would cost."""

from skipgate.params import Params
from skipgate.reporting.markdown import markdown
from skipgate.results import costs
from skipgate.results.costs import Cost, rounded
from skipgate.results.names import family, size
from skipgate.results.store import StudyResults
from skipgate.settings import Gpu

ABOUT = (
    "These nets need a GPU and were not run. Each is run by `dvc repro probe@NET`, all by `dvc "
    "repro report@{study}`: about {hours} hours of an {gpu} in all. Operations of a training "
    "step, forward and back, for each example, and memory at its peak for one seed are counted on "
    "the real networks; hours follow from them at {share:.0%} of the {tflops:g} TFLOP/s of that "
    "GPU, and at least {launch:g} microseconds for each kernel: estimates, not measurements."
)
GIGA = 1e9


def conclusion(params: Params, study: StudyResults) -> str:
    """What a person in a hurry should know of a study of which nothing was run."""
    known = costs.load()
    rows = [known[net] for net in study.missing if net in known]
    hours = rounded(sum(cost.hours(params.gpu) for cost in rows))
    takes = (
        f"about {hours} hours of an {params.gpu.name} and up to "
        f"{rounded(max(cost.memory for cost in rows) / GIGA)} GB of its memory, by estimate"
        if rows
        else params.studies[study.name].cost
    )
    return f"- **Nothing of this study is run yet.** Its {len(study.specs)} nets take {takes}."


def section(params: Params, study: StudyResults) -> str:
    """What the nets without results would cost, as far as that was estimated."""
    known = costs.load()
    rows = {net: known[net] for net in study.missing if net in known}
    if not rows:
        return ""
    gpu = params.gpu
    about = ABOUT.format(
        study=study.name,
        hours=rounded(sum(cost.hours(gpu) for cost in rows.values())),
        gpu=gpu.name,
        share=gpu.share,
        tflops=gpu.tflops,
        launch=1e6 * gpu.launch,
    )
    table = markdown([_row(study, net, cost, gpu) for net, cost in rows.items()])
    return f"{about}\n\n{table}"


def _row(study: StudyResults, net: str, cost: Cost, gpu: Gpu) -> dict[str, object]:
    spec = study.specs[net]
    return {
        "net": f"`{net}`",
        "family": family(spec),
        "size": size(spec),
        "parameters": f"{spec.parameters:,}",
        "GFLOP": f"{cost.operations / GIGA:.2f}",
        "GB": f"{cost.memory / GIGA:.1f}",
        "seeds": spec.seeds,
        "hours": f"{cost.hours(gpu):.1f}",
    }
