"""Probe a trained net: gates, lesions, pruning, shuffles, estimation errors, paths, speed."""

from tqdm import tqdm

from pipeline.stage import run
from skipgate import paths, specs
from skipgate.probes.run import Probing, write
from skipgate.results import store


def main(net: str) -> None:
    spec = specs.load(net)
    folder = paths.result_file(spec.study, net, "lesion").parent
    if why := store.absence(spec):
        write(folder, {"absent": {"net": net, "digest": spec.digest, "absent": why}})
        return
    probing = Probing(spec, specs.load_probing(net))
    with tqdm(probing.kinds, desc=f"{spec.study}: probing {net}", unit="probe") as bar:
        found = {}
        for kind in bar:
            bar.set_postfix_str(kind)
            found[kind] = probing.result(kind)
    # All at once: what is in the folder stays what DVC has recorded until the last probe is done.
    write(folder, found)


if __name__ == "__main__":
    run(main, __doc__, net="a net of params.yaml")
