"""Which choice leads to a paper's numbers: predictions, the correction for trying many, answers."""

import copy
import dataclasses

import numpy as np
import pytest
from scipy import stats

from skipgate.judging import choice_rates, choices, judgement
from skipgate.judging.choices import Candidate, Prediction, Reported, Round, Row, predicted
from skipgate.reporting import choices as told
from skipgate.results import store
from skipgate.settings import MEAN_GATE
from skipgate.settings.measures import error_rate

ERROR = error_rate(10)


def row(error=1.6, k=2.5):
    numbers = (
        Reported("test_error", error, 0.01, ERROR, 10000),
        Reported(MEAN_GATE.name, k, 0.01, MEAN_GATE),
    )
    return Row("net", "gated, d = 10", numbers)


def sample(error, k, seed=0, count=5):
    generator = np.random.default_rng(seed)
    return generator.normal((error, k), (0.08, 0.05), (count, 2))


def tried(paper, *means):
    """A round with the default and one candidate for each further pair of means."""
    made = predicted([sample(*mean, seed=i) for i, mean in enumerate(means)], paper)
    names = [(), *((f"choice-{i}",) for i in range(1, len(means)))]
    candidates = [Candidate(n, "last", {"net": p}) for n, p in zip(names, made, strict=True)]
    return Round((paper,), tuple(candidates))


def test_a_prediction_is_scipys_multivariate_t_and_hotellings_test():
    scale = np.array([[0.04, 0.01], [0.01, 0.09]])
    found = Prediction(np.array([1.0, 2.0]), scale, 7.5)
    values = np.array([1.3, 1.6])
    law = stats.multivariate_t(found.mean, scale, df=7.5)
    assert found.fit(values) == pytest.approx(law.logpdf(values))
    drawn = found.draws(20000, np.random.default_rng(0))
    far = np.array([found.chance(one) for one in drawn[:4000]])
    assert stats.kstest(far, "uniform").pvalue > 0.01
    assert np.allclose(drawn.mean(0), found.mean, atol=0.01)


def test_a_paper_is_one_more_draw_so_that_one_number_is_students_t():
    """mean + t sqrt(s^2 (1 + 1/n)): the textbook's prediction interval, and rounding on top."""
    number = Reported("score", 1.0, 0.0, MEAN_GATE)
    values = np.array([[1.0], [1.2], [0.9], [1.1]])
    (found,) = predicted([values], Row("net", "", (number,)))
    deviation = values.std(ddof=1)
    assert found.scale[0, 0] == pytest.approx(deviation**2 * 1.25)
    assert found.freedom == 3
    distance = (1.4 - values.mean()) / np.sqrt(found.scale[0, 0])
    assert found.chance(np.array([1.4])) == pytest.approx(2 * stats.t.sf(distance, 3))


def test_numbers_that_go_together_predict_together():
    generator = np.random.default_rng(1)
    shared = generator.normal(size=(8, 40, 1))
    samples = list(0.1 * (shared + 0.2 * generator.normal(size=(8, 40, 2))) + 2)
    found = predicted(samples, row())[0].scale
    assert 0.9 < found[0, 1] / np.sqrt(found[0, 0] * found[1, 1]) < 1


def test_a_choice_that_leads_to_the_papers_numbers_is_found():
    found = tried(row(1.6, 2.5), (2.0, 2.1), (1.6, 2.5), (1.9, 1.5))
    assert found.answer == "found"
    assert found.candidates[found.best].choices == ("choice-1",)
    assert found.gains[0] == 0
    assert found.shares[1] > 0.99
    assert sum(found.shares) == pytest.approx(1)
    assert "`choice-1` at the last epoch leads to the paper's numbers" in told._concluded(found)


def test_a_choice_that_only_comes_nearer_is_called_that_with_what_it_misses():
    found = tried(row(1.6, 2.5), (2.0, 1.0), (2.0, 2.5))
    assert found.answer == "nearer"
    sentence = told._concluded(found)
    assert "comes nearest, but does not lead" in sentence
    assert "test error of gated, d = 10 is reported as 1.6" in sentence
    assert "mean of T" not in sentence


def test_where_the_default_does_as_well_nothing_is_found():
    found = tried(row(2.0, 2.1), (2.0, 2.1), (2.05, 2.12), (1.6, 2.5))
    assert found.answer == "none"
    assert "no choice leads" in told._concluded(found)


