# SPDX-License-Identifier: Apache-2.0
"""The page of `bench/trend show --html`: a curve for each row, with its changes."""
import base64
import html
import io
import statistics

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as pyplot  # noqa: E402

from history import changes  # noqa: E402

PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Perigee: ratios by commit</title>
<meta name="viewport" content="width=device-width">
<style>body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}
img{max-width:100%%}td,th{text-align:left;padding:.2em 1em .2em 0}code{font-size:90%%}
</style>
<h1>Ratios by commit</h1>
<p>Cycles a packet of Perigee divided by those of the same work in C, in the same run.
The band holds two standard errors of the median to each side. A line across is a
change that chance doesn't explain.</p>
<h2>Changes</h2>
%s
%s</html>
"""


def _curve(points, found):
    """A PNG: the curve of one row."""
    figure, axes = pyplot.subplots(figsize=(9, 2.6), layout="constrained")
    xs = range(len(points))
    mids = [statistics.median(ratios) for _, ratios in points]
    errors = [2 * min(changes.error(ratios), 1) for _, ratios in points]
    axes.fill_between(xs, [m * (1 - e) for m, e in zip(mids, errors)],
                      [m * (1 + e) for m, e in zip(mids, errors)],
                      color="#1b73b3", alpha=0.2, linewidth=0)
    axes.plot(xs, mids, color="#1b73b3", marker="o", markersize=3)
    for at, share in found:
        axes.axvline(at, color="#b2182b" if share > 0 else "#1b7837", linewidth=1)
    step = max(1, len(points) // 12)
    axes.set_xticks(xs[::step], [entry["commit"][:8] for entry, _ in points[::step]],
                    rotation=30, fontsize=7)
    axes.set_ylabel("ratio to C")
    axes.grid(axis="y", linewidth=0.3)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=110)
    pyplot.close(figure)
    return image.getvalue()


def _change_rows(key, points, found):
    machine, benchmark, row = key
    for at, share in found:
        entry = points[at][0]
        before = statistics.median(points[at - 1][1])
        words = (entry["commit"][:12], entry["subject"], "%s, %s" % (benchmark, row),
                 "%+.1f %%" % (100 * share),
                 "%.3f to %.3f" % (before, statistics.median(points[at][1])), machine)
        yield "<tr>%s</tr>" % "".join("<td>%s</td>" % html.escape(w) for w in words)


def make(series):
    """The page's text, of record.series(entries)."""
    table, curves = [], []
    for key, points in sorted(series.items()):
        found = changes.find([ratios for _, ratios in points])
        table += _change_rows(key, points, found)
        name = html.escape("%s: %s (%s)" % (key[1], key[2], key[0]))
        image = base64.b64encode(_curve(points, found)).decode()
        curves.append('<h2>%s</h2>\n<img alt="%s by commit, %d changes" src='
                      '"data:image/png;base64,%s">' % (name, name, len(found), image))
    heads = "".join("<th>%s</th>" % w for w in
                    ("Commit", "Subject", "Row", "Slower", "Ratio", "Machine"))
    text = "<table><tr>%s</tr>%s</table>" % (heads, "".join(table)) if table \
        else "<p>None.</p>"
    return PAGE % (text, "\n".join(curves))
