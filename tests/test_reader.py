"""Settings that do not fit are refused in one sentence that names the place."""

from pathlib import Path

import pytest
import yaml

from skipgate import params
from skipgate.files import Problem
from skipgate.nets.bodies import Plan, build
from skipgate.reader import nearest, plain, read
from skipgate.settings import Body, Mlp, Probes, Recipe
from skipgate.specs import resolve
from tests.toys import ROOT


def load_with(tmp_path: Path, change) -> params.Params:
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    change(settings)
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(settings))
    return params.load(file)


def put(*path_and_value):
    """A change that sets the value at a path."""
    *path, last, value = path_and_value

    def change(settings):
        for key in path:
            settings = settings[key]
        settings[last] = value

    return change


def drop(*path):
    def change(settings):
        for key in path[:-1]:
            settings = settings[key]
        del settings[path[-1]]

    return change


CASES = {
    "misspelt key": (put("recipes", "digits-dense", "epohcs", 3), r"params\.recipes\.digits-dense\.epohcs: unknown key; did you mean 'epochs'\?"),
    "missing key": (drop("recipes", "digits-dense", "batch"), r"params\.recipes\.digits-dense: the key 'batch' is missing"),
    "a word for a number": (put("recipes", "digits-dense", "epochs", "many"), r"params\.recipes\.digits-dense\.epochs: expected a whole number, found 'many'"),
    "1e-4": (put("recipes", "digits-conv", "decay", "rate", "1e-4"), r"decay\.rate: expected a number, found '1e-4' \(YAML reads it as text; write it out, as in 0\.000100\)"),
    "a fraction of an epoch": (put("recipes", "digits-dense", "epochs", 1.5), r"epochs: expected a whole number, found 1\.5"),
    "true for a number": (put("recipes", "digits-dense", "epochs", True), r"epochs: expected a whole number, found True"),
    "no epochs": (put("recipes", "digits-dense", "epochs", 0), r"params\.recipes\.digits-dense: epochs must be above 0, found 0"),
    "unknown gate": (put("nets", "digits", "gated-2", "T", "scaler"), r"params\.nets\.gated-2\.T: there is no gate 'scaler' in nets/gates; did you mean 'scalar'\?"),
    "unknown body": (put("nets", "digits", "gated-2", "body", "mlp-3"), r"params\.nets\.gated-2\.body: there is no 'mlp-3'; did you mean 'mlp-2'\?"),
    "a depth that no block fits": (put("bodies", "mlp-10", "depth", 11), r"params\.bodies\.mlp-10: depth 11 does not divide into blocks of 2; use 10 or 12"),
    "unknown kind": (put("bodies", "mlp-10", "kind", "mpl"), r"params\.bodies\.mlp-10\.kind: 'mpl' is not known; did you mean 'mlp'\?"),
    "unknown choice": (put("bodies", "mlp-10", "order", "past"), r"params\.bodies\.mlp-10\.order: 'past' is not known; did you mean 'post'\?"),
    "a number for a section": (put("nets", 3), r"params\.nets: expected keys and values, found 3"),
    "too few numbers": (put("data", "digits", "shape", [8, 8]), r"params\.data\.digits\.shape: expected 3 items, found 2"),
    "a negative rate": (put("recipes", "digits-dense", "optimiser", "rate", -0.1), r"optimiser: rate must be above 0, found -0\.1"),
    "percents for fractions": (put("recipes", "digits-conv", "schedule", "at", [50, 75]), r"schedule: a fraction of at must be between 0 and 1, found 50"),
    "negative decay": (put("recipes", "digits-conv", "decay", "rate", -1), r"decay: rate must be between 0 and 1, found -1"),
    "nesterov without momentum": (put("recipes", "digits-conv", "optimiser", "momentum", 0), r"optimiser: nesterov needs a momentum above 0"),
    "no orders": (put("probes", "usual", "prune", "orders", 0), r"params\.probes\.usual\.prune: orders must be above 0, found 0"),
    "unknown probes": (put("nets", "digits", "gated-2", "probes", "usal"), r"params\.nets\.gated-2\.probes: there is no 'usal'; did you mean 'usual'\?"),
    "fewer than no images": (put("recipes", "digits-dense", "images", -1), r"params\.recipes\.digits-dense: images must be between 0 and inf, found -1"),
    "a list for a kind": (put("bodies", "mlp-10", "kind", ["mlp"]), r"params\.bodies\.mlp-10\.kind: \['mlp'\] is not known"),
    "a number for a name": (lambda s: s["nets"]["digits"].update({10: {"body": "mlp-2"}}), r"params\.nets: the name 10 must be of small letters"),
    "a name that is a command": (lambda s: s["nets"]["digits"].update({"$(touch x)": {"body": "mlp-2"}}), r"params\.nets: the name '\$\(touch x\)' must be of small letters"),
    "no probes": (put("probes", "usual", "kinds", []), r"params\.probes\.usual: kinds is empty"),
    "unknown probe": (put("probes", "usual", "kinds", ["lesoin"]), r"there is no probe 'lesoin'; did you mean 'lesion'"),
    "a misspelt default": (put("studies", "digits", "defaults", "sedes", 3), r"params\.studies\.digits\.defaults\.sedes: unknown key; did you mean 'seeds'"),
    "a list of defaults": (put("studies", "digits", "defaults", [3]), r"params\.studies\.digits\.defaults: expected keys and values"),
    "a study on a net's line": (put("nets", "digits", "gated-2", "study", "mnist"), r"params\.nets\.digits\.gated-2\.study: nets stand under their study"),
    "nets of no study": (put("nets", "digts", {}), r"params\.nets: there is no study 'digts'; did you mean 'digits'"),
    "a net that stands twice": (put("nets", "mnist", "gated-2", {"body": "mnist-2"}), r"the net 'gated-2' stands twice"),
    "data without a source": (drop("sources", "mnist"), r"params\.sources: the data set 'mnist' has no source"),
    "an unknown source": (put("sources", "mnist", "kind", "mnits"), r"params\.sources\.mnist: there is no source 'mnits'; did you mean 'mnist'"),
    "an unknown task": (put("data", "mnist", "kind", "clasify"), r"params\.data\.mnist\.kind: 'clasify' is not known; did you mean 'classify'"),
    "a name that leaves the folder": (lambda s: s["nets"]["digits"].update({"../x": {"body": "mlp-2"}}), r"params\.nets: the name '\.\./x' must be of small letters"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), CASES.values(), ids=CASES)
