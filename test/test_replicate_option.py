# SPDX-License-Identifier: Apache-2.0
"""--replicate: a process has a replicator of its own, which is started again when it dies and
ends with its process."""

import contextlib
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from helpers.command import wait_until
from helpers.failover import hosts, kill  # noqa: F401


def with_replicator(host, other, *options):
    return host.start("--keep", "x", "--replicate", f"{other.address}:{other.port} --listen "
                      f"{host.address}:{host.port} --interval 20ms", *options, "click",
                      host.folder.parent / "flows.click")


def replicator_of(host):
    found = re.search(r"^(\d+) +replicate x ", host.run("ps").stdout, re.M)
    return found and int(found.group(1))


@pytest.mark.parametrize("options", [[], ["--sandbox"]])
def test_a_process_has_its_own_replicator(hosts, options):
    """It is started again, also below a sandbox, and ends with its process."""
    a, b = hosts
    with with_replicator(a, b, *options) as one, with_replicator(b, a, *options) as other:
        for process in one, other:
            process.wait_for("stands by for")
            process.wait_for("perigee: x: backup")
        a.notify("master")
        one.wait_for("took over in")
        one.wait_for("has all")
        for turn in range(2):
            for host, process in (a, one), (b, other):
                old = replicator_of(host)
                assert old, process.read() and process.said
                os.kill(old, signal.SIGKILL)
                process.wait_for("the replicator of 'x' has ended; another one starts",
                                 count=turn + 1)
                wait_until(lambda: replicator_of(host) not in (None, old), "another one")
            one.wait_for("has all", count=turn + 2)
        assert a.metric("is_master") == 1
        wait_until(lambda: b.records() > 2900, b.records)
        kill(one)
        wait_until(lambda: not replicator_of(a), lambda: a.run("ps").stdout)
        b.notify("master")
        other.wait_for("took over in")
        assert re.search(r"goes on with \d{4} of", other.said), other.said
        assert other.interrupt() == 0, other.said
        wait_until(lambda: not replicator_of(b), lambda: b.run("ps").stdout)


def test_a_graph_file_says_where_it_is_sent(hosts):
    """Its keys `keep` and `replicate_to` are both options."""
    a, b = hosts
    with contextlib.ExitStack() as stack:
        processes = []
        for host, other in (a, b), (b, a):
            file = host.folder / "graph.yaml"
            file.write_text(f"""keep: x
replicate_to: '{other.address}:{other.port} --listen {host.address}:{host.port}'
ports: {{a: 'ring:a', b: 'ring:b'}}
links: [a -> b]
""")
            processes.append(stack.enter_context(host.start("run", file)))
            processes[-1].wait_for("perigee: x: backup")
        assert replicator_of(a) and replicator_of(b)
        a.notify("master")
        processes[0].wait_for("took over in")
        processes[0].wait_for("has all")
        kill(processes[0])
        wait_until(lambda: not replicator_of(a), lambda: a.run("ps").stdout)
        b.notify("master")
        processes[1].wait_for("took over in")
        assert processes[1].interrupt() == 0, processes[1].said


def test_a_replicator_that_cannot_run_is_started_with_growing_pauses(hosts):
    a, b = hosts
    with socket.create_server(("127.0.0.1", a.port)), with_replicator(a, b) as one:
        for turn, pause in enumerate((1, 2, 4)):
            one.wait_for(f"another one starts in {pause} s")
            assert one.said.count(f"--listen 127.0.0.1:{a.port}: bind: Address already in use") > turn
    assert not replicator_of(a)


def test_a_killed_keeper_is_told_and_its_replicator_ends(hosts):
    a, b = hosts
    with with_replicator(a, b) as one:
        one.wait_for("x: backup")
        status = Path(f"/proc/{replicator_of(a)}/status").read_text()
        os.kill(int(re.search(r"^PPid:\t(\d+)$", status, re.M).group(1)), signal.SIGKILL)
        wait_until(lambda: not replicator_of(a), lambda: a.run("ps").stdout)
        a.notify("master")
        one.wait_for("nothing is replicated any more")


def test_an_upgrade_goes_on_with_its_replicator(hosts):
    a, b = hosts
    with b.replicate(a, "--role", "backup"), with_replicator(a, b) as one:
        one.wait_for("x: backup")
        a.notify("master")
        one.wait_for("took over in")  # the replicator may be ahead of it
        one.wait_for("has all")
        old = replicator_of(a)
        result = a.run("upgrade", "x")
        assert result.returncode == 0, result
        wait_until(lambda: replicator_of(a) not in (None, old), lambda: a.run("ps").stdout)
        wait_until(lambda: "master; 127.0.0.1 has all" in a.run("keep", "list").stdout,
                   lambda: a.run("keep", "list").stdout)
        a.notify("backup")  # the new process ends
        wait_until(lambda: not replicator_of(a), lambda: a.run("ps").stdout)


@pytest.mark.parametrize("words, said", [
    (["--replicate", "127.0.0.1"], "give the name of what is replicated, by --keep NAME"),
    (["--keep", "x", "--replicate", "127.0.0.1:0"], "is no ADDRESS or ADDRESS:PORT"),
    (["--keep", "x", "--replicate", "127.0.0.1 --role master"], "the role can't be given here")])
def test_a_bad_option_is_refused(hosts, words, said):
    result = hosts[0].run(*words, "click", "-e", "Idle -> Discard")
    assert result.returncode == 2 and said in result.stderr, result
    assert not replicator_of(hosts[0])
