"""Where the theory study contradicts a paper, in words.

A sentence appears on the page only if the results support it.
"""

from collections.abc import Callable
from typing import Any

Theory = dict[str, Any]
"""Results by part; the parts are `skipgate.reporting.theory.PARTS`."""
Link = Callable[[str, object], str]
"""Makes text a link to the result file of a part: (part, text) -> Markdown."""
ROUNDING = 1e-9


def findings(theory: Theory, link: Link) -> list[str]:
    """One or more sentences per finding."""
    return [sentence for finding in FINDINGS if (sentence := finding(theory, link))]


def margin(value: float, half: float) -> str:
    """A fitted number with half of its interval."""
    digits = 3 if half < 0.01 else 2
    return f"{value:.{digits}f} ± {half:.{digits}f}"


def line(slope: float, intercept: float) -> str:
    """A line in n, as the paper prints it."""
    return f"{slope:g}n" + (f" + {intercept:g}" if intercept else "")


def _bias_variance(theory: Theory, link: Link) -> str:
    table = theory["sdi"]["table"]
    word = "highway -4.0 project"
    intercept = table[f"{word} sampled intercept"]
    half = table[f"{word} intercept margin"]
    if not abs(intercept) < 2 * half < 1:
        return ""
    return (
        "gresnet-v1 Equation 10 adds a variance 2/n for the gate's bias, which the text before it "
        "fixed at -4. Without it the intercept of TSDI is 0 and not 2; sampled: "
        f"{link('sdi', margin(intercept, half))}."
    )


def _smallest(theory: Theory, link: Link) -> str:
    table = theory["sdi"]["table"]
    lines = [
        (table[f"{n} slope"], table[f"{n} intercept"])
        for n in ("residual", "highway -4.0", "highway -4.0 project")
    ]
    if not lines[0] == lines[1] > lines[2]:
        return ""
    same, smaller = (link("sdi", line(*found)) for found in lines[1:])
    return (
        "gresnet-v1 section 2.4 calls the residual TSDI the smallest of the three. At c = -4 the "
        f"highway layer has the same one, {same}, by the paper's own formulas, and a smaller one, "
        f"{smaller}, once the fixed bias has no variance."
    )


def _equation_15(theory: Theory, link: Link) -> str:
    slip = theory["sdi"]["misprint"]
    printed, derived, sampled = (slip[key] for key in ("as printed", "derived", "sampled"))
    if not abs(sampled - derived) < 5 * slip["error"] < abs(sampled - printed):
        return ""
    return (
        "gresnet-v1 Equation 15 ends in σ² + (μ² - 1)²; what precedes it gives σ² + (μ - 1)². At μ "
        f"= {slip['mean']:g} and σ² = {slip['variance']:g} that is {link('sdi', f'{printed:.4f}')} "
        f"against {link('sdi', f'{derived:.4f}')}; sampled: "
        f"{link('sdi', margin(sampled, slip['error']))}. At μ = 0, which is all the paper uses, "
        "the two are equal."
    )


def _cost(theory: Theory, link: Link) -> str:
    slices = theory["slices"]
    mix = slices["deviations"]["residual output is the mix"]
    ks = slices["k"]
    blocks = [slices["loss"][f"{which} block"] for which in ("first", "last")]
    if not mix < ROUNDING < min(block["bend between 0 and 1"] for block in blocks):
        return ""
    rise = [abs(block["loss"][ks.index(1.0)] - block["loss"][ks.index(0.0)]) for block in blocks]
    both = {
        key: " and ".join(link("slices", f"{b[key]:.2g}") for b in blocks)
        for key in ("bend between 0 and 1", "bend")
    }
    return (
        "gresnet-v2 section 2.2 says that the slices of the cost surface at other k are linear "
        "combinations of those at 0 and 1. That is true of the layer's output (to "
        f"{link('slices', f'{mix:.0e}')}), not of the cost. In one fresh network, along the first "
        f"and the last block's k, the cost leaves the line by up to {both['bend between 0 and 1']} "
        f"between 0 and 1, where it changes by {link('slices', f'{rise[0]:.2g}')} and "
        f"{link('slices', f'{rise[1]:.2g}')}, and by up to {both['bend']} for k up to {ks[-1]:g}. "
        "Along the last k this is so although the logits are linear in it."
    )


