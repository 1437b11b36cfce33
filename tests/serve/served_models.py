"""Models that the services of tests build: small, and the same in every process."""

from tiny import seeded_net

import gotta


def build():
    return gotta.adapt(seeded_net(), num_classes=10)


def build_trained():
    """Weights that are trained, so that every stream needs a network of its own."""
    return gotta.adapt(seeded_net(), "tent", memory="fifo", capacity=8, num_classes=10)


def build_network():
    return seeded_net()


def build_far():
    """In a process that says it is on a machine of its own."""
    import os

    from gotta.experiment.sweep import leases

    leases.machine = lambda: f"{os.getpid():08x}"
    return build()
