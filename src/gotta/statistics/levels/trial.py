"""A trial: one batch predicted with levels that jump, and what becomes of the levels by it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gotta.statistics.levels.evidence import ENOUGH, WINDOW, Evidence, Score, evenness_of, gain_of, widens
from gotta.statistics.levels.levels import Levels, counted, skew_of
from gotta.statistics.levels.look import CHANCE, FIRST_WAIT, LOOK, Level, Look, Sight, join_layers, jump, mean_distance
from gotta.types import Prediction

CHANGED = 1.0  # distance at which the level of a found domain is given up
LAST_WAIT = 4096  # samples until the next trial, at most; twice as many after each that fails
FRAMES_AGE = 20.0  # units that a level counts for where frames may only move it slowly


Verdict = tuple[dict[str, Any], tuple[Tensor, Tensor] | None]  # what changes, and a level to predict with, if another


class Trial:
    """One batch predicted with levels that jump, beside the level there is and, once away, the source's."""

    def __init__(self, levels: Levels, net: nn.Module, predict: Callable[[], Prediction], look: Look) -> None:
        self.levels, self.net, self.predict, self.look = levels, net, predict, look

    def decide(self, prediction: Prediction) -> Verdict:
        """What becomes of the levels, given the prediction that held them."""
        levels, look, now = self.levels, self.look, self._score(prediction)
        anew = look.is_farther and not levels.trying
        changes = {"since": 0, "tried": look.mean, "trying": 0, "gathered": levels.gathered[:, :0]}
        if not levels.trying:
            changes |= {"trials": levels.trials + 1, "in_hand": levels.in_hand - (not anew)}
        skew = skew_of(levels.mix, levels.shares)
        if not levels.away:
            skew = max(skew, skew_of(self._mix_of(now.mean), levels.shares))
        shallow, first = self._jump(0, skew, levels.half, levels.mix)
        evenness = evenness_of(shallow.mix, max(look.counted, WINDOW))
        jumped, second = self._jump(1, 1 - evenness, len(levels.sizes), self._mix_of(shallow.mean))
        if gain_of(shallow, jumped, evenness) < 0 or widens(shallow, jumped, evenness):
            jumped, second = shallow, first
        home, at_home = self._hold(levels.source_mean, levels.source_var) if levels.away else (now, look.distance)
        given_up = levels.away and look.distance > CHANGED
        now = home if given_up else now
        found = Evidence.of(now, shallow, jumped)
        earlier = levels.evidence  # first of all trials that have failed and of this one so far, then of this one alone
        half = len(earlier) // 2
        evidence = found.after(earlier[: 0 if given_up or anew else half])
        alone = found.after(earlier[half:] if levels.trying else earlier[:0])
        kept = torch.cat([evidence.row, alone.row])
        tried = levels.trying + look.counted
        if tried < WINDOW or (tried < ENOUGH and not (levels.away or evidence.convinces())):
            gathered = torch.stack([self._gather(0, first), self._gather(1, second)], 1)
            changes |= {"trying": tried, "gathered": gathered, "evidence": kept}
            return changes, None
        at_source = at_home <= LOOK + CHANCE / look.counted  # where nothing would be tried
        back = levels.away and at_home < look.distance and (at_source or gain_of(jumped, home, evenness) >= 0)
        back = back and (given_up or gain_of(now, home, evenness) >= 0)
        if not back and (evidence.convinces() or alone.convinces_alone() or (given_up and evidence.gain > 0)):
            changes |= {"away": True, "jumps": levels.jumps + 1, **self._settled(0.0)}
            if look.is_video:
                return {**changes, "jumps": levels.jumps, "age": FRAMES_AGE}, None
            return changes, self._level_of(second)
        if back or given_up:
            changes |= {"away": False, **self._settled(at_home)}
            changes |= {"evidence": kept} if given_up else {}
            return changes, (levels.source_mean, levels.source_var)
        refused = {"refused": max(levels.refused, look.distance), "wait": min(2 * levels.wait, LAST_WAIT)}
        return {**changes, **refused, "evidence": kept}, None

    def _settled(self, refused: float) -> dict[str, Any]:
        """The level is another one: trials begin anew."""
        return {"refused": refused, "wait": FIRST_WAIT, "evidence": self.levels.evidence[:0], "age": 0.0}

    def _score(self, prediction: Prediction) -> Score:
        counts = self.look.counts
        return Score.of(prediction.logits if counts is None else prediction.logits[counts])

    def _mix_of(self, mean: Tensor) -> Tensor:
        """A mean prediction [C] as a mix of what has signatures, [K]."""
        levels, mean = self.levels, mean.to(self.levels.mean)
        if len(levels.groups):
            return mean.new_zeros(len(levels.mix)).index_add_(0, levels.groups, mean)
        return mean if len(levels.mix) > 1 else levels.mix

    def _jump(self, number: int, skew: float, layers: int, mix: Tensor) -> tuple[Score, Sight]:
        """Predict with the first layers jumping."""
        levels, noise, expected = self.levels, self.look.noise, self.levels.expect(mix)

        def jump_at(at: int, moments: tuple[Tensor, Tensor]) -> Level:
            found, place = counted(torch.stack(moments), self.look.counts), levels.places[at]
            count, seen = found.shape[1], found.mean(1)
            if levels.trying:
                seen = levels.gathered[:, number, place].lerp(seen, count / (count + levels.trying))
            level = Level(levels.mean[place], levels.var[place], noise[:, place], expected[:, place])
            return jump(level, seen, count + levels.trying, skew, levels.depths[at], levels.least_var[place])

        sight = Sight(levels.mean, levels.var, jump_at, layers)
        with levels.watching(self.net, sight):
            return self._score(self.predict()), sight

    def _hold(self, mean: Tensor, var: Tensor) -> tuple[Score, float]:
        """Predict with other levels, and how far samples are from these."""
        levels, sight = self.levels, Sight(mean, var)
        with levels.watching(self.net, sight):
            score = self._score(self.predict())
        found, held = [], []
        for at in range(levels.half):
            if at in sight.moments:
                place = levels.places[at]
                found.append(counted(torch.stack(sight.moments[at]), self.look.counts).mean(1))
                held.append(levels.held[at]._replace(mean=mean[place], var=var[place], noise=self.look.noise[:, place]))
        return score, mean_distance(torch.cat(found, 1), join_layers(held))

    def _gather(self, number: int, sight: Sight) -> Tensor:
        """The moments of all samples of this trial so far, [2, P]."""
        levels, count = self.levels, self.look.counted
        rows = counted(sight.rows(levels.idle_in(sight), len(next(iter(sight.moments.values()))[0])), self.look.counts)
        seen = rows.mean(1)
        return levels.gathered[:, number].lerp(seen, count / (count + levels.trying)) if levels.trying else seen

    def _level_of(self, sight: Sight) -> tuple[Tensor, Tensor]:
        held = self.levels.held
        after = [sight.levels.get(at, level) for at, level in enumerate(held)]
        return torch.cat([level.mean for level in after]), torch.cat([level.var for level in after])