def test_bad_settings_are_refused_by_their_place(tmp_path, change, message):
    with pytest.raises(Problem, match=message):
        load_with(tmp_path, change)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"gate": "sigmoid", "bais": 1}, r"nets\.x\.T\.bais: unknown key; did you mean 'bias'\?"),
        ({"gate": "sigmoid", "bias": "low"}, r"nets\.x\.T\.bias: expected a number, found 'low'"),
        ({"gate": "epsilon", "over": "all"}, r"nets\.x\.T\.over: 'all' is not known"),
        ({"gate": "survival", "last": 2}, r"nets\.x\.T: last must be between 0 and 1, found 2"),
        ({"gate": "coupled"}, r"nets\.x\.T: the gate 'coupled' cannot stand here, only under C"),
    ],
)
def test_bad_settings_of_a_gate_are_refused_by_their_place(tmp_path, setting, message):
    settings = resolve(
        load_with(tmp_path, put("nets", "digits", "gated-2", "T", setting)), "gated-2"
    )
    with pytest.raises(Problem, match=message):
        build(settings.body, Plan(settings.T, settings.C, (1, 8, 8), 10, 1, "nets.x"))


def test_yaml_that_does_not_parse_is_refused(tmp_path):
    (tmp_path / "params.yaml").write_text("nets: {a: [")
    with pytest.raises(Problem, match="is not valid YAML"):
        params.load(tmp_path / "params.yaml")


def test_defaults_and_whole_numbers_are_filled_in():
    recipe = read(
        Recipe,
        {
            "epochs": 1,
            "batch": 2,
            "optimiser": {"kind": "sgd", "rate": 1},
            "schedule": {"kind": "constant"},
        },
        "r",
    )
    assert isinstance(recipe.optimiser.rate, float)
    assert recipe.optimiser.nesterov
    assert recipe.decay.rate == 0


def test_plain_is_the_inverse_of_read(tmp_path):
    loaded = load_with(tmp_path, lambda _: None)
    assert read(params.Params, plain(loaded), "params") == loaded
    assert read(Body, plain(Mlp("mlp", 4)), "b") == Mlp("mlp", 4)


def test_a_setting_that_came_later_is_written_only_where_it_is_used():
    """Else every committed spec would change with it, and every net train again."""
    before = plain(Probes())
    assert not {"patches", "whole", "resamples"} & before.keys()
    assert read(Probes, before, "probes") == Probes()
    used = Probes(resamples=3, whole=("lesion",))
    assert plain(used)["resamples"] == 3
    assert read(Probes, plain(used), "probes") == used


def test_of_many_words_none_of_which_is_close_a_few_are_offered():
    assert nearest("x", ["aa", "bb"]) == "use one of: aa, bb"
    told = nearest("x", [f"net-{i:03}" for i in range(222)])
    assert told.startswith("use one of: net-000, net-001, ")
    assert told.endswith("net-019 and 202 more")
