# SPDX-License-Identifier: Apache-2.0
"""What is told without --check of apps that use packets wrongly: where a packet is none,
and sums that don't fit."""

import re

import pytest

from helpers.command import PERIGEE, perigee, run
from helpers.misuse import PROCESS, PROGRAM, PUSH
from helpers.report import account


def test_nil_sent(tmp_path):
    (tmp_path / "wrong.lua").write_text(PROGRAM % {
        "class": PUSH % "link.transmit(output, nil)", "more": ""})
    result = perigee("--eal", "--no-huge", "run", "wrong.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert re.match(r"perigee: app 'bad': in push\(\): wrong.lua:10: link.transmit: "
                    r"argument 2 is nil; it takes a packet\n", result.stderr), result.stderr
    account(result.stdout)


@pytest.mark.parametrize("after", [0, 20_000])
def test_null_sent(tmp_path, after):
    """The one that takes it from the link is at work then."""
    does = (f"self.n = (self.n or 0) + 1 if self.n > {after} then "
            "p = ffi.cast('struct packet *', nil) end link.transmit(output, p)")
    (tmp_path / "wrong.lua").write_text(PROGRAM % {"class": PUSH % does, "more": """
engine.fuse = false io.write("buffered ")"""})
    result = perigee("--eal", "--no-huge", "run", "wrong.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert re.fullmatch(r"perigee: app 'after': in process\(\), at \S+(:\d+|\+0x[0-9a-f]+): NULL "
                        r"was used "
                        r"as a packet, or as an address; which app has sent it: see "
                        r"`perigee --check PROGRAM`\n", result.stderr), result.stderr
    assert result.stdout == "buffered "


def test_null_in_c():
    """The file, and where in it, as addr2line takes it."""
    script = "require('core.native').pg_take(nil, nil, 1)"
    result = perigee("snsh", "-e", script)
    assert result.returncode == 1
    found = re.match(r"perigee: the program, .*, at perigee\+0x([0-9a-f]+): NULL was used as a "
                     r"packet", result.stderr)
    assert found, result.stderr
    assert "pg_take" in run("addr2line", "-f", "-i", "-e", PERIGEE, found[1]).stdout


def test_other_faults_end_the_process_as_ever(tmp_path):
    path = tmp_path / "wrong.lua"
    path.write_text("""
local ffi = require("ffi")
ffi.cdef "int raise(int);"
local kind = ...
if kind == "raise" then ffi.C.raise(11) end
print(ffi.cast("uint8_t *", 2 ^ 46)[0])""")
    for kind in "raise", "read":
        result = run("sh", "-c", f"ulimit -c 0; exec {PERIGEE} run {path} {kind}")
        assert result.returncode == -11, result.stderr


def test_a_sum_that_cannot_be(tmp_path):
    does = "self.n = (self.n or 0) + 1 packet.free(p) if self.n < 4 then packet.free(p) end"
    (tmp_path / "wrong.lua").write_text(PROGRAM % {"class": PUSH % does, "more": ""})
    result = perigee("--eal", "--no-huge", "run", "wrong.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert re.search(r"^perigee: [\d,]+ packets more were sent, freed or dropped than came "
                     r"in: apps free or send packets twice \(`perigee --check PROGRAM` says "
                     r"which\)$", result.stderr, re.M), result.stderr
    assert re.search(r"held by apps -[\d,]+$", result.stdout, re.M)


def test_a_sum_that_does_not_fit_the_pool(tmp_path):
    """As if a port had counted packets that it never brought."""
    (tmp_path / "wrong.lua").write_text(PROGRAM % {
        "class": PROCESS % "return p",
        "more": "local list = require('core.pool').freelist list.received = 5"})
    result = perigee("--eal", "--no-huge", "run", "wrong.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == ("perigee: the sum of packets leaves 6 for apps to hold, but "
                             "only 1 are out of the pool\n")
    result = perigee("--eal", "--no-huge", "run", "wrong.lua", "--check", cwd=tmp_path)
    assert result.stderr == ("perigee: the sum of packets leaves 6 for apps to hold, but "
                             "they hold 1\n")


def test_a_sum_that_does_not_fit_at_the_end(tmp_path):
    (tmp_path / "wrong.lua").write_text("""
packet.free(packet.allocate())
require('core.pool').freelist.received = 5
local c = config.new()
engine.configure(c)
engine.main{duration = 0.01, no_report = true}""")
    result = perigee("--eal", "--no-huge", "run", "wrong.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == ("perigee: at the end the sum of packets leaves 5 that were "
                             "never given back, but there are 0\n")
