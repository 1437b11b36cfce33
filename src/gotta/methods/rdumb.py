"""RDumb: ETA that forgets everything at regular intervals, and lasts (Press et al., NeurIPS 2023)."""

from gotta.methods.eata import IMAGENET, OFFICIAL, VIT, Eta
from gotta.methods.method import methods


@methods.register("rdumb")
class Rdumb(Eta):
    """ETA, and every 1000 adaptations back to the source. Any other method does the same with `reset_every`."""

    native_reset_every = 1000
    presets = {
        "official": OFFICIAL.but(
            "those of the code of Marsden et al. (2024): the authors' are for ImageNet", lr=1e-3, optimizer="adam"
        ),
        "imagenet-resnet50": IMAGENET,
        "imagenet-vit": VIT.but("chosen here: those of ETA"),
    }
    known_quirks = {}
