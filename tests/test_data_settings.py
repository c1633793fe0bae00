"""What may be said of data and of how images are changed, and what is refused by its place."""

import pytest
import yaml

from skipgate import behaviour, params, stages
from skipgate.files import Problem
from skipgate.reader import plain, read
from skipgate.settings import Augment, FixedPixels, Jitter, Lighting, Recipe, TaskSettings, Window
from tests.toys import ROOT

PLAIN = {
    "epochs": 1,
    "batch": 2,
    "optimiser": {"kind": "sgd", "rate": 1},
    "schedule": {"kind": "constant"},
}


def load_with(folder, change):
    """params.yaml with a change; nets are kept in their order, which their variations need."""
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    change(settings)
    file = folder / "params.yaml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False))
    return params.load(file)


def test_pixels_are_a_word_or_numbers():
    assert read(Recipe, {**PLAIN, "pixels": "centred-128"}, "r").pixels == "centred-128"
    numbers = {"brightest": 255, "deviation": [128]}
    recipe = read(Recipe, {**PLAIN, "pixels": numbers}, "r")
    assert recipe.pixels == FixedPixels(brightest=255, deviation=(128.0,))
    assert read(Recipe, plain(recipe), "r") == recipe
    with pytest.raises(Problem, match=r"r\.pixels: 'centerd' is not known; did you mean 'centred'"):
        read(Recipe, {**PLAIN, "pixels": "centerd"}, "r")
    with pytest.raises(Problem, match=r"r\.pixels\.deviations: unknown key"):
        read(Recipe, {**PLAIN, "pixels": {"deviations": [1]}}, "r")


def test_new_changes_of_images_are_written_only_where_they_are_used():
    assert plain(Augment(4, True)) == {"pad": 4, "flip": True}
    used = Augment(
        brightness=10,
        contrast=0.2,
        window=Window((0.08, 1), (0.75, 1.33)),
        jitter=Jitter(0.4, 0.4, 0.4),
        lighting=Lighting(0.1, (0.2, 0.1, 0.1)),
    )
    assert plain(used)["brightness"] == 10
    assert read(Augment, plain(used), "a") == used


@pytest.mark.parametrize(
    ("augment", "message"),
    [
        ({"window": {"area": [1, 0.1]}}, r"a\.window: area goes from 1 down to 0.1"),
        ({"window": {"area": [0.1, 1.5]}}, r"a\.window: area must be between 0 and 1"),
        ({"window": {"ratio": [0, 1]}}, r"a\.window: ratio must be above 0"),
        ({"contrast": 2}, "contrast must be between 0 and 1"),
        ({"jitter": {"hue": 1}}, r"a\.jitter\.hue: unknown key"),
        ({"lighting": {"vectors": [[1, 0, 0]]}}, r"a\.lighting: vectors must have 3 rows, found 1"),
    ],
)
def test_changes_of_images_that_make_no_sense_are_refused(augment, message):
    with pytest.raises(Problem, match=message):
        read(Augment, augment, "a")


def test_content_without_a_hash_or_official_files_is_refused(tmp_path):
    with pytest.raises(Problem, match=r"params\.data\.svhn: nothing says what its content is"):
        load_with(tmp_path, lambda settings: settings["data"]["svhn"].pop("md5"))


def test_official_files_are_in_the_spec_and_in_no_other(settings):
    svhn = settings.data["svhn"]
    assert read(TaskSettings, plain(svhn), "d") == svhn
    assert plain(svhn)["md5"] == svhn.md5
    assert plain(settings.data["mnist"]).keys() == {
        "kind",
        "shape",
        "classes",
        "top",
        "test",
        "sha256",
    }


def test_data_that_no_net_uses_are_not_fetched(settings):
    used = yaml.safe_load(stages.listed(settings))["stages"]["data"]
    assert set(used) == {net.data for net in settings.nets.values()}


def test_streamed_images_are_not_scaled_by_what_all_of_them_have(tmp_path):
    def change(settings):
        net = {"body": "conv-3", "recipe": "digits-conv", "data": "imagenet"}
        settings["nets"]["digits"]["streamed"] = net

    with pytest.raises(Problem, match=r"'centred' takes all training images .* fixed pixels"):
        load_with(tmp_path, change)


def test_a_net_on_streamed_images_has_a_digest_that_knows_how_they_are_changed(tmp_path):
    def digest(augment):
        def change(settings):
            settings["recipes"]["photographs"] = {**PLAIN, "augment": augment}
            net = {"body": "imagenet-18", "recipe": "photographs", "data": "imagenet"}
            settings["nets"]["digits"]["streamed"] = net

        return behaviour.specify(load_with(tmp_path, change), "streamed")[0]["behaviour"]

    kinds = (
        {},
        {"window": {"area": [0.08, 1], "ratio": [0.75, 1.33]}},
        {"jitter": {"contrast": 0.4}},
        {"lighting": {"deviation": 0.1, "values": [0.2, 0.02, 0.005]}},
    )
    found = [str(digest(augment)) for augment in kinds]
    assert len(set(found)) == len(kinds)


def test_grey_images_have_no_colours_to_change(tmp_path):
    def change(settings):
        settings["recipes"]["digits-dense"]["augment"] = {"jitter": {"saturation": 0.4}}

    with pytest.raises(Problem, match=r"augment\.jitter: the images of .* have no colours"):
        load_with(tmp_path, change)
