# SPDX-License-Identifier: Apache-2.0
"""keepalived says which of two hosts is master (examples/failover): TCP goes on through the
other one's NAT when the first one dies."""

import contextlib
import pathlib
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


def prepare(host, priority):
    """Files of the example, with this host's folders; the command that runs keepalived."""
    folder, nat = host.folder, host.namespace
    script = (EXAMPLES / "failover-notify").read_text().replace(
        "export SNABB_SHM_ROOT=/run/perigee\n", f"export SNABB_SHM_ROOT={folder}/shm\n"
        f"PATH={folder}:{PERIGEE.parent}:$PATH\n")
    assert str(folder) in script
    (folder / "notify").write_text(script)
    (folder / "notify").chmod(0o755)
    conf = (EXAMPLES / "keepalived.conf").read_text().replace(
        "/etc/perigee/failover-notify", str(folder / "notify")).replace(
        "priority 254 ", f"priority {priority} ")
    assert str(folder) in conf and f"priority {priority} " in conf
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


def router(host):
    return host.start("--keep", "nat", "--standby", "click", "-e", NAT, "--device",
                      "0=packet:in0", "--device", "1=packet:out0")


class Probe:
    """Datagrams from inside to outside, which are answered: the longest time without an
    answer while it was there."""

    def __init__(self, net, stack):
        with net.outside.entered():
            self.answers = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        self.answers.bind(("192.0.2.254", SECOND))
        self.answers.settimeout(0.1)
        with net.inside.entered():
            self.asks = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        self.asks.bind((INSIDE, SECOND))
        self.asks.connect(("192.0.2.254", SECOND))

    @contextlib.contextmanager
    def sent(self, said):
        done, gaps = threading.Event(), []
        threads = [threading.Thread(target=echo, args=(self.answers, done)),
                   threading.Thread(target=lambda: gaps.append(longest_gap(self.asks, done)))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            done.set()
            for thread in threads:
                thread.join()
        gap, since = gaps[0]
        assert since < gap, "packets pass again"
        said.append(f"{said.pop()}: no packet passed for {1000 * gap:.0f} ms")


class Failover:
    """Both hosts with all that runs on them, keepalived but where it is started."""

    def __init__(self, stack, net):
        self.stack, self.net, self.running = stack, net, {}
        self.commands = [prepare(host, 254 - i) for i, host in enumerate(net.hosts)]
        for i in 0, 1:
            self.start(i)

    def start(self, i):
        host, other = self.net.hosts[i], self.net.hosts[1 - i]
        host.notify("backup", "nat")  # whatever it was
        replicator = self.stack.enter_context(host.start(
            "replicate", "nat", other.address, "--listen", host.address))
        replicator.wait_for("nat: backup")
        nat = self.stack.enter_context(router(host))
        nat.wait_for("stands by for the master on another host")
        self.running[i] = [replicator, nat]

    def keepalived(self, i):
        started = self.stack.enter_context(running(*map(str, self.commands[i])))
        self.running[i].append(started)
        return started

    def die(self, i):
        """The host dies."""
        host = self.net.hosts[i]
        child = (host.folder / "vrrp.pid").read_text().strip()
        host.namespace.check("kill", "-9", child,
                             *(str(process.pid) for process in reversed(self.running[i])))
        self.net.cut(i)
        for process in self.running[i]:
            process.finish()
        # init reaps it; as long as it hasn't, keepalived takes it for one that runs.
        wait_until(lambda: not pathlib.Path("/proc", child).exists(), "keepalived's end")


def test_tcp_goes_on_when_the_master_dies_and_back_again(tmp_path, capsys):
    with contextlib.ExitStack() as stack:
        net = Net(stack, tmp_path)
        both = Failover(stack, net)
        both.keepalived(0)
        sending, nat = both.running[0][:2]
        nat.wait_for("took over in")
        both.keepalived(1).wait_for("Entering BACKUP STATE")
        sending.wait_for("has all")
        client, server = net.connected(stack)
        probe, said = Probe(net, stack), []
        for turn in range(2):
            dying, other = turn, 1 - turn
            host = net.hosts[other]
            said.append(f"turn {turn}")
            with probe.sent(said):
                pass_on(client, server)
                wait_until(lambda: re.search("nat: [3-9] records", host.run("keep", "list").stdout),
                           lambda: host.run("keep", "list").stdout)
                both.die(dying)
                for _ in range(5):
                    pass_on(client, server)
                    pass_on(server, client)
            replicator, nat = both.running[other][:2]
            replicator.wait_for("nat: master, was backup")
            nat.wait_for("took over in")
            assert re.search(r"nat goes on with (\d+) of \1 records", nat.said), nat.said
            if turn == 0:  # the host that died comes back, and is backup
                net.mend(dying)
                both.start(dying)
                both.keepalived(dying).wait_for("Entering BACKUP STATE")
                both.running[dying][0].wait_for("in the place of")
                replicator.wait_for("has all")
        with capsys.disabled():
            print("\n" + "\n".join(said))


def test_a_host_that_is_no_more_master_gives_way(tmp_path):
    """What runs there is ended, and what stands by isn't let in, not even when the
    replicator is killed."""
    with contextlib.ExitStack() as stack:
        net = Net(stack, tmp_path)
        both = Failover(stack, net)
        a = net.hosts[0]
        replicator, first = both.running[0]
        a.notify("master", "nat")
        first.wait_for("took over in")
        second = stack.enter_context(router(a))
        second.wait_for(f"stands by for process {first.pid}\n")
        a.notify("backup", "nat")
        replicator.wait_for(f"process {first.pid} gets SIGTERM")
        assert first.finish() == 0
        second.wait_for("stands by for the master on another host")
        kill(replicator)
        assert second.runs_for(0.5) and "took over" not in second.said
        a.notify("fault", "nat")
        second.wait_for("this one has the role 'fault'")
        a.notify("master", "nat")
        second.wait_for("took over in")
        assert second.interrupt() == 0
