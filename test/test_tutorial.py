# SPDX-License-Identifier: Apache-2.0
"""The tutorial: its files are written, and its commands run by one shell, one after the
other, in namespaces that end with it. The shell begins in the checkout, as a reader's
does, and its PATH is the one that it finds."""

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
# that a signal has ended. The next comes when Perigee has said what it did upon SIGHUP.
SCRIPT = """
mkdir -p /run/netns
mount -t tmpfs none /run/netns
trap 'kill $bridge $queries 2>/dev/null' EXIT
exec 2>$HOME/said
answers() { grep -c "bridge.yaml" $HOME/said; }
step() {
  before=$(answers)
  echo "== $1"
  eval "$1" || { echo "FAILED $?"; exit 1; }
  case $1 in "kill -HUP"*)
    for _ in {1..600}; do [ $(answers) -gt $before ] && break; sleep 0.1; done;;
  esac
}
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="wants root, for namespaces")
def test_all_of_it(tmp_path):
    folder = tmp_path / "bridge"
    folder.mkdir()
    for name, text in files():
        (folder / name).write_text(text)
    quoted = ["step '" + command.replace("'", "'\\''") + "'" for command in commands()]
    (tmp_path / "all.sh").write_text(SCRIPT + "\n".join(quoted) + "\necho == the end\n")
    result = run(tool("unshare"), "--net", "--mount", "bash", tmp_path / "all.sh", cwd=ROOT,
                 timeout=240, env={**os.environ, "HOME": str(tmp_path)})
    said, errors = result.stdout, (tmp_path / "said").read_text()
    assert said.endswith("== the end\n"), said + errors + result.stderr
    assert len(re.findall(r"^\d+ packets transmitted, [1-9]", said, re.M)) == 2, said
    assert re.search(r"^filter: dns +\d+ +[1-9]\d*$", said, re.M), said
    assert re.search(r"^filter: dns-bytes +\d", said, re.M), said
    assert re.search(r"^packet 1: 48 bytes, IP 10\.0\.0\.1\.\d+ > 10\.0\.0\.2\.53: UDP.*\n"
                     r"  from left\n  dropped by filter: dns$", said, re.M), said
    assert len(re.findall(r"10\.0\.0\.2\.53: ", said)) >= 3  # those captured, too
    assert "bridge.yaml: read again: 1 app changed" in errors
    assert "is 'port' meant?" in errors, errors
    assert "bridge.yaml: read again: nothing has changed" in errors, errors
    assert "WORKERS" in said
    assert re.search(r"^packets: received", said, re.M)
    passed = check("tcpdump", "-nr", folder / "passed.pcapng")
    assert re.search(r"> 10\.0\.0\.2\.53: ", passed)


def test_what_it_says_of_a_mistake(tmp_path):
    for name, text in files():
        (tmp_path / name).write_text(text.replace("port: 53}", "prot: 53}"))
    result = run(ROOT / "perigee", "run", "bridge.yaml", "--check", cwd=tmp_path)
    assert result.returncode == 2
    assert "is 'port' meant?" in result.stderr, result.stderr
