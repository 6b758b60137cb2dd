# SPDX-License-Identifier: Apache-2.0
"""What Perigee says on stderr: its forms, levels, and what systemd's journal gets."""

import json
import os
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
