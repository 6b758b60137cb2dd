# SPDX-License-Identifier: Apache-2.0
"""Files that don't end, as /dev/zero, where a text is read: a sentence, and no memory
without bound. What is damaged tells so by the exit status, too."""

import os
import resource

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, run

MEMORY = 3 << 30  # bytes, of data

ENDLESS = {
    "click": ["click", "@"],
    "click_check": ["click_check", "@"],
    "click_combine": ["click_combine", "@", "--file", "@"],
    "click_pretty": ["click_pretty", "--template", "@", "-e", "Idle -> Discard"],
    "summary": ["click", "-e", "FromIPSummaryDump(@, STOP true) -> Discard"],
    "tcpdump": ["click", "-e", "FromTcpdump(@, STOP true) -> Discard"],
    "rules": ["click", "-e", "Idle -> IPFilter(file @) -> Discard"],
    "model": ["model", "predict", "--task", "100", "--port", "null", "--model", "@"],
    "memif": ["echo", "memif:none.sock,secret_file=@", "1", "10ms"],
    "vtep": ["vtep", "--config", "@"],
    "lwaftr": ["lwaftr", "run", "--conf", "@"],
    "script": ["run", "@"],
}


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


@pytest.mark.parametrize("name", ENDLESS)
def test_what_does_not_end_is_refused(name, tmp_path):
    words = [word.replace("@", "/dev/zero") for word in ENDLESS[name]]
    result = run(PERIGEE, *words, cwd=tmp_path, preexec_fn=limit)
    said = result.stdout + result.stderr
    assert result.returncode in (1, 2), said
    assert "not enough memory" not in said and "traceback" not in said
    assert "/dev/zero" in said and len(said) < 1000, said


DAMAGED = {
    "pcap": ("FromDump", None, "ends in the middle of packet 2"),
    "record": ("FromIPSummaryDump", b"!data link\n!binary\n\0\0\0\x05\1\0\0\0\x05",
               "the last binary record is cut off"),
    "line": ("FromIPSummaryDump", b"!data link\n1\n" + b"2" * (1 << 20) + b"2\n",
             "a line has more than a megabyte"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_the_exit_status_tells_of_damage(name, tmp_path):
    reader, content, sentence = DAMAGED[name]
    file = tmp_path / "file"
    if content is None:
        save(file, [bytes(60), bytes(60)])
        os.truncate(file, file.stat().st_size - 1)
    else:
        file.write_bytes(content)
    result = run(PERIGEE, "click", "-h", "c.count", "-e",
                 f"{reader}({file}, STOP true) -> c :: Counter -> Discard")
    assert sentence in result.stderr
    assert (result.returncode, result.stdout) == (1, "1\n")
