"""The sticky prior for runs of hundreds of samples."""

from gotta.hidden_markov import PatientMarkov
from gotta.priors.prior import priors
from gotta.priors.sticky import Sticky


@priors.register("patient")
class Patient(PatientMarkov, Sticky):
    """The same for long runs: the longer they are, the more slowly the marginal moves.

    The marginal of `sticky` follows the last few hundred samples. In a run of a thousand it becomes that of the run,
    and dividing by it takes the run out again. The price: the bias of a network is learned more slowly too.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", prior=gotta.priors.Patient(order_in_batch="none"))
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """
