"""The order in which class and domain follow two Markov chains: UniTTA's (Du et al., 2024), 36 settings of one rule."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gotta.errors import GottaError
from gotta.streams.order import ORDERS, Rng, check_labels
from gotta.types import Floats, IntArray


@ORDERS.register("markov")
def markov(
    labels: ArrayLike,
    rng: Rng,
    domain: ArrayLike | None = None,
    num_classes: int | None = None,
    class_stay: float | None = None,
    domain_stay: float | None = None,
    class_imbalance: float = 1.0,
    domain_imbalance: float = 1.0,
    again: bool = False,
) -> IntArray:
    """Class and domain of a sample depend on those of the last one alone: each stays with a given probability.

    Both begin with the first one. The stream ends when a pair of class and domain has shown as many images as the
    largest pair has. Where a chain cannot give classes or domains their shares, those that have had theirs are left
    out instead, until none is there. A pair that has shown all its images is left out as well or, with `again`,
    begins anew, as published.
    """
    label, classes = check_labels(labels, num_classes)
    position = np.zeros_like(label) if domain is None else np.asarray(domain, np.int64)
    if position.shape != label.shape or position.min() < 0:
        raise GottaError(f"domain must tell the domain of each of {len(label)} labels, got shape {position.shape}.")
    domains = int(position.max()) + 1
    pair = position * classes + label
    images = np.bincount(pair, minlength=domains * classes).astype(np.int64)
    chains = make_chain(domains, domain_stay, domain_imbalance), make_chain(classes, class_stay, class_imbalance)
    visited = Walk(*chains, images, rng, again).take()
    order = np.empty(len(visited), np.int64)
    for one in np.unique(visited):
        shown, times = rng.permutation(np.flatnonzero(pair == one)), np.flatnonzero(visited == one)
        order[times] = shown[np.arange(len(times)) % len(shown)]
    return order


class Chain(NamedTuple):
    """A Markov chain over classes, or over domains."""

    moves: Floats  # [N, N]: how probable each is after each
    share: Floats  # [N]: how much of the stream each is to have
    ever: bool  # it stays for ever, until nothing is left; then the next one comes
    balanced: bool  # the chain by itself gives each its share


def make_chain(count: int, stay: float | None = None, imbalance: float = 1.0) -> Chain:
    """The next one is the same with probability `stay`, or else one of the others, all equally probable.

    Without `stay` it is as probable as the others. The first is to come `imbalance` times as often as the last, and
    those between in equal ratios; if the chain can, those that are to come less often stay less: `stay` is the first's.

    >>> make_chain(2, 0.9).moves.round(2).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    if count == 1:
        return Chain(np.ones((1, 1)), np.ones(1), False, True)
    stay = 1 / count if stay is None else stay
    balanced = stay < 1 and (1 - stay) * imbalance <= 1 - 1 / count
    ratio = 1 / imbalance ** (1 / (count - 1))
    stays = np.full(count, float(stay))
    if balanced:
        least = 1 - imbalance * (1 - stay)
        stays = 1 - ratio ** np.arange(count - 1, -1, -1.0) * (1 - least)
    moves = np.repeat((1 - stays) / (count - 1), count).reshape(count, count)
    np.fill_diagonal(moves, stays)
    share = ratio ** np.arange(float(count))
    return Chain(moves, share / share.sum(), stay == 1, balanced)


class Walk:
    """The pairs that are visited, each as a number: domain * classes + class.

    The random numbers are drawn as UniTTA's code does: for each pair as many next ones ahead as there are images.
    """

    def __init__(self, domains: Chain, classes: Chain, images: IntArray, rng: Rng, again: bool = False) -> None:
        self.domains, self.classes, self.images, self.rng, self.again = domains, classes, images, rng, again
        self.most, share = int(images.max()), np.outer(domains.share, classes.share)
        self.balanced = domains.balanced + classes.balanced  # how many of the chains
        # What has a share that the chains by themselves do not give it: domains, classes or, if both, pairs.
        self.group = self._numbers(not domains.balanced, not classes.balanced)
        due = np.bincount(self.group, np.round(self.most / share[0, 0] * share).ravel())
        self.due = np.full(len(images), self.most) if self.balanced == 2 else due  # samples
        self.shown, self.shown_of_group = [0] * len(images), [0] * len(images)
        self.open: NDArray[np.bool_] = images > 0
        self.drawn = np.ones(len(images))  # 0 for a pair that is drawn no more
        self.leads_on = np.ones(len(images), bool)  # not so for a pair from which nothing is drawn any more
        self.ahead: dict[int, Iterator[int]] = {}

    def take(self) -> IntArray:
        """The whole walk, from the first pair that has images."""
        pair = int(self.open.argmax())
        visited = [pair]
        while not self._ends_with(pair):
            pair = self._next(pair)
            visited.append(pair)
        return np.array(visited, np.int64)

    def _numbers(self, of_domains: bool, of_classes: bool) -> IntArray:
        """For each pair the number of its domain or of its class; its own if both are asked for, or none."""
        pair, classes = np.arange(len(self.images)), len(self.classes.share)
        if of_domains == of_classes:
            return pair
        return pair // classes if of_domains else pair % classes

    def _ends_with(self, pair: int) -> bool:
        """Count the sample, close what has had its share or has no more images; is it the last sample?"""
        group = self.group[pair]
        self.shown[pair] += 1
        self.shown_of_group[group] += 1
        had_its_share = self.shown_of_group[group] >= self.due[group]
        if had_its_share and self.balanced == 2:
            return True
        if had_its_share and self.balanced == 1:
            whole = self.group == group
            self.open[whole] = self.leads_on[whole] = False
        elif had_its_share or (not self.again and self.shown[pair] >= self.images[pair]):
            self.open[pair], self.drawn[pair] = False, 0
        return not self.open[pair] and not self.open.any()

    def _next(self, pair: int) -> int:
        while True:
            following = next(self.ahead.get(pair, iter(())), None)
            if following is None:
                self.ahead[pair] = iter(self._draw(pair).tolist())
            elif self.open[following]:
                return following

    def _draw(self, pair: int) -> IntArray:
        domain, label = divmod(pair, len(self.classes.share))
        probable = np.outer(self.domains.moves[domain], self.classes.moves[label]).ravel() * self.drawn
        if not self.leads_on[pair] or not probable[self.open].any():
            return self._jump(pair)
        total = probable.sum()
        probable = probable / total if total != 1 else probable
        return np.asarray(self.rng.choice(len(probable), self.most, p=probable), np.int64)

    def _jump(self, pair: int) -> IntArray:
        """Any pair that is left; of what stays for ever the next one, class by class if both do."""
        left = np.flatnonzero(self.open)
        if self.domains.ever or self.classes.ever:
            number = self._numbers(self.domains.ever, self.classes.ever)
            left = left[number[left] == _following(number[left], number[pair])]
        return np.asarray(self.rng.choice(left, 1), np.int64)


def _following(known: IntArray, now: int) -> int:
    """The next of these numbers, or after the last one the first."""
    later = known[known > now]
    return int(later.min() if len(later) else known.min())
