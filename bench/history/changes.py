# SPDX-License-Identifier: Apache-2.0
"""Where a series of measurements changes.

A measurement is a list of ratios, own to reference, of processes that ran in turn. Two
things move its median without any change of the program: the processes of one
measurement differ (some are a fifth slower all their lives), and so do the hours in which
commits were measured. The first is known from the list, the second from how far the
medians of unchanged commits lie apart. A commit is a change where its median is further
from theirs than both explain.
"""
import math
import statistics

DEVIATIONS = 3.0   # by chance a measurement is further away in 0.3 %
HOURS = 0.004      # what hours differ by at least, though few measurements don't show it
SMALLEST = 0.025   # what is less isn't called a change
MEMORY = 20        # so many unchanged commits are compared with
MAD = 1.4826       # from the median deviation to the standard deviation (normal)
OF_MEDIAN = 1.2533  # a median's standard error in those of a mean: sqrt(pi / 2)


def spread(ratios):
    """The standard deviation of the logarithms, by the median deviation: a few processes
    that are much slower don't widen it."""
    logs = [math.log(r) for r in ratios]
    middle = statistics.median(logs)
    return MAD * statistics.median(abs(x - middle) for x in logs)


def error(ratios):
    """The standard error of the median, as a share of it; infinite below 5 ratios."""
    if len(ratios) < 5:
        return math.inf
    # (Ratios that are all the same, by rounding, are no proof of no error.)
    return max(OF_MEDIAN * spread(ratios), 1e-3) / math.sqrt(len(ratios))


def log_median(ratios):
    return math.log(statistics.median(ratios))


def _between(medians, errors):
    """The variance of medians that their own errors don't explain."""
    if len(medians) < 3:
        return HOURS ** 2
    unexplained = statistics.variance(medians) - statistics.fmean(e * e for e in errors)
    return max(unexplained, HOURS ** 2)


def differs(before, now):
    """How far `now`, a list of ratios, is from the lists before it, as a share (0.05: 5 %
    slower); None where that may be chance."""
    before = before[-MEMORY:]
    medians, errors = [log_median(m) for m in before], [error(m) for m in before]
    between = _between(medians, errors)
    weights = [1 / (e * e + between) for e in errors]
    if not all(map(math.isfinite, errors)) or not math.isfinite(error(now)):
        return None
    middle = sum(w * m for w, m in zip(weights, medians)) / sum(weights)
    shift = log_median(now) - middle
    deviation = math.sqrt(error(now) ** 2 + between + 1 / sum(weights))
    share = math.expm1(shift)
    return share if abs(shift) > DEVIATIONS * deviation and abs(share) >= SMALLEST else None


def find(series):
    """The changes of a series of lists of ratios: [(index, share)]. What comes after a
    change is compared with what came since."""
    changes, first = [], 0
    for i in range(1, len(series)):
        share = differs(series[first:i], series[i])
        if share is not None:
            changes.append((i, share))
            first = i
    return changes
