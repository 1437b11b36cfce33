"""Models that the services of tests build: small, and the same in every process."""

from tiny import seeded_net

import gotta


def build():
    return gotta.adapt(seeded_net(), num_classes=10)


def build_network():
    return seeded_net()
