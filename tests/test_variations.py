"""`vary` beside a net: what becomes of it, and what is refused."""

import pytest
import yaml

from skipgate import params
from skipgate.files import Problem
from skipgate.reader import flat, plain
from skipgate.specs import resolve
from tests.test_seeds import started
from tests.toys import ROOT


def loaded(tmp_path, vary, net="gated-2", study="digits", **named):
    """The project's params with this `vary` on a net, and these variations."""
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    line = settings["nets"][study].setdefault(net, {})
    line["vary"] = vary
    settings["variations"].update(named)
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    return params.load(file)


def changed(settings, net):
    """The settings in which a variation differs from its base."""
    base, own = (flat(plain(resolve(settings, n))) for n in (settings.nets[net].base, net))
    return {key: own.get(key) for key in {**base, **own} if base.get(key) != own.get(key)}


def test_a_variation_is_a_net_of_the_same_study_that_differs_in_its_changes_alone(tmp_path):
    found = loaded(tmp_path, {"wider": {"body.width": 60}, "high": {"T.start": 2}})
    assert changed(found, "gated-2-wider") == {"body.width": 60}
    assert changed(found, "gated-2-high") == {"T.start": 2}
    wider = found.nets["gated-2-wider"]
    assert (wider.study, wider.base, wider.choices) == ("digits", "gated-2", ("wider",))
    assert found.nets["gated-2"].base == ""


def test_choices_by_name_may_be_changed_together(tmp_path):
    found = loaded(tmp_path, ["k-two", ["k-two", "no-scale"]])
    assert changed(found, "gated-2-k-two") == {"T.start": 2}
    assert changed(found, "gated-2-k-two-no-scale") == {"T.start": 2, "body.norm.scale": False}
    assert found.nets["gated-2-k-two-no-scale"].choices == ("k-two", "no-scale")


def test_of_another_studys_net_only_the_variations_are_nets_of_this_one(settings):
    nets = settings.nets_of("choices")
    assert "mnist-gated-10" not in nets
    assert nets["mnist-gated-10-k-two"].probes == "gates"
    assert nets["mnist-gated-10-k-two"].recipe == settings.nets["mnist-gated-10"].recipe


def test_every_variation_of_the_project_changes_what_it_names_and_nothing_else(settings):
    varied = [name for name, net in settings.nets.items() if net.base]
    assert varied
    for name in varied:
        changes = {}
        for choice in settings.nets[name].choices:
            changes |= settings.variations[choice]
        expected = {
            f"{path}.gate" if path in ("T", "C") else path: v for path, v in changes.items()
        }
        assert changed(settings, name) == expected, name


def test_the_papers_words_are_there_for_every_choice_of_the_study(settings):
    words = yaml.safe_load((ROOT / "papers" / "gresnet.yaml").read_text())["choices"]
    for net in settings.nets_of("choices").values():
        assert set(net.choices) <= words.keys()


REFUSED = {
    "a part that nets have not got": (
        {"x": {"bdy.width": 60}},
        r"params\.nets\.digits\.gated-2\.vary\.x\.bdy\.width: a net has no 'bdy'; did you mean 'body'",
    ),
    "a path that leads nowhere": (
        {"x": {"body.norm.scales": False}},
        r"vary\.x\.body\.norm\.scales: unknown key; did you mean 'scale'",
    ),
    "a path through a number": (
        {"x": {"body.width.more": 3}},
        r"vary\.x\.body\.width: expected a whole number, found \{'more': 3\}",
    ),
    "a value of another type": (
        {"x": {"recipe.epochs": "many"}},
        r"vary\.x\.recipe\.epochs: expected a whole number, found 'many'",
    ),
    "a gate that is not there": ({"x": {"T": "scaler"}}, r"vary\.x\.T: there is no gate 'scaler'"),
    "nothing changed": ({"x": {}}, r"vary\.x: expected paths with values, found \{\}"),
    "an unknown name": (["k-tow"], r"vary: there is no variation 'k-tow'; did you mean 'k-two'"),
    "two that change the same": (
        [["k-two", "k-half"]],
        r"vary: k-two and k-half both change T\.start; leave one out",
    ),
    "a word": ("k-two", r"vary: expected names of variations, or changes by name, found 'k-two'"),
    "a name that is taken": (
        {"wider": {"body.width": 60}},
        r"params\.nets\.digits: the net 'gated-2-wider' stands twice",
    ),
    "a name that is no name": ({"Wider": {"body.width": 60}}, r"the name 'gated-2-Wider' must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_its_path(tmp_path, case):
    vary, sentence = REFUSED[case]
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    if case == "a name that is taken":
        settings["nets"]["digits"]["gated-2-wider"] = {"body": "mlp-2"}
        nets = settings["nets"]["digits"]
        settings["nets"]["digits"] = {"gated-2-wider": nets.pop("gated-2-wider"), **nets}
    settings["nets"]["digits"]["gated-2"]["vary"] = vary
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    with pytest.raises(Problem, match=sentence):
        params.load(file)


def test_a_named_variation_without_changes_is_refused(tmp_path):
    with pytest.raises(Problem, match=r"params\.variations\.wider: expected paths with values"):
        loaded(tmp_path, ["wider"], wider="body.width")


def test_the_study_that_varies_may_stand_before_the_one_that_is_varied(tmp_path, settings):
    plain_settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(plain_settings, sort_keys=True))
    found = params.load(file)
    assert {n: resolve(found, n) for n in found.nets} == {
        n: resolve(settings, n) for n in settings.nets
    }


def test_variations_of_a_net_that_is_nowhere_are_refused(tmp_path):
    with pytest.raises(Problem, match=r"choices\.mnist-gated-11: there is no such net to vary"):
        loaded(tmp_path, ["k-two"], net="mnist-gated-11", study="choices")


def test_a_net_cannot_call_itself_a_variation(tmp_path):
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings["nets"]["digits"]["gated-2"]["base"] = "gated-10"
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    with pytest.raises(Problem, match=r"gated-2\.base: a net does not say this itself"):
        params.load(file)


def test_a_variation_is_trained_probed_and_shown_and_one_that_changes_nothing_is_refused(tmp_path):
    project = started(tmp_path)
    project.edit_params(
        lambda settings: settings["nets"]["digits"]["gated-2"].update(vary={"high": {"T.start": 2}})
    )
    project.repro("report@digits")
    page = (tmp_path / "reports" / "digits.md").read_text()
    row = next(line for line in page.splitlines() if "start 1.0 to 2" in line)
    assert "`gated-2-high`" in row
    assert "`gated-2`" in row
    before = sorted((tmp_path / "specs").glob("*.json"))
    project.edit_params(
        lambda settings: settings["nets"]["digits"]["gated-2"].update(
            vary={"same": {"T.start": 1.0}}
        )
    )
    said = project.stage("specify", code=1)
    assert "vary: same changes nothing: gated-2-same has the settings of gated-2" in said
    assert sorted((tmp_path / "specs").glob("*.json")) == before
