"""What the layers of a language model do to words (unrolled section 5.2).

"Some features need to be changed drastically conditioned on other detected features such as word
type": so gates are averaged over words of one class, and over all words unit by unit. Words that
lie near each other before and after the layers are Kim et al.'s Table 6.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from skipgate.data.text import Text
from skipgate.data.words import END, UNKNOWN
from skipgate.evaluation import evaluating
from skipgate.files import Problem
from skipgate.nets.reading import Reader
from skipgate.probes.subject import Subject
from skipgate.settings import Probes, Reading

NUMBER = "N"
HYPHEN = "-"
CLASSES = ("frequent", "rare", "hyphenated", UNKNOWN, NUMBER, "other")
"""Signs and hyphens decide before frequency does."""
TENTHS = tuple(share / 10 for share in range(11))


@torch.no_grad()
def probe(subject: Subject, settings: Probes) -> dict[str, Any]:
    """Openness of gates by class as [block][class][seed], and its deciles over units.

    `classes` and `counts` say which words there are; `unigram` is the test perplexity of a model
    that knows how often a word was trained on, and nothing else. `before` and `after` have the
    words nearest to each of `queries`, as [query][rank][seed].
    """
    network = subject.network
    text = subject.examples
    trained = subject.training
    if not (isinstance(network, Reader) and isinstance(text, Text) and isinstance(trained, Text)):
        raise Problem("the probe 'words' is for networks that read text")
    vocabulary = text.vocabulary
    counts = torch.bincount(trained.tokens, minlength=len(vocabulary.words))
    kinds = classes(vocabulary.words, counts.tolist(), settings.words)
    with evaluating(network), _watched(network) as found:
        before = network.spelling(vocabulary.spelling)
        after = network.follow(before)
    queries = [word for word in settings.words.queries if word in vocabulary.words]
    places = [vocabulary.words.index(word) for word in queries]
    most = settings.words.nearest
    return {
        "classes": list(CLASSES),
        "counts": [kinds.count(each) for each in CLASSES],
        "unigram": unigram(counts, text.tokens),
        **{name: _openness(values, kinds) for name, values in found.items() if values},
        "queries": queries,
        "before": _nearest(before, places, vocabulary.words, most),
        "after": _nearest(after, places, vocabulary.words, most),
    }


def classes(words: Sequence[str], counts: Sequence[int], settings: Reading) -> list[str]:
    """The class of each word; rare is what was trained on few times."""
    least = sorted(counts, reverse=True)[: settings.frequent][-1]
    return [_class(*pair, least, settings.rare) for pair in zip(words, counts, strict=True)]


def _class(word: str, count: int, frequent: int, rare: int) -> str:
    if word in (UNKNOWN, NUMBER):
        return word
    if word == END:
        return "other"
    if HYPHEN in word.strip(HYPHEN):
        return "hyphenated"
    if count <= rare:
        return "rare"
    return "frequent" if count >= frequent else "other"


def unigram(counts: Tensor, tokens: Tensor) -> float:
    """Perplexity where a word's probability is its share of the counts, each being 1 larger."""
    shares = (counts + 1).double() / (counts + 1).sum()
    return float(shares[tokens].log().mean().neg().exp())


@contextmanager
def _watched(network: Reader) -> Iterator[dict[str, list[Tensor]]]:
    """What gates give that depend on the word, (replica, word, unit), block by block."""
    found: dict[str, list[Tensor]] = {"T": [], "C": []}

    def hook(values: list[Tensor]) -> Any:
        def note(_: nn.Module, __: Any, value: Tensor | float) -> None:
            if isinstance(value, Tensor) and value.ndim == 3:
                values.append(value)

        return note

    hooks = [
        getattr(block, name).register_forward_hook(hook(values))
        for block in network.blocks
        for name, values in found.items()
    ]
    try:
        yield found
    finally:
        for handle in hooks:
            handle.remove()


def _openness(values: Sequence[Tensor], kinds: Sequence[str]) -> dict[str, Any]:
    """Means over the words of a class and all units; deciles over units of means over words."""
    chosen = [torch.tensor([kind == each for kind in kinds]) for each in CLASSES]
    tenths = torch.tensor(TENTHS, dtype=torch.float64)
    return {
        "by_class": [[v[:, own].double().mean((1, 2)).tolist() for own in chosen] for v in values],
        "by_unit": [v.double().mean(1).quantile(tenths, dim=1).tolist() for v in values],
    }


def _nearest(
    features: Tensor, places: Sequence[int], words: Sequence[str], count: int
) -> list[list[list[str]]]:
    """The words whose features point most nearly the same way, [query][rank][seed]."""
    unit = F.normalize(features, dim=2)
    found = []
    for place in places:
        likeness = (unit @ unit[:, place].unsqueeze(2)).squeeze(2)
        likeness[:, place] = -torch.inf
        ranks = likeness.topk(min(count, len(words) - 1), 1).indices.T.tolist()
        found.append([[words[number] for number in row] for row in ranks])
    return found
