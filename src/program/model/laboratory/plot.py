#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""plot.py DIRECTORY: draw DIRECTORY/model.json, which `perigee model` writes, as
burst, size, task, memory and frequency, .png and .svg."""
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("python3 has no matplotlib; Debian has it in the package python3-matplotlib")

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "perigee"
import matplotlib.pyplot as pyplot  # noqa: E402

WIRE_OVERHEAD = 20  # bytes of preamble and gap
LINE = 10e9


def save(figure, axes, directory, name):
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    for suffix in "png", "svg":
        figure.savefig(directory / f"{name}.{suffix}", dpi=150,
                       metadata={"Date": None} if suffix == "svg" else None)
    pyplot.close(figure)


def canvas(x_label, y_label):
    figure, axes = pyplot.subplots(figsize=(7, 4.2), layout="constrained")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes


def with_bars(axes, cells, x, label):
    cells = sorted(cells, key=lambda cell: cell[x])
    values = [cell["io"] for cell in cells]
    below = [max(0, cell["io"] - cell["low"]) for cell in cells]
    above = [max(0, cell["high"] - cell["io"]) for cell in cells]
    axes.errorbar([cell[x] for cell in cells], values, [below, above], marker="o",
                  markersize=3, capsize=2, linewidth=1, label=label)


def ticks(axes, values):
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [str(value) for value in values])
    axes.minorticks_off()


def draw_cells(ports, directory, name, x, label, chosen):
    figure, axes = canvas(label, "C_IO, TSC cycles a packet")
    for port in ports:
        cells = [cell for cell in port["cells"] if chosen(cell)]
        if len(cells) > 1:
            with_bars(axes, cells, x, port["name"])
    axes.set_yscale("log")
    ticks(axes, sorted({cell[x] for port in ports for cell in port["cells"]}))
    save(figure, axes, directory, name)


def cycles(cell, task):
    """What a packet takes with a task, as program.model.laboratory.fit says (fit.cycles)."""
    least = cell["io"] + cell["busy"]
    if task:
        least = max(least, cell["io"] - cell["overlap"] + task)
    return cell["slope"] * least


def draw_tasks(ports, directory):
    figure, axes = canvas("C_task, TSC cycles a packet", "throughput, Mpps")
    for port in ports:
        for cell in port["cells"]:
            if cell["burst"] != 32 or cell["size"] != 64:
                continue
            hz = port["tsc_hz"]
            points = sorted((p[0], hz / p[1] / 1e6) for r in cell["rounds"] for p in r)
            dots = axes.plot(*zip(*points), "o", markersize=3, label=port["name"])
            limit = points[-1][0]
            xs = [limit * (i / 200) ** 3 for i in range(201)]
            axes.plot(xs, [hz / 1e6 / cycles(cell, x) for x in xs], linewidth=1,
                      color=dots[0].get_color())
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=100)
    axes.set_xlim(left=0)
    save(figure, axes, directory, "task")


def draw_memory(rows, directory):
    figure, axes = canvas("working set, KB", "TSC cycles a dependent access")
    for pages in "4K", "2M":
        points = [(row["bytes"] / 1024, row["cycles"]) for row in rows
                  if row["asked"] == pages and "cycles" in row]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, linewidth=1,
                      label=f"pages of {pages}B")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    save(figure, axes, directory, "memory")


def draw_frequencies(ports, core_per_tsc, directory):
    figure, axes = canvas("core's frequency, GHz", "throughput, Mpps")
    line = LINE / 8 / (64 + WIRE_OVERHEAD) / 1e6
    xs = [1 + i * 0.05 for i in range(61)]
    for port in ports:
        for cell in port["cells"]:
            if cell["burst"] == 32 and cell["size"] == 64:
                core = (cell["io"] + 100) * core_per_tsc
                axes.plot(xs, [min(line, x * 1e3 / core) for x in xs], linewidth=1,
                          label=f"{port['name']}, 100 cycles of task")
    axes.axhline(line, color="#999999", linestyle=":", linewidth=1)
    axes.text(xs[0], line, "10 Gbit/s, 64 bytes", fontsize=7, va="bottom")
    save(figure, axes, directory, "frequency")


def main():
    directory = pathlib.Path(sys.argv[1])
    result = json.loads((directory / "model.json").read_text())
    ports = [port for port in result["ports"] if "problem" not in port]
    if ports:
        draw_cells(ports, directory, "burst", "burst", "packets in a burst",
                   lambda cell: cell["size"] == 64)
        draw_cells(ports, directory, "size", "size", "bytes of a frame, with CRC",
                   lambda cell: cell["size"] != 64 or cell["burst"] == 32)
        draw_tasks(ports, directory)
        draw_frequencies(ports, result["core_per_tsc"], directory)
    if "memory" in result:
        draw_memory(result["memory"], directory)


if __name__ == "__main__":
    main()
