#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws latency against throughput: throughput_latency.py PORT RECEIVE [FILE.png]

Each cell ("# %%") can be run by itself in Jupyter, Spyder or VS Code. It sends from PORT
to RECEIVE at some shares of the highest rate, and draws the median and the 99th
percentile of the latency. Needs the package of contrib/python, and matplotlib.
"""

# %% What is measured
import sys

import matplotlib
import perigee

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 (the backend comes first)

PORT, RECEIVE = sys.argv[1:3]
FILE = sys.argv[3] if len(sys.argv) > 3 else "throughput_latency.png"
SECONDS = float(sys.argv[4]) if len(sys.argv) > 4 else 5
SHARES = 0.1, 0.3, 0.5, 0.7, 0.8, 0.9

# %% The highest rate: as fast as the port takes packets
fastest = perigee.generate(port=PORT, receive=RECEIVE, duration=SECONDS)
highest = fastest.received.pps
print(f"at most {highest / 1e6:.2f} Mpps")

# %% A run at each share of it
points = []
for share in SHARES:
    run = perigee.generate(port=PORT, receive=RECEIVE, duration=SECONDS,
                           rate=f"{highest * share:.0f}pps")
    got = run.received
    points.append((got.pps / 1e6, got.latency.median / 1e3, got.latency.p99 / 1e3))
    print(f"{got.pps / 1e6:.2f} Mpps: median {points[-1][1]:.1f} us, "
          f"p99 {points[-1][2]:.1f} us, lost {got.lost}")

# %% The curve
rates, medians, tails = zip(*points)
figure, axes = pyplot.subplots()
axes.plot(rates, medians, marker="o", label="median")
axes.plot(rates, tails, marker="o", label="99th percentile")
axes.set(xlabel="throughput (Mpps)", ylabel="latency (us)", yscale="log",
         title=f"{PORT} to {RECEIVE}")
axes.legend()
figure.savefig(FILE)
