"""The sticky prior for runs of hundreds of samples."""

import numpy as np

from gotta.priors.prior import Floats, priors
from gotta.priors.sticky import Sticky


@priors.register("patient")
class Patient(Sticky):
    """The same for long runs: the longer they are, the more slowly the marginal moves.

    The marginal of `sticky` follows the last few hundred samples. In a run of a thousand it becomes that of the run,
    and dividing by it takes the run out again. The price: the bias of a network is learned more slowly too.
    """

    hurry = 4.0  # the marginal has its usual pace until s is 0.75

    def pace(self, anew: Floats, slow: Floats) -> Floats:
        return np.minimum(slow, self.hurry * slow * anew)
