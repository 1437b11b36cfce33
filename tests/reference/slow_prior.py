"""The sticky prior, written sample by sample and class by class in float64, to compare with."""

import numpy as np


class SlowFilter:
    """The forward filter of the two-parameter hidden Markov model, class by class, at one temperature."""

    def __init__(self, classes, temperature, patient=False):
        self.post, self.marginal, self.stay = [1 / classes] * classes, [1 / classes] * classes, 0.5
        self.temperature, self.evidence, self.patient = temperature, 0.0, patient

    def slow(self, stay, count=1):
        """How far so many samples move the marginal: if patient, less far the longer the runs are."""
        return (1 - 0.995**count) * (min(1, 4 * (1 - stay)) if self.patient else 1)

    def __call__(self, logits):
        """Log-probabilities of one sample, as sharp as the network's own."""
        biggest = max(logits)
        weight = [np.exp((value - biggest) / self.temperature) for value in logits]
        q = [value / sum(weight) for value in weight]
        stay = [self.stay * p * a / m for p, a, m in zip(self.post, q, self.marginal, strict=True)]
        leave = [(1 - self.stay) * a for a in q]
        total = sum(stay) + sum(leave)
        self.post = [(a + b) / total for a, b in zip(stay, leave, strict=True)]
        slow = self.slow(self.stay)
        self.stay = min(0.99, max(0.02, self.stay + 0.02 * (sum(stay) / total - self.stay)))
        marginal = [max(m + slow * (a - m), 1e-3 / len(q)) for m, a in zip(self.marginal, q, strict=True)]
        self.marginal = [m / sum(marginal) for m in marginal]
        self.foreseen = np.log(total)
        self.evidence += 0.002 * (self.foreseen - self.evidence)
        sharp = [self.temperature * np.log(p) for p in self.post]
        return np.array(sharp) - np.log(np.sum(np.exp(sharp)))

    def batch(self, rows):
        """Samples whose order means nothing: one step, with the mean of what they say."""
        answers, posts, stays, given, totals = [], [], [], [], []
        before = self.post, self.marginal, self.stay, self.evidence
        for logits in rows:
            self.post, self.marginal, self.stay, self.evidence = before
            answers.append(self(logits))
            posts.append(self.post)
            weight = np.exp(np.array(logits) / self.temperature)
            q = weight / weight.sum()
            given.append(q)
            stay = before[2] * np.array(before[0]) * q / np.array(before[1])
            stays.append(stay.sum() / (stay.sum() + (1 - before[2])))
            totals.append(np.log(stay.sum() + (1 - before[2])))
        count, (_, marginal, s, evidence) = len(rows), before
        self.post = list(np.mean(posts, 0))
        self.stay = min(0.99, max(0.02, s + (1 - 0.98**count) * (np.mean(stays) - s)))
        moved = np.array(marginal) + self.slow(s, count) * (np.mean(given, 0) - np.array(marginal))
        moved = np.maximum(moved, 1e-3 / len(moved))
        self.marginal = list(moved / moved.sum())
        self.foreseen = np.sum(totals)
        self.evidence = evidence + (1 - 0.998**count) * (np.mean(totals) - evidence)
        return np.array(answers)


class SlowSticky:
    """Three filters side by side; one answers until another one has foreseen the samples better by 0.1.

    The network answers alone until what the chosen one has foreseen adds up to more than 2.
    """

    def __init__(self, classes, patient=False):
        self.filters = [SlowFilter(classes, temperature, patient) for temperature in (1.5, 3.0, 0.5)]
        self.now, self.proof = self.filters[0], 0.0

    @property
    def stay(self):
        return self.now.stay

    @property
    def marginal(self):
        return self.now.marginal

    def restart(self):
        """The next sample has nothing to do with the last one."""
        for one in self.filters:
            one.post = one.marginal

    def __call__(self, logits):
        return self._answer(own(logits), [one(logits) for one in self.filters])

    def batch(self, rows):
        return self._answer([own(logits) for logits in rows], [one.batch(rows) for one in self.filters])

    def _answer(self, alone, answers):
        answer = answers[self.filters.index(self.now)] if self.proof > 2 else np.array(alone)
        self.proof = min(8.0, max(-2.0, self.proof + self.now.foreseen))
        for one in self.filters:
            if one.evidence > self.now.evidence + 0.1 and one.evidence == max(each.evidence for each in self.filters):
                self.now = one
        return answer


def own(logits):
    """The network's own log-probabilities of one sample."""
    return np.array(logits) - max(logits) - np.log(sum(np.exp(value - max(logits)) for value in logits))
