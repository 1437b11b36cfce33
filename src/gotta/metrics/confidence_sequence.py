"""An interval for a mean that holds at every moment at once, however often one looks and whenever one stops."""

import numpy as np

WIDTH = 2.0  # of the range of the values, [-1, 1]
BETS = np.geomspace(1e-4, 0.98 / WIDTH, 64)  # the optimum goes as 1 / sqrt(spread)
PRICES = (-np.log1p(-WIDTH * BETS) - WIDTH * BETS) / WIDTH**2


def bound_mean(count: int, total: float, spread: float, miss: float = 0.05) -> tuple[float, float]:
    """Of `count` values in [-1, 1] with this sum: where the mean of what they were expected to be lies.

    `spread` is the sum of squares of each value minus a guess made before it was seen, such as the mean so far. Each
    value may be expected to be something else, given those before it (a model that goes on learning): the interval is
    for the average of that. It covers that average at all times together with probability 1 - `miss`.

    An empirical Bernstein inequality (Howard, Ramdas, McAuliffe and Sekhon 2021, theorem 4) with a mixture over the
    bets: exp(bet * (sum - expected) - price * spread) is a supermartingale for each bet, hence for their mean.

    >>> low, high = bound_mean(1000, 80.0, 150.0)
    >>> round(low, 3), round(high, 3)
    (0.028, 0.132)
    """
    if not count:
        return -1.0, 1.0
    below, above = 0.0, WIDTH * count
    while above - below > 1e-6 * count:
        middle = (below + above) / 2
        powers = BETS * middle - PRICES * spread
        most = powers.max()
        enough = most + np.log(np.exp(powers - most).mean()) >= np.log(2 / miss)
        below, above = (below, middle) if enough else (middle, above)
    return max(-1.0, (total - above) / count), min(1.0, (total + above) / count)
