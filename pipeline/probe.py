"""Probe a trained net: gates, lesions, pruning, shuffles."""

from tqdm import tqdm

from pipeline.stage import run
from skipgate import params, paths, specs
from skipgate.data.images import load
from skipgate.files import rounded, write_json
from skipgate.probes import PROBES
from skipgate.probes.subject import Subject
from skipgate.training.job import load_trained


def main(net: str) -> None:
    spec, known = specs.load(net), params.load()
    settings = known.probes[known.nets[net].probes]
    network, device = load_trained(spec, paths.model_file(spec.study, net))
    recipe = spec.settings.recipe
    images = load(paths.data_folder(spec.dataset), spec.settings.data, recipe.pixels, device).test.first(settings.images)
    subject = Subject(network, images, recipe.evaluation_batch)
    names = {
        "net": net,
        "digest": spec.digest,
        "probe_digest": specs.probe_digest(net),
        "seeds": list(range(spec.settings.seeds)),
    }
    for kind, probe in tqdm(PROBES.items(), desc=f"{spec.study}: probing {net}", unit="probe"):
        result = rounded(probe(subject, settings))
        write_json(paths.result_file(spec.study, net, kind), {**names, **result})


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
