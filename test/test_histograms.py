# SPDX-License-Identifier: Apache-2.0
"""Logs of latencies: what is in them, by zlib and by HdrHistogram's own reader."""

import base64
import json
import struct
import zlib

import pytest

from helpers.command import perigee


def numbers(data):
    """Those that LEB128 and ZigZag stand for."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value >> 1 if value % 2 == 0 else -(value >> 1) - 1
            value = shift = 0


def decoded(text):
    """{least value counted at an index: how many}."""
    outer = base64.b64decode(text)
    cookie, length = struct.unpack(">II", outer[:8])
    assert (cookie, length) == (0x1C849314, len(outer) - 8)
    plain = zlib.decompress(outer[8:])
    cookie, length, offset, digits, lowest, highest, ratio = struct.unpack(
        ">IIIIqqd", plain[:40])
    assert (cookie, offset, digits, lowest, ratio) == (0x1C849313, 0, 3, 1, 1.0)
    assert length == len(plain) - 40
    counts, index = {}, 0
    for number in numbers(plain[40:]):
        if number < 0:
            index -= number
            continue
        width = max(0, index // 1024 - 1)
        counts[(index - width * 1024) << width] = number
        index += 1
    return counts


def percentile(counts, share):
    wanted = share * sum(counts.values())
    for value in sorted(counts):
        wanted -= counts[value]
        if wanted <= 0:
            return value
    raise AssertionError("no values")


def lines(path):
    """The lines of histograms: lists of words."""
    text = path.read_text().splitlines()
    assert text[1] == "#[Histogram log format version 1.3]"
    at = next(i for i, line in enumerate(text) if line.startswith('"StartTimestamp"'))
    return [line.split(",") for line in text[at + 1:]]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The log of a run of two streams, and its report."""
    folder = tmp_path_factory.mktemp("histograms")
    result = perigee(
        "generate", "--port", "ring:a", "--receive", "ring:a", "--count", "5000",
        "--stream", "eth,ip4,udp;name=one;rate=50kpps", "--stream",
        "eth,ip6,udp;name=two;rate=50kpps", "--histogram", folder / "log", "--json",
        folder / "json")
    assert result.returncode == 0, result.stderr
    return folder / "log", json.loads((folder / "json").read_text())


def test_has_what_the_report_has(run):
    log, report = run
    found = lines(log)
    assert [words[0] for words in found] == ["Tag=one", "Tag=two"]
    for words, stream in zip(found, report["streams"]):
        counts, summary = decoded(words[4]), stream["received"]["latency_ns"]
        assert sum(counts.values()) == 5000
        for key, share in ("median", 0.5), ("p99", 0.99), ("p999", 0.999):
            assert percentile(counts, share) == pytest.approx(summary[key], rel=0.003)
        assert max(counts) == pytest.approx(summary["max"], rel=0.003)
        assert float(words[3]) * 1e6 == pytest.approx(summary["max"], rel=0.003)


def test_is_read_by_hdrhistogram(run):
    reading = pytest.importorskip(
        "hdrh.log", reason="there is no hdrhistogram (pip install hdrhistogram)")
    from hdrh.histogram import HdrHistogram
    log, report = run
    reader = reading.HistogramLogReader(str(log), HdrHistogram(1, 3600 * 10**9, 3))
    for stream in report["streams"]:
        histogram, summary = reader.get_next_interval_histogram(), \
            stream["received"]["latency_ns"]
        assert histogram.get_total_count() == 5000
        assert histogram.get_tag() == stream["name"]
        for key, q in ("min", 0), ("median", 50), ("p90", 90), ("p99", 99), ("max", 100):
            assert histogram.get_value_at_percentile(q) == pytest.approx(
                summary[key], rel=0.003, abs=2)
        assert histogram.get_mean_value() == pytest.approx(summary["mean"], rel=0.003)
    assert reader.get_next_interval_histogram() is None


@pytest.mark.fast
def test_where_there_can_be_none():
    result = perigee("generate", "--port", "null", "--histogram", "log")
    assert result.returncode == 2
    assert "--histogram is of what comes back: give --receive PORT too" in result.stderr
