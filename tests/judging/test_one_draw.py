"""Claims on a network of which there is one: what is uncertain is which images it was tested on."""

import copy
import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from skipgate import params
from skipgate.files import Problem
from skipgate.judging import claims, papers
from skipgate.judging.claims.nets import pruned
from skipgate.judging.evidence import Part, decide
from skipgate.judging.judgement import judge_study
from skipgate.reporting import answers
from skipgate.results import store
from skipgate.results.by_image import over_images, redrawn
from tests.toys import ROOT


@pytest.fixture
def study(monkeypatch):
    monkeypatch.chdir(ROOT)
    return store.load(params.load(), "pretrained")


def resampled(effect, spread, count=200):
    shape = stats.norm.ppf((np.arange(count) + 0.5) / count)
    return Part("p", tuple(effect + spread * shape / shape.std(ddof=1)), effect=effect)


def test_the_spread_over_resamples_is_the_standard_error():
    part = resampled(1.0, 0.5)
    assert part.error == pytest.approx(0.5)
    assert part.bound(0.05) == pytest.approx(1.645 * 0.5, rel=0.001)
    assert decide([part], []).answer == "holds"
    assert decide([resampled(0.8, 0.5)], []).answer == "undecided"
    assert decide([resampled(-1.0, 0.5)], []).answer == "fails"
    as_seeds = Part("p", part.margins)
    assert as_seeds.error == pytest.approx(0.5 / math.sqrt(200)), "seeds are draws of their own"


def test_power_of_resamples_is_that_of_a_normal_test():
    part = resampled(0.0, 1.0)
    assert part.power(0.0) == pytest.approx(0.05)
    assert part.power(part.visible) == pytest.approx(0.8)


def test_a_mean_over_images_without_truth_is_rarely_called_right_or_wrong():
    """The whole way: images are drawn, drawn again, and judged."""
    generator, rounds, images = np.random.default_rng(3), 1000, 60
    found = []
    for _ in range(rounds):
        values = generator.normal(size=images)
        counts = generator.multinomial(images, np.full(images, 1 / images), size=100)
        part = Part("p", tuple(counts @ values / images), effect=float(values.mean()))
        found.append(decide([part], []).answer)
    assert found.count("holds") / rounds < 0.08
    assert found.count("fails") / rounds < 0.08


def test_the_effect_is_that_of_the_images_as_they_are(study, judged):
    part = judged("lesion-kills-plain", study).parts[0]
    lesion = study.results["vgg16-cifar10"].part("lesion")
    known = [row[0] for row in lesion["without"] if row[0] is not None]
    assert part.effect == pytest.approx(min(known) - 80)
    again = np.array([r for r in lesion["resampled"]["without"] if r[0] is not None])
    assert part.error == pytest.approx(np.std(again.min(0), ddof=1))
    assert part.stated == pytest.approx(10), "90% by the source, where guessing gives 90%"


def test_orders_are_drawn_again_along_with_images(study):
    """Five orders of removal that differ by 20 points say less than 2,000 images alone would."""
    result = study.results["resnet56-cifar10"]
    again = over_images(result)
    assert redrawn(result, 5, 1).tolist() == [[0, 1, 2, 3, 4]]
    chosen = redrawn(again, 5, 200)
    assert chosen.shape == (200, 5)
    assert len({tuple(row) for row in chosen.tolist()}) > 100
    random = np.array(again.part("prune")["random"])
    place = round(0.5 * (random.shape[1] - 1))
    assert np.std(pruned(again, 0.5)) > 1.5 * np.std(random[:, place].mean(0))


def test_a_part_that_the_images_as_they_are_have_no_number_for_decides_nothing():
    none, some = Part("p", ()), Part("p", tuple(np.linspace(0.1, 0.5, 200)))
    (part,) = claims._resampled([none], [some])
    assert decide([part], []).answer == "undecided"


def altered(study, net, kind, change):
    result = study.results[net]
    part = copy.deepcopy(result.parts[kind])
    change(part)
    parts = {**result.parts, kind: part}
    return dataclasses.replace(
        study, results={**study.results, net: dataclasses.replace(result, parts=parts)}
    )


def test_answers_follow_the_results(study, judged):
    def ruined(part):
        for rows in (part["without"], part["resampled"]["without"]):
            rows[-1] = [90.0] * len(rows[-1])

    assert judged("lesion-kills-plain", study).answer == "fails"
    changed = altered(study, "vgg16-cifar10", "lesion", ruined)
    assert judged("lesion-kills-plain", changed).answer == "holds"


def test_named_nets_decide_and_others_stand_beside(study, judged):
    outcome = judged("estimation-error-zero-mean", study)
    assert outcome.nets == ("resnet50-imagenet",)
    assert [part.name.split(",")[0] for part in outcome.parts] == ["resnet50-imagenet"]
    beside = [part.name for part in outcome.beside]
    assert sum("stage" in name and "resnet50" in name for name in beside) == 4
    assert any(name.startswith("resnet18") and "another net" in name for name in beside)
    assert judged("lesion-mild", study).nets == ("resnet56-cifar10",)


def test_a_claim_cannot_be_judged_on_a_net_that_is_not_there(settings, tmp_path):
    text = (ROOT / "papers" / "unrolled.yaml").read_text()
    (tmp_path / "unrolled.yaml").write_text(text.replace("[vgg16-cifar10]", "[vgg17-cifar10]"))
    with pytest.raises(Problem, match="pretrained has no net 'vgg17-cifar10'"):
        papers.load(settings, tmp_path)


def test_the_page_says_over_what_it_is_uncertain(study, settings, loaded):
    section = answers.section(judge_study(settings, study, loaded))
    assert "One network is one draw" in section
    assert "200 of images" in section
    assert "multilayer or small convolutional" not in section, "that is other studies' deviation"
