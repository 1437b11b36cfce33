"""Priors: what the classes of the samples before say of the next one. One small file each."""

from gotta.priors.ema import Ema
from gotta.priors.none import NoPrior
from gotta.priors.oatta import Oatta
from gotta.priors.patient import Patient
from gotta.priors.prior import Prior, make_prior, priors
from gotta.priors.sticky import OrderWarning, Sticky

__all__ = ["Ema", "NoPrior", "Oatta", "OrderWarning", "Patient", "Prior", "Sticky", "make_prior", "priors"]
