"""Class statistics and the sticky prior, written sample by sample and channel by channel in float64, to compare with.

The network is a list of functions of one image, each followed by a BatchNorm without affine parameters over
[channels][positions].
"""

from itertools import pairwise

import numpy as np


class SlowLayer:
    def __init__(self, mean, var, classes):
        self.mean, self.var = np.array(mean, float), np.array(var, float)
        self.source_var = self.var.copy()
        width = len(self.mean)
        self.noise = np.full((2, width), 0.1)
        self.offset, self.square = np.zeros((classes, width)), np.ones((classes, width))
        self.age = 0.0
        self.old = None  # level, moments and count while a jump is made

    def units(self, first, second, mean=None, var=None):
        mean, var = self.mean if mean is None else mean, self.var if var is None else var
        return (first - mean) / np.sqrt(var), (second - 2 * mean * first + mean**2) / var

    def distance(self, first, second, mix, mean, var):
        z, u = self.units(first, second, mean, var)
        return np.mean([(z - mix @ self.offset) ** 2 / self.noise[0], (u - mix @ self.square) ** 2 / self.noise[1]])


class SlowStatistics:
    """`functions[l](maps)` gives the input of BatchNorm l from the output of the one before, for one image."""

    def __init__(self, functions, levels, classes, with_classes=True):
        self.functions, self.classes, self.with_classes = functions, classes, with_classes
        self.layers = [SlowLayer(mean, var, classes) for mean, var in levels]
        self.mix = np.full(classes, 1 / classes)
        self.since = self.samples = self.jumps = 0
        self.newness = 1.0
        self.waiting = []  # what every layer saw of each sample that is not learned from yet, and its label

    def skew(self, mix):
        return (self.classes * np.sum(mix**2) - 1) / (self.classes - 1) if self.with_classes else 0.2

    def forward(self, images):
        """The outputs of the last layer, one image after the other; layers jump on the way."""
        maps, count, farthest = [np.array(image, float) for image in images], len(images), 0.0
        self.open, self.changed, self.seen = 0 < self.since < 32, False, []
        self.before = [(layer.mean, layer.var) for layer in self.layers]
        for number, (function, layer) in enumerate(zip(self.functions, self.layers, strict=True)):
            maps = [function(one) for one in maps]  # [channels][positions]
            first = np.array([one.mean(1) for one in maps])
            second = np.array([(one**2).mean(1) for one in maps])
            self.seen.append((first, second))
            together = len(self.waiting) + count
            if number == 0 and together >= 16:
                self.compare_samples(first, second)
            if self.since == 0 and together >= 16:
                firsts, seconds = (
                    np.array([*(seen[number][row] for seen, _ in self.waiting), *now])
                    for row, now in enumerate((first, second))
                )
                layer.noise = np.maximum([units.var(0) for units in layer.units(firsts, seconds)], 1e-4)
            comparing = number < max(1, len(self.layers) // 2) and together >= 16 and self.newness >= 0.6
            if comparing and self.since == 0:
                self.open = True
            if comparing and not self.open:
                window = np.array([first.sum(0), second.sum(0)])
                for seen, _ in self.waiting:
                    window += seen[number]
                window /= together
                farthest = max(farthest, layer.distance(*window, self.mix, layer.mean, layer.var))
                self.open = self.changed = farthest > 1.25 + 2 / together
            if self.open:
                self.jump(layer, first.mean(0), second.mean(0), count)
            maps = [(one - layer.mean[:, None]) / np.sqrt(layer.var[:, None] + 1e-5) for one in maps]
        return np.array(maps)

    def compare_samples(self, first, second):
        """Von Neumann's ratio of the last samples, averaged over time: near 0 where they are frames of a video."""
        rows = [np.array(seen[0]) for seen, _ in self.waiting] + list(np.stack([first, second], 1))
        ratios = []
        for series in np.stack(rows, -1).reshape(-1, len(rows)):
            steps = np.mean([(b - a) ** 2 for a, b in pairwise(series)])
            ratios.append(steps / (2 * series.var()) if series.var() else 1.0)
        share = len(rows) / (len(rows) + 256) if self.since else 1
        self.newness = self.newness + share * (np.mean(ratios) - self.newness)

    def jump(self, layer, first, second, count):
        if layer.old is None or self.changed:
            layer.old = [layer.mean, layer.var, first, second, count]
            number = count
        else:
            share = max(count / (count + layer.old[4]), 1 - (15 / 16) ** count)
            layer.old[2] = layer.old[2] + share * (first - layer.old[2])
            layer.old[3] = layer.old[3] + share * (second - layer.old[3])
            layer.old[4] += count
            number = min(layer.old[4], 32)
        mean, var, first, second, _ = layer.old
        distance = layer.distance(first, second, self.mix, mean, var)
        skew = 1.0 if self.samples == 0 else self.skew(self.mix)
        way = max(0.0, 1 - (0.1 + 0.6 * skew + 1 / number) / distance)
        offset, square = self.mix @ layer.offset, self.mix @ layer.square
        target = np.maximum((second - first**2) / np.maximum(square - offset**2, 0.2), 0.01 * layer.source_var)
        layer.mean = mean + way * (first - np.sqrt(target) * offset - mean)
        layer.var = var * (target / var) ** way
        layer.age = 0.0

    def learn(self, labels):
        """Small batches wait for one another, unless a change came in between."""
        count, jumped = len(labels), [(layer.mean, layer.var, layer.noise.copy()) for layer in self.layers]
        now = [([(first[i], second[i]) for first, second in self.seen], y) for i, y in enumerate(labels)]
        if self.changed and self.waiting:
            for layer, before in zip(self.layers, self.before, strict=True):
                layer.mean, layer.var = before
            self.learn_from(self.waiting)
            for layer, (mean, var, noise) in zip(self.layers, jumped, strict=True):
                if layer.old is not None:
                    layer.mean, layer.var, layer.noise, layer.age = mean, var, noise, 0.0
            self.waiting = []
        self.waiting += now
        learning = self.open or len(self.waiting) >= 16
        if learning:
            self.learn_from(self.waiting)
            self.waiting = []
        self.go_on(count, learning)

    def learn_from(self, samples):
        labels, count = np.array([y for _, y in samples]), len(samples)
        self.seen = [
            tuple(np.array([seen[number][row] for seen, _ in samples]) for row in (0, 1))
            for number in range(len(self.layers))
        ]
        per_class = np.bincount(labels, minlength=self.classes)
        share = per_class / count
        self.mix = self.mix + count / (count + 16) * (share - self.mix)
        for layer, (first, second) in zip(self.layers, self.seen, strict=True):
            z, u = layer.units(first, second)
            offset, square = share @ layer.offset, np.maximum(share @ layer.square, 0.2)
            for row, (seen, usual) in enumerate(((z, layer.offset), (u, layer.square))):
                chance = np.mean([(seen[i] - usual[y]) ** 2 for i, y in enumerate(labels)], 0)
                step = np.minimum(chance, 4 * layer.noise[row]) - layer.noise[row]
                layer.noise[row] = np.maximum(layer.noise[row] + (1 - 0.99**count) * step, 1e-4)
            rate = 1 - (1 - max(0.01, 1 / (layer.age + 1 + 40 * self.skew(self.mix)))) ** (count / 64)
            layer.mean = layer.mean + rate * np.sqrt(layer.var) * (z.mean(0) - offset)
            grown = layer.var * (1 + rate * (np.clip(u.mean(0) / square, 0.05, 20) - 1))
            layer.var = np.maximum(grown, 0.01 * layer.source_var)
            layer.age += count / 64
            if self.with_classes:
                for y in np.flatnonzero(per_class):
                    slow = 1 - 0.997 ** per_class[y]
                    layer.offset[y] += slow * (z[labels == y].mean(0) - layer.offset[y])
                    layer.square[y] += slow * (u[labels == y].mean(0) - layer.square[y])
                layer.offset -= layer.offset.mean(0)
                layer.square /= layer.square.mean(0)

    def go_on(self, count, learning):
        self.samples += count
        self.jumps += self.changed
        if learning and not self.open:
            self.since = 32
        if self.open:
            self.since = count if self.changed else self.since + count
        for layer in self.layers:
            layer.old = None if self.open and self.since >= 32 else layer.old


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
        self.evidence += 0.002 * (np.log(total) - self.evidence)
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
        self.evidence = evidence + (1 - 0.998**count) * (np.mean(totals) - evidence)
        return np.array(answers)


class SlowSticky:
    """Three filters side by side; one answers until another one has foreseen the samples better by 0.1."""

    def __init__(self, classes, patient=False):
        self.filters = [SlowFilter(classes, temperature, patient) for temperature in (1.5, 3.0, 0.5)]
        self.now = self.filters[0]

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
        return self._answer([one(logits) for one in self.filters])

    def batch(self, rows):
        return self._answer([one.batch(rows) for one in self.filters])

    def _answer(self, answers):
        answer = answers[self.filters.index(self.now)]
        for one in self.filters:
            if one.evidence > self.now.evidence + 0.1 and one.evidence == max(each.evidence for each in self.filters):
                self.now = one
        return answer
