"""Probe a trained net: gates, lesions, pruning, shuffles, estimation errors, paths, speed."""

from pathlib import Path

from tqdm import tqdm

from pipeline.stage import run
from skipgate import params, paths, specs
from skipgate.data.images import load
from skipgate.files import Problem, read_json, rounded, sha256, write_json
from skipgate.lockfile import md5, written
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.training.job import load_trained


def main(net: str) -> None:
    spec = specs.load(net)
    known = params.load()
    settings = known.probes[known.nets[net].probes]
    model = paths.model_file(spec.study, net)
    network, device = load_trained(spec, model)
    recipe = spec.settings.recipe
    split = load(paths.data_folder(spec.dataset), spec.settings.data, recipe.pixels, device)
    names: dict[str, object] = {
        "net": net,
        "digest": spec.digest,
        "seeds": list(range(spec.settings.seeds)),
    }
    recorded = written()
    names["model"] = sha256(model.read_bytes())[:16]
    digests = specs.probe_digests(net)
    with tqdm(PROBES.items(), desc=f"{spec.study}: probing {net}", unit="probe") as bar:
        for kind, probe in bar:
            file = paths.result_file(spec.study, net, kind)
            now = {**names, "probe_digest": digests[kind]}
            if recorded.get(file, ("", ""))[1] == md5(file) and is_current(file, now):
                continue
            bar.set_postfix_str(kind)
            images = split.test.first(settings.images_for(kind))
            subject = Subject(network, images, recipe.evaluation_batch, split.train)
            write_json(file, {**now, **rounded(probe(subject, settings))})


def is_current(file: Path, names: dict[str, object]) -> bool:
    """Whether this result, which DVC recorded, is of the present code and model: a new probe does not repeat the old ones."""
    try:
        found = read_json(file, "probe it again")
    except Problem:
        return False
    return isinstance(found, dict) and all(found.get(key) == value for key, value in names.items())


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
