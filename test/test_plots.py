# SPDX-License-Identifier: Apache-2.0
"""`--plot FILE` of programs that measure: figures as SVG or as a page."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from helpers.command import perigee

SVG = "{http://www.w3.org/2000/svg}"


def drawn(path):
    """The texts of a picture, and how many lines it has that go from point to point."""
    root = ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg"
    for line in root.iter(SVG + "polyline"):
        for point in line.get("points").split():
            x, y = (float(n) for n in point.split(","))
            assert 0 <= x <= 640 and 0 <= y <= 320
    return [text.text for text in root.iter(SVG + "text")], \
        len(list(root.iter(SVG + "polyline")))


def plot(path, *args):
    result = perigee(*args, "--plot", path)
    assert result.returncode == 0, result.stderr
    return result


def test_predict(tmp_path):
    picture, page = tmp_path / "p.svg", tmp_path / "p.html"
    args = ["model", "predict", "--task", 60, "--io", 40, "--ghz", 3, "--line", "10G"]
    said = plot(picture, *args).stdout
    assert said == perigee(*args).stdout
    texts, lines = drawn(picture)
    assert lines == 3 and {"the CPU", "predicted", "asked for"} <= set(texts)
    plot(page, *args)
    html = page.read_text()
    assert html.startswith("<!doctype html>") and html.count("<svg ") == 1
    assert "http" not in html.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_connect(tmp_path):
    picture = tmp_path / "c.svg"
    plot(picture, "connect", "both", "--clients", "10.0.0.1..10.0.0.9", "--servers",
         "10.1.0.1", "-c", 200)
    texts, lines = drawn(picture)
    assert {"Open connections", "Latency", "client: open", "client: connect"} <= set(texts)
    assert lines >= 4


@pytest.mark.parametrize("words", [
    ["find-limit", "--sizes", "60,512", "-b", "1e8", "-p", "1e8", "-D", "100ms"],
    ["mlrsearch", "--sizes", "60", "-b", "1e7", "-D", "50ms", "--duration-sum", "100ms"]])
def test_loadtest(tmp_path, words):
    """There is a line for each size that was measured: trials of a late machine are void."""
    picture = tmp_path / "l.svg"
    found = json.loads(plot(picture, "loadtest", *words, "--warm-up", 0, "--json", "-",
                            "A", "B", "ring:x", "B", "A", "ring:x").stdout)
    measured = [f"{one['size']} bytes" for one in found["results"]
                if not all(trial.get("void") for trial in one["trials"])]
    texts, lines = drawn(picture)
    assert ("Packets lost by rate" in texts) == bool(measured)
    assert set(measured) <= {*texts, "60 bytes"} and lines >= len(measured)


def test_transient(tmp_path):
    from scapy.all import IP, UDP, Ether, wrpcap
    load, picture = tmp_path / "load.pcap", tmp_path / "t.svg"
    wrpcap(str(load), [Ether(dst="02:00:00:00:00:02") / IP() / UDP() / bytes(200)])
    plot(picture, "loadtest", "transient", "-D", "100ms", "--warm-up", 0, "-b", "20e6",
         "-s", "10e6", load, "A", "B", "ring:x", load, "B", "A", "ring:x")
    texts, lines = drawn(picture)
    assert lines == 3 and {"sent", "received", "lost"} <= set(texts)


def test_lwaftr_bench(tmp_path):
    conf, v4, v6 = (tmp_path / name for name in ("g.conf", "4.pcap", "6.pcap"))
    result = perigee("lwaftr", "generate", "-o", conf, "-4", v4, "-6", v6, "-n", 50,
                     "193.5.1.0", 1, "fc00::100", "fc00:1:2:3:4:5:0:7e", 6)
    assert result.returncode == 0, result.stderr
    plot(tmp_path / "b.svg", "lwaftr", "bench", "-D", "700ms", conf, v4, v6)
    texts, lines = drawn(tmp_path / "b.svg")
    assert lines == 4 and {"Decap.", "Encap."} <= set(texts)


@pytest.mark.fast
def test_files_that_cannot_be(tmp_path):
    args = ["model", "predict", "--task", 60, "--io", 40, "--ghz", 3, "--plot"]
    for path, sentence in [("x.png", "the file's name ends in .svg or .html"),
                           (tmp_path / "none" / "x.svg", "can't"),
                           ("-", "ends in .svg or .html")]:
        result = perigee(*args, path)
        assert result.returncode == 2 and sentence in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1 and result.stdout == ""
