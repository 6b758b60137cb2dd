# SPDX-License-Identifier: Apache-2.0
"""keepalived says which of two hosts is master (examples/failover): TCP goes on through the
other one's NAT when the first one dies."""

import contextlib
import re
import shutil
import socket
import threading
import time

import pytest

from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.failover import INSIDE, NAT, Net, kill, pass_on

EXAMPLES = ROOT / "examples/failover"
SECOND = 5000  # UDP

pytestmark = pytest.mark.skipif(not shutil.which("keepalived", path="/usr/sbin:/usr/bin"),
                                reason="there is no keepalived")

# What stands for systemd: it starts and stops the NAT.
SYSTEMCTL = """#!/bin/sh
exec >>{folder}/router.log 2>&1
case $1 in
  start) setsid {perigee} --keep nat click {folder}/nat.click --device 0=packet:in0 \\
    --device 1=packet:out0 & echo $! >{folder}/router.pid ;;
  stop) [ ! -s {folder}/router.pid ] || kill $(cat {folder}/router.pid); rm -f {folder}/router.pid ;;
esac
"""


def prepare(host):
    """Files of the example, with this host's folders; the command that runs keepalived."""
    folder, nat = host.folder, host.namespace
    (folder / "nat.click").write_text(NAT)
    (folder / "systemctl").write_text(SYSTEMCTL.format(folder=folder, perigee=PERIGEE))
    script = (EXAMPLES / "failover-notify").read_text().replace(
        "export SNABB_SHM_ROOT=/run/perigee\n", f"export SNABB_SHM_ROOT={folder}/shm\n"
        f"PATH={folder}:{PERIGEE.parent}:$PATH\n")
    assert str(folder) in script
    (folder / "notify").write_text(script)
    for name in "systemctl", "notify":
        (folder / name).chmod(0o755)
    conf = (EXAMPLES / "keepalived.conf").read_text().replace(
        "/etc/perigee/failover-notify", str(folder / "notify"))
    assert str(folder) in conf
    (folder / "keepalived.conf").write_text(conf)
    return nat.command("keepalived", "-n", "-l", "-D", "-P", "-f", folder / "keepalived.conf",
                       "-p", folder / "pid", "-r", folder / "vrrp.pid")


def echo(server, stop):
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            data, address = server.recvfrom(100)
            server.sendto(data, address)


def longest_gap(client, event):
    """Numbered datagrams every 5 ms: the longest time without an answer until `event`."""
    number, last, gap = 0, time.monotonic(), 0
    while not event.is_set():
        with contextlib.suppress(OSError):
            client.send(number.to_bytes(4, "big"))
        number += 1
        ends = time.monotonic() + 0.005
        while (left := ends - time.monotonic()) > 0:
            client.settimeout(left)
            with contextlib.suppress(TimeoutError):
                client.recv(100)
                gap, last = max(gap, time.monotonic() - last), time.monotonic()
    return gap, time.monotonic() - last


def test_tcp_goes_on_when_the_master_dies(tmp_path, capsys):
    with contextlib.ExitStack() as stack:
        net = Net(stack, tmp_path)
        a, b = net.hosts
        commands = [prepare(host) for host in net.hosts]
        stack.callback(lambda: [host.namespace.run(str(host.folder / "systemctl"), "stop")
                                for host in net.hosts])
        sending, taking = [
            stack.enter_context(host.start(
                "replicate", "nat", other.address, "--listen", host.address))
            for host, other in ((a, b), (b, a))]
        stack.enter_context(running(*map(str, commands[0])))
        sending.wait_for("nat: master, was backup")
        second = stack.enter_context(running(*map(str, commands[1])))
        second.wait_for("Entering BACKUP STATE")
        sending.wait_for("has all")
        client, server = net.connected(stack)
        with net.outside.entered():
            answers = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        answers.bind(("192.0.2.254", SECOND))
        answers.settimeout(0.1)
        with net.inside.entered():
            asks = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        asks.bind((INSIDE, SECOND))
        asks.connect(("192.0.2.254", SECOND))
        done, gaps = threading.Event(), []
        threads = [threading.Thread(target=echo, args=(answers, done)),
                   threading.Thread(target=lambda: gaps.append(longest_gap(asks, done)))]
        for thread in threads:
            thread.start()
        try:
            pass_on(client, server)
            wait_until(lambda: re.search("nat: [3-9] records", b.run("keep", "list").stdout),
                       lambda: b.run("keep", "list").stdout)
            for pid in "vrrp.pid", "pid", "router.pid":  # the host dies
                a.namespace.check("kill", "-9", (a.folder / pid).read_text().strip())
            (a.folder / "router.pid").unlink()
            net.cut(0)
            kill(sending)
            for _ in range(5):
                pass_on(client, server)
                pass_on(server, client)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        taking.wait_for("nat: master, was backup")
        assert "goes on with" in (b.folder / "router.log").read_text()
        gap, since = gaps[0]
        assert since < gap, "packets pass again"
        with capsys.disabled():
            print(f"\nno packet passed for {1000 * gap:.0f} ms")
