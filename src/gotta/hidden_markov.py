"""The arithmetic of the priors `sticky` and `patient`, in NumPy alone: `gotta.Filter` uses it without torch."""

from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# What a step goes by: 1, the least and most of `stay`, `learn`, `slow` and `quick`, and the least marginal. As arrays
# [T, 1], and [T, C] the last one, with which NumPy is twice as fast as with numbers.
Shares = tuple[Floats, ...]
# Where a step of one sample computes, factor, joint, wide [T, C] each, and total, anew, rest [T, 1].
Room = tuple[Floats, ...]


def make_room(temperatures: int, classes: int) -> Room:
    return tuple(np.empty((temperatures, size)) for size in (classes, classes, classes, 1, 1, 1))


class Weighing:
    """Of several temperatures each has its own belief, and the one that foresees the samples best answers."""

    start: ClassVar[float] = 0.0  # how often a class is thought to stay before anything was seen
    temperatures: ClassVar[tuple[float, ...]] = (1.0,)
    weigh = 0.002  # share of one sample in the evidence
    margin = 0.1  # of evidence, by which another temperature must be better
    bar: ClassVar[float | None] = None  # proof that classes stay without which the network answers alone
    least_proof, most_proof = -2.0, 8.0  # so that a few samples are enough to start, and to stop

    def acts(self, proof: float) -> bool:
        """Whether the prior has a say in the next sample."""
        return self.bar is None or proof > self.bar

    def choose(
        self, seen: list[float], evidence: list[float], chosen: int, proof: float, size: int = 1
    ) -> tuple[list[float], int, float]:
        """Evidence, the temperature to believe and the proof, after `size` samples that were foreseen so well [T].

        Another temperature is believed once it is clear that it foresees better.
        """
        weight = share_of(self.weigh, size)
        proof = min(self.most_proof, max(self.least_proof, proof + size * seen[chosen]))
        evidence = [old + weight * (new - old) for old, new in zip(evidence, seen, strict=True)]
        best = evidence.index(max(evidence))
        return evidence, best if evidence[best] > evidence[chosen] + self.margin else chosen, proof


class HiddenMarkov(Weighing):
    """A class stays with probability s, or is drawn anew from the network's long-run marginal."""

    start = 0.5
    temperatures = (1.5, 3.0, 0.5)
    learn, slow = 0.02, 0.005  # shares of one sample in s and in the marginal
    least, most = 0.02, 0.99  # of s; without the first, thousands of samples would be needed to come back
    least_marginal = 1e-3  # of a class, times the number of classes
    hurry = 1e9  # the marginal has its usual pace until s is 1 - 1 / hurry (here: always), and then slows down
    bar = 2.0  # that is, classes that stay explain the samples seven times as well

    def shares(self, classes: int, size: int = 1) -> Shares:
        """The constants of a step with `size` samples at once."""
        learn, slow = share_of(self.learn, size), share_of(self.slow, size)
        numbers = (1.0, self.least, self.most, learn, slow, self.hurry * slow)
        return _fill(len(self.temperatures), classes, numbers, self.least_marginal / classes)

    def advance(
        self, shares: Shares, last: Floats, marginal: Floats, stay: Floats, now: Floats, together: bool = False
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """One step, for samples `now`: factors, how well each was foreseen, and `last`, `marginal`, `stay` after it.

        Arrays are [..., T, C], and [..., T, 1] for `stay`. Where samples come `together`, `now` has them in front.
        """
        one, least, most, learn, slow, quick, floor = shares
        anew = one - stay
        factor = stay * last / marginal + anew
        joint = now * factor
        total = np.add.reduce(joint, -1, keepdims=True)
        seen, new, surprise = now, joint / total, one / total
        if together:
            seen, new, surprise = seen.mean(0), new.mean(0), surprise.mean(0)
        marginal = np.maximum(floor, marginal + np.minimum(slow, quick * anew) * (seen - marginal))
        marginal /= np.add.reduce(marginal, -1, keepdims=True)
        stay = stay + learn * anew * (one - surprise)  # towards the probability that the class stayed
        stay = np.minimum(most, np.maximum(least, stay))
        return factor, total, new, marginal, stay

    def advance_in_place(
        self, shares: Shares, last: Floats, marginal: Floats, stay: Floats, now: Floats, room: Room
    ) -> tuple[Floats, Floats]:
        """The same step of one sample, to the bit, written into `last`, `marginal` and `stay`; `now` is used up.

        No array is made, and arrays [T, 1] are written out to [T, C] first, which is twice as fast where these are
        small.
        """
        one, least, most, learn, slow, quick, floor = shares
        factor, joint, wide, total, anew, rest = room
        np.subtract(one, stay, out=anew)
        wide[:] = stay
        np.multiply(wide, last, out=factor)
        np.divide(factor, marginal, out=factor)
        wide[:] = anew
        np.add(factor, wide, out=factor)
        np.multiply(now, factor, out=joint)
        wide[:] = np.add.reduce(joint, 1, out=total, keepdims=True)
        np.divide(joint, wide, out=last)
        np.subtract(now, marginal, out=now)
        np.multiply(quick, anew, out=rest)
        wide[:] = np.minimum(slow, rest, out=rest)
        np.multiply(wide, now, out=now)
        np.add(marginal, now, out=marginal)
        np.maximum(floor, marginal, out=marginal)
        wide[:] = np.add.reduce(marginal, 1, out=rest, keepdims=True)
        np.divide(marginal, wide, out=marginal)
        np.divide(one, total, out=rest)
        np.subtract(one, rest, out=rest)
        np.multiply(learn, anew, out=anew)
        np.multiply(anew, rest, out=rest)
        np.add(stay, rest, out=stay)
        np.maximum(least, stay, out=stay)
        np.minimum(most, stay, out=stay)
        return factor, total


class PatientMarkov(HiddenMarkov):
    """The same for long runs: the longer they are, the more slowly the marginal moves."""

    hurry = 4.0


@lru_cache(maxsize=64)
def _fill(count: int, classes: int, numbers: tuple[float, ...], floor: float) -> Shares:
    return *(np.full((count, 1), number) for number in numbers), np.full((count, classes), floor)


def share_of(of_one: float, count: int) -> float:
    """What so many samples at once count for, given what one does."""
    return float(1 - (1 - of_one) ** count)