def _unit_weights(theory: Theory, link: Link) -> str:
    bare, normalised = (
        theory["slices"][f"W = I from the identity, plain{word}"] for word in ("", ", normalised")
    )
    if not bare < ROUNDING < normalised:
        return ""
    return (
        "gresnet-v2 section 2.2 also equates the slice k = 0 with the point W = I. That holds for "
        f"a bare ReLU layer (deviation {link('slices', f'{bare:g}')}), not for Dot-BN-ReLU, the "
        "layer of the MNIST experiments: batch normalisation moves its outputs by up to "
        f"{link('slices', f'{normalised:.1f}')}. For residual layers the point is W = 0, and "
        "normalisation does no harm."
    )


def _covariance(theory: Theory, link: Link) -> str:
    case = theory["mixes"]["cases"]["new one worse"]
    if not (case["T as printed"] == 0 and case["variance as printed"] > case["variance"]):
        return ""
    return (
        "unrolled section 3.3 writes the covariance in both alphas as that of a - A and a - H; "
        "Appendix A.1 has that of the two errors. As printed, an independent estimate would never "
        f"be let in: T = {link('mixes', 0)} and variance "
        f"{link('mixes', case['variance as printed'])} instead of "
        f"{link('mixes', case['variance'])} for errors of variance {case['variance a']:g} and "
        f"{case['variance H']:g}."
    )


def _logarithm(theory: Theory, link: Link) -> str:
    case = theory["mixes"]["cases"]["new one worse"]
    right = case["sigmoid of log(alpha1/alpha2)"]
    wrong = case["sigmoid of log(alpha2/alpha1)"]
    if not abs(right - case["T"]) < ROUNDING < abs(wrong - case["T"]):
        return ""
    return (
        "unrolled section 4.1 says that the gate's pre-activation estimates log(α₂/α₁). It is "
        f"log(α₁/α₂): in the same case the former makes T = {link('mixes', wrong)}, the latter the "
        f"best one, {link('mixes', right)}."
    )


def _positive(theory: Theory, link: Link) -> str:
    case = theory["mixes"]["cases"]["new one worse"]
    variance = case["variance at T = 0.95"]
    most = case["largest harmless T"]
    if not variance > case["variance a"]:
        return ""
    return (
        "unrolled section 4.1 also bounds the variance by the previous layer's if both weights are "
        f"positive. They are at T = 0.95, where it is {link('mixes', variance)} against "
        f"{case['variance a']:g}; T must not exceed {link('mixes', most)}, twice the best one."
    )


def _threshold(theory: Theory, link: Link) -> str:
    found = theory["epsilon"]
    if not (found["at epsilon"] == 0 and found["band"] > 0):
        return ""
    return (
        "epsilon-ResNet's Equation 3 keeps responses whose largest is exactly ε. The ReLUs that "
        "compute it do not, nor any that are less than "
        f"{link('epsilon', format(found['band'], '.0e'))} = 1/L above ε. Elsewhere the gate is "
        f"strict: {link('epsilon', found['samples that differ'])} of {found['samples']:,} samples "
        "differ from the equation."
    )


def _wide(theory: Theory, link: Link) -> str:
    counts = theory["counts"]
    if counts["gates-wide-3-4"] == counts["gates-wide-4-3"]:
        return ""
    said, meant = (
        f"{link('counts', f'{counts[n]:,}')} and {link('counts', counts[f'gates-{n}'])}"
        for n in ("wide-4-3", "wide-3-4")
    )
    return (
        "gresnet-v1 section 4.2 describes its Wide ResNet as k = 3, n = 4. The 4.3M parameters and "
        f"9 gates it prints belong to n = 3, k = 4 ({meant}); n = 4, k = 3 has {said}."
    )


def _hundred(theory: Theory, link: Link) -> str:
    each = theory["counts"]["blocks-a-stage-100"]
    if each == round(each):
        return ""
    return (
        "epsilon-ResNet names a network of 100 layers for SVHN. Three stages of two-layer blocks "
        f"have 6n + 2 layers, and 100 would need n = {link('counts', f'{each:.2f}')}."
    )


def _lecture(theory: Theory, link: Link) -> str:
    terms = theory["paths"]["terms of the lecture"]
    count = theory["paths"]["paths 3"]
    if terms == count:
        return ""
    return (
        f"The lecture counts {link('paths', terms)} paths through three blocks: the terms of the "
        "sum as it is written out. If each block is passed through or by, as Veit et al. count, "
        f"there are {link('paths', count)}."
    )


FINDINGS: tuple[Callable[[Theory, Link], str], ...] = (
    _bias_variance,
    _smallest,
    _equation_15,
    _wide,
    _cost,
    _unit_weights,
    _covariance,
    _logarithm,
    _positive,
    _threshold,
    _hundred,
    _lecture,
)
