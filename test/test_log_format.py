# SPDX-License-Identifier: Apache-2.0
"""What Perigee says on stderr: its forms, levels, and what systemd's journal gets."""

import json
import os
import random
import re

import pytest

from helpers.command import PERIGEE, perigee, run
from helpers.service import GRAPH, environment


def test_logs_are_json(tmp_path):
    path = tmp_path / "a\"b.lua"
    path.write_text(GRAPH + 'engine.main{speed = 1, duration = 0, no_report = true}\n'
                    'error("a \\"word\\"\\nand \\1 more")')
    result = perigee("--log-format", "json", "--eal", "--no-huge", "run", path)
    lines = [json.loads(line) for line in result.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "error"]
    assert 'a "word"\nand \1 more' in lines[1]["message"]
    for line in lines:
        assert set(line) == {"time", "level", "pid", "message"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["time"])


@pytest.mark.fast
def test_bytes_that_are_not_utf8(tmp_path):
    numbers = random.Random(8)
    starts = "é€\U0001f408퟿\ue000\U0010ffff".encode()
    text = b"".join(
        bytes(numbers.choices(starts + b"\x80\xbf\xc1\xe0\xed\xf4\xf5az", k=4))
        + numbers.choice(["é", "€", "\U0001f408", "z"]).encode() for _ in range(600))
    (tmp_path / "bytes").write_bytes(text)
    path = tmp_path / "a.lua"
    path.write_text(f'error(io.open("{tmp_path}/bytes", "rb"):read("*a"), 0)')
    result = run(PERIGEE, "--log-format", "json", "run", path, text=False)
    message = json.loads(result.stderr.decode())["message"]
    wanted = re.sub("[\udc80-\udcff]", "\ufffd", text.decode(errors="surrogateescape"))
    assert message.startswith(wanted)


@pytest.mark.fast
def test_logs_are_timed_and_have_levels():
    result = perigee("--log-format=timed", "echo", "pcap:rx=/none")
    assert re.fullmatch(r"\S+Z error: .*'/none'.*\n", result.stderr), result.stderr
    result = perigee("echo", "pcap:rx=/none", "--log-format", "journal")
    assert re.fullmatch(r"<3>app .*'/none'.*\n", result.stderr), result.stderr
    result = perigee("--log-format", "xml", "echo")
    assert (result.returncode, result.stderr) == (
        2, "perigee: --log-format xml: give one of journal, json, text, timed\n")


def test_levels_leave_out(tmp_path):
    path = tmp_path / "a.lua"
    path.write_text(GRAPH + "engine.main{speed = 1, duration = 0, no_report = true}")
    assert "'speed'" in perigee("run", path, "--log-level", "warning").stderr
    assert perigee("run", path, "--log-level", "error").stderr == ""


def test_the_journal_gets_levels(tmp_path):
    """As systemd does it: $JOURNAL_STREAM tells which file is the journal's."""
    with open(tmp_path / "journal", "w+") as journal:
        found = os.fstat(journal.fileno())
        for inode, wanted in (found.st_ino, "<3>app"), (found.st_ino + 1, "perigee: app"):
            journal.seek(0)
            journal.truncate()
            run(PERIGEE, "echo", "pcap:rx=/none", capture_output=False, stderr=journal,
                env=environment(JOURNAL_STREAM=f"{found.st_dev}:{inode}"))
            journal.seek(0)
            assert journal.read().startswith(wanted)