def test_the_more_is_tried_the_less_a_lead_means():
    """The same best candidate, alone and among forty others that lead elsewhere at random."""
    paper = row(1.85, 2.18)
    others = np.random.default_rng(4).normal((2.0, 2.1), (0.15, 0.1), (40, 2)).tolist()
    few = tried(paper, (2.0, 2.1), (1.86, 2.18))
    many = Round(few.rows, (*few.candidates, *tried(paper, (2.0, 2.1), *others).candidates[1:]))
    assert few.chance < many.chance


@pytest.mark.parametrize(
    ("truth", "nets", "least", "most"),
    [("default", 1, 0.0, 0.05), ("default", 4, 0.0, 0.05), ("tried", 4, 0.9, 1.0), ("not tried", 4, 0.0, 0.1)],
)  # fmt: skip
def test_planted_choices_are_found_and_others_are_not_at_the_stated_rates(truth, nets, least, most):
    """Decision 14 has these rates over more worlds."""
    found = choice_rates.rates(truth, nets, 100, seed=2)
    assert least <= found.found <= most
    if truth == "tried":
        assert found.right >= 0.9


def shifted(base, spec, by):
    """A net's results as if every seed erred by so many points more."""
    parts = copy.deepcopy(base.parts)
    for column in parts["train"]["metrics"]["test_error"]:
        column[:] = [value + by for value in column]
    return store.Result(spec, parts)


def test_the_study_sets_all_variations_beside_the_papers_rows(settings, loaded, monkeypatch):
    """Those of other studies count too; two numbers of one net."""
    study = store.load(settings, "choices")
    base = study.bases["mnist-gated-10"]
    study = dataclasses.replace(study, bases={"mnist-gated-10": base})
    names = [n for n, net in settings.nets.items() if net.base == "mnist-gated-10"]
    made = {
        name: shifted(base, dataclasses.replace(base.spec, net=name), 0.1 * place)
        for place, name in enumerate(names)
    }
    monkeypatch.setattr(choices, "result_of", lambda net: made.get(net) or store.result_of(net))
    found = choices.gather(settings, study, loaded)
    (part,) = found.rounds
    assert [number.value for number in part.rows[0].numbers] == [1.6, 2.54]
    assert len(part.candidates) == 2 * (len(names) + 1), "each at the last and at the best epoch"
    assert part.candidates[0].is_default
    assert {effect.choices for effect in found.effects} == {
        settings.nets[name].choices for name in names
    }
    last = found.effects[-1]
    assert last.choices == settings.nets[names[-1]].choices, "the furthest away comes last"
    assert last.on_score("last").mean == pytest.approx(0.1 * (len(names) - 1))
    assert last.on_gates.mean == 0
    assert list(found.deepest) == [(), *(effect.choices for effect in found.effects)]
    assert f"### k by block, d = {len(base.part('gates')['T']) * 2}" in told.section(found)


def test_a_study_that_varies_its_own_nets_is_about_something_else(settings, loaded):
    assert choices.gather(settings, store.load(settings, "mnist"), loaded) is None
    assert judgement.judge_study(settings, store.load(settings, "mnist"), loaded).choices is None


def test_a_choice_about_gates_leaves_nets_without_gates_as_they_are(settings, loaded, monkeypatch):
    """A residual net is its own variation under k-two, and is read where it stands."""
    study = store.load(settings, "choices")
    base = study.bases["mnist-gated-10"]
    gates = dataclasses.replace(base.spec.settings.T, settings={"start": 2})
    spec = dataclasses.replace(base.spec, settings=dataclasses.replace(base.spec.settings, T=gates))
    monkeypatch.setattr(
        choices,
        "result_of",
        lambda net: (
            shifted(base, spec, 0.1) if net == "mnist-gated-10-k-two" else store.result_of(net)
        ),
    )
    rows = [choices._row(study.bases[net], loaded) for net in study.bases]
    found = choices._tried(settings, study, rows)
    completed = choices._completed(found)
    net = "mnist-residual-2"
    assert completed["k-two",][net] is study.bases[net]
    assert completed["k-two", "no-scale"][net] is found["no-scale",][net]
    assert net not in completed["he",]
    assert net not in found["k-two", "no-scale"], "what is no net of its own has no effect"


def test_the_epoch_is_chosen_by_what_was_held_out(settings):
    base = store.result_of("mnist-gated-10")
    parts = copy.deepcopy(base.parts)
    metrics = parts["train"]["metrics"]
    epochs = len(metrics["test_error"][0])
    metrics["validation_error"] = [[9.0] * epochs for _ in metrics["test_error"]]
    for column in metrics["validation_error"]:
        column[7] = column[20] = 1.0
    found = store.Result(base.spec, parts).metric("test_error", "validation")
    assert found == [column[7] for column in metrics["test_error"]]
    with pytest.raises(store.Waiting):
        base.metric("test_error", "validation")
