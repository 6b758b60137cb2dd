# SPDX-License-Identifier: Apache-2.0
"""The commands for root of doc/lwaftr.md, one after the other as they stand there. Where
the kernel has no ip6tnl, a program of the tests' is the B4's tunnel."""

import os
import re
import sys

import pytest

from helpers import b4
from helpers.command import PERIGEE, ROOT, check, run, tool

PAGE = (ROOT / "doc/lwaftr.md").read_text()
COMMANDS = re.findall(r"^    # (.*)$", PAGE, re.MULTILINE)
CONF = re.search(r"^```conf\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL).group(1)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


def has_ip6tnl():
    probe = ["link", "add", f"probe{os.getpid()}", "type", "ip6tnl"]
    if run(tool("ip"), *probe).returncode != 0:
        return False
    check("ip", "link", "delete", probe[2])
    return True


def script(own):
    """The page's commands, with names that no other run has."""
    lines = []
    for command in COMMANDS:
        if " type ip6tnl " in command and not has_ip6tnl():
            ends = re.search(r"local (\S+) remote (\S+)", command).groups()
            command = (f"ip netns exec lw-home {sys.executable} {b4.__file__} tun0 "
                       f"{' '.join(ends)} > b4.log 2>&1 & echo $! > b4.pid; "
                       "until grep -q ready b4.log; do sleep 0.1; done")
        command = command.replace("lw-", f"{own}-").replace("border", own)
        lines.append(command.replace("$n; done", "$n || exit 1; done"))
    return "set -e\n" + "\n".join(lines) + "\n"


def test_page_leads_to_a_running_lwaftr(tmp_path):
    own = f"lwdoc{os.getpid()}"
    (tmp_path / "lwaftr.conf").write_text(CONF.replace("border", own))
    path = f"{PERIGEE.parent}:{os.environ['PATH']}:/usr/sbin:/sbin"
    try:
        result = run("sh", "-c", script(own), cwd=tmp_path,
                     env={**os.environ, "PATH": path})
        log = tmp_path / "lwaftr.log"
        assert result.returncode == 0, (result.stdout, result.stderr, log.read_text())
        assert result.stdout.count(" 0% packet loss") == 4, result.stdout
        assert "in-ipv6-packets:" in result.stdout
        assert "b4-ipv6 2001:db8:1::2;" in result.stdout
    finally:
        if (tmp_path / "b4.pid").exists():
            run("kill", (tmp_path / "b4.pid").read_text().strip())
        run(PERIGEE, "config", "shutdown", own)
        for name in "internet", "router", "home":
            run(tool("ip"), "netns", "delete", f"{own}-{name}")
