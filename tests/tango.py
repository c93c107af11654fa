"""Tango's score interval with the likelihood maximised by SciPy: an oracle for `viva.analysis.pairedinterval`."""

import math


def statistic(gained: float, lost: float, n: float, difference: float) -> float:
    """The score statistic of `gained` and `lost` of `n` pairs for a true difference of shares."""
    from scipy import optimize, special

    def surprise(losses: float) -> float:
        gains = losses + difference
        return -float(
            special.xlogy(gained, gains)
            + special.xlogy(lost, losses)
            + special.xlogy(n - gained - lost, max(0.0, 1 - gains - losses))
        )

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    found = optimize.minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-13})
    losses = min((float(found.x), *bounds), key=surprise)
    variance = n * (2 * losses + difference - difference**2)
    apart = gained - lost - n * difference
    return apart / math.sqrt(max(variance, 1e-30)) if abs(apart) > 1e-9 else 0.0


def score_interval(up: float, down: float, n: float, degrees: float = math.inf) -> tuple[float, float]:
    """The differences that are not refused at 5 %, two-sided; `up` and `down` are shares of `n`."""
    from scipy import optimize, stats

    quantile = float(stats.t.ppf(0.975, degrees))

    def lowest(gained: float, lost: float) -> float:
        if gained - lost <= -1 + 1e-12:
            return -1.0

        def beyond(difference: float) -> float:
            return max(-1e3, min(1e3, statistic(gained * n, lost * n, n, difference))) - quantile

        return float(optimize.brentq(beyond, -1 + 1e-12, gained - lost, xtol=1e-12))

    return lowest(up, down), -lowest(down, up)
