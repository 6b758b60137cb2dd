#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/plot.py NAME...: draw bench/out/NAME.json (bench/run NAME writes it).

Writes doc/figures/NAME.png and NAME.svg: median cycles a packet by chain length or
burst, from the slowest to the fastest process, for Perigee and for C.
"""
import argparse
import json
import pathlib

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "perigee"  # the same figures, the same file
import matplotlib.pyplot as pyplot  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FIGURES = HERE.parent / "doc" / "figures"
TITLES = {  # by benchmark: x axis, its scale, what the reference is
    "chain": ("apps in the chain", "symlog", "C, a function called by burst for each app"),
    "burst": ("packets in a burst", "log", "C without apps"),
    "stack": ("packets in a burst", "log", "the same in C"),
}
LABELS = {"links": "apps with push(), joined by links",
          "fused": "apps with process(), fused",
          "stack": "five fields through a stack"}
STYLES = {"links": ("#d95f02", "s"), "fused": ("#1b73b3", "o"),
          "stack": ("#1b73b3", "o"), "c": ("#555555", "^")}
WORK = {"stack": "IPv4 and UDP"}


def line(axes, points, label, style):
    color, marker = STYLES[style]
    xs, mids, lows, highs = zip(*sorted(points))
    axes.plot(xs, mids, color=color, marker=marker, markersize=4, label=label)
    axes.fill_between(xs, lows, highs, color=color, alpha=0.2, linewidth=0)
    return xs


def draw(name):
    result = json.loads((HERE / "out" / (name + ".json")).read_text())
    x_label, scale, reference = TITLES[name]
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    rows = [row for row in result["rows"] if "series" in row]
    for series, label in LABELS.items():
        points = [(row["x"], row["cycles"], row["min"], row["max"])
                  for row in rows if row["series"] == series]
        if points:
            xs = line(axes, points, label, series)
    line(axes, {(row["x"], row["reference"], row["reference_min"],
                 row["reference_max"]) for row in rows}, reference, "c")
    axes.set_xscale(scale, base=2) if scale == "log" else axes.set_xscale(
        scale, linthresh=1)
    axes.set_yscale("log")
    marks = [x for x in xs if x & (x - 1) == 0] if scale == "log" else sorted({0, *xs})
    axes.set_xticks(marks, [str(x) for x in marks])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    ticks = [t for t in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= t <= high]
    axes.set_yticks(ticks, [str(t) for t in ticks])
    axes.set_xlabel(x_label)
    axes.set_ylabel("TSC cycles a packet")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    cpu = result["machine"]["cpu"]
    axes.set_title("perigee %s, %s, 60-byte packets, one core of %s"
                   % (name, WORK.get(name, "null port"), cpu), fontsize=9)
    FIGURES.mkdir(parents=True, exist_ok=True)
    for suffix in ("png", "svg"):
        figure.savefig(FIGURES / ("%s.%s" % (name, suffix)), dpi=150,
                       metadata={"Date": None} if suffix == "svg" else None)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(prog="bench/plot.py", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", choices=sorted(TITLES),
                        help=" or ".join(sorted(TITLES)))
    for name in parser.parse_args().names:
        draw(name)
        print("doc/figures/%s.png, doc/figures/%s.svg" % (name, name))


if __name__ == "__main__":
    main()
