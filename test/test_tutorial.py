# SPDX-License-Identifier: Apache-2.0
"""The tutorial: its files are written, and its commands run by one shell, one after the
other, in namespaces that end with it."""

import os
import re

import pytest

from helpers.command import ROOT, check, run, tool

PAGE = (ROOT / "doc" / "tutorial.md").read_text()


def files():
    """Blocks of code are files, named in their first line."""
    for text in re.findall(r"^```\w+\n(.*?)^```\n", PAGE, re.M | re.S):
        yield re.match(r"(?:--|#) (\S+)\n", text)[1], text


def commands():
    return re.findall(r"^    # (.*)$", PAGE, re.M)


# Each command is shown, and the first that fails ends it all; `wait` tells of a process
# that a signal has ended.
SCRIPT = """
mkdir -p /run/netns
mount -t tmpfs none /run/netns
trap 'kill $bridge $queries 2>/dev/null' EXIT
step() { echo "== $1"; eval "$1" || { echo "FAILED $?"; exit 1; }; }
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="wants root, for namespaces")
def test_all_of_it(tmp_path):
    for name, text in files():
        (tmp_path / name).write_text(text)
    quoted = ["step '" + command.replace("'", "'\\''") + "'" for command in commands()]
    (tmp_path / "all.sh").write_text(SCRIPT + "\n".join(quoted) + "\necho == the end\n")
    result = run(tool("unshare"), "--net", "--mount", "bash", "all.sh", cwd=tmp_path,
                 timeout=240, env={**os.environ, "PATH": f"{ROOT}:{os.environ['PATH']}"})
    said = result.stdout
    assert said.endswith("== the end\n"), said + result.stderr
    assert len(re.findall(r"^\d+ packets transmitted, [1-9]", said, re.M)) == 2, said
    assert re.search(r"^filter: dns +\d+ +[1-9]\d*$", said, re.M), said
    assert re.search(r"^filter: dns-bytes +\d", said, re.M), said
    assert re.search(r"^packet 1: 48 bytes, IP 10\.0\.0\.1\.\d+ > 10\.0\.0\.2\.53: UDP.*\n"
                     r"  from left\n  dropped by filter: dns$", said, re.M), said
    assert len(re.findall(r"10\.0\.0\.2\.53: ", said)) >= 3  # those captured, too
    assert "bridge.yaml: read again: 1 app changed" in result.stderr
    assert "WORKERS" in said
    assert re.search(r"^packets: received", said, re.M)
    passed = check("tcpdump", "-nr", tmp_path / "passed.pcapng")
    assert re.search(r"> 10\.0\.0\.2\.53: ", passed)


def test_what_it_says_of_a_mistake(tmp_path):
    for name, text in files():
        (tmp_path / name).write_text(text.replace("port: 53}", "prot: 53}"))
    result = run(ROOT / "perigee", "run", "bridge.yaml", "--check", cwd=tmp_path)
    assert result.returncode == 2
    assert "is 'port' meant?" in result.stderr, result.stderr
