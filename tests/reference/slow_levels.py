"""How levels, noise and signatures follow samples between two jumps, sample by sample and layer by layer in float64.

The network is a list of functions of one image, each followed by a BatchNorm without affine parameters over
[channels][positions].
"""

import numpy as np


class SlowLayer:
    def __init__(self, mean, var, classes, depth):
        self.mean, self.var, self.depth = np.array(mean, float), np.array(var, float), depth
        self.source_var = self.var.copy()
        width = len(self.mean)
        self.noise = np.full((2, width), 0.1)
        self.offset, self.square = np.zeros((classes, width)), np.ones((classes, width))

    def units(self, first, second):
        return (first - self.mean) / np.sqrt(self.var), (second - 2 * self.mean * first + self.mean**2) / self.var


class SlowLevels:
    """`functions[l](maps)` gives the input of BatchNorm l from the output of the one before, for one image."""

    def __init__(self, functions, levels, depths, classes, with_classes, away):
        self.functions, self.classes, self.with_classes, self.away = functions, classes, with_classes, away
        self.layers = [SlowLayer(*level, classes, depth) for level, depth in zip(levels, depths, strict=True)]
        self.mix, self.taught = np.full(classes, 1 / classes), np.zeros(classes)
        self.age, self.known = 0.0, False
        self.waiting = []  # what every layer saw of each sample that is not learned from yet, and its label

    @property
    def skew(self):
        return (self.classes * np.sum(self.mix**2) - 1) / (self.classes - 1) if self.with_classes else 0.2

    def forward(self, images):
        """The outputs of the last layer, one image after the other."""
        maps, self.seen = [np.array(image, float) for image in images], []
        for function, layer in zip(self.functions, self.layers, strict=True):
            maps = [function(one) for one in maps]  # [channels][positions]
            self.seen.append([(one.mean(1), (one**2).mean(1)) for one in maps])
            maps = [(one - layer.mean[:, None]) / np.sqrt(layer.var[:, None] + 1e-5) for one in maps]
        return np.array(maps)

    def learn(self, labels):
        """Small batches wait for one another."""
        self.waiting += [([seen[i] for seen in self.seen], y) for i, y in enumerate(labels)]
        if len(self.waiting) >= 16:
            self.move()
            self.waiting = []

    def move(self):
        labels, count = np.array([y for _, y in self.waiting]), len(self.waiting)
        per_class = np.bincount(labels, minlength=self.classes)
        share = per_class / count
        self.mix = self.mix + count / (count + 16) * (share - self.mix)
        self.taught += per_class
        for number, layer in enumerate(self.layers):
            first, second = (np.array([seen[number][row] for seen, _ in self.waiting]) for row in (0, 1))
            self.move_layer(layer, *layer.units(first, second), labels, per_class)
        self.known = True
        self.age += count / 64 if self.away else 0

    def move_layer(self, layer, z, u, labels, per_class):
        count, share = len(labels), per_class / len(labels)
        offset, square = share @ layer.offset, np.maximum(share @ layer.square, 0.2)
        for row, (seen, usual) in enumerate(((z, layer.offset), (u, layer.square))):
            chance = np.var([seen[i] - usual[y] for i, y in enumerate(labels)], 0, ddof=1)
            step = np.minimum(chance, 4 * layer.noise[row]) - layer.noise[row]
            if self.known:
                layer.noise[row] = np.maximum(layer.noise[row] + (1 - 0.99**count) * step, 1e-4)
        if self.away:
            rate = max(0.01, 1 / (self.age + 1 + 40 * self.skew)) / (1 + 10 * self.skew * layer.depth)
            rate = 1 - (1 - rate) ** (count / 64)
            layer.mean = layer.mean + rate * np.sqrt(layer.var) * (z.mean(0) - offset)
            grown = layer.var * (1 + rate * (np.clip(u.mean(0) / square, 0.05, 20) - 1))
            layer.var = np.maximum(grown, 0.01 * layer.source_var)
        if self.with_classes:
            for y in np.flatnonzero(per_class):
                pace = max(1 - 0.997 ** per_class[y], per_class[y] / (self.taught[y] + 30))
                layer.offset[y] += pace * (z[labels == y].mean(0) - layer.offset[y])
                layer.square[y] += pace * (u[labels == y].mean(0) - layer.square[y])
            layer.offset -= layer.offset.mean(0)
            layer.square /= layer.square.mean(0)
