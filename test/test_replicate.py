# SPDX-License-Identifier: Apache-2.0
"""What one host keeps (--keep) is on another one, too: TCP goes on there through a NAT, and
each record is whole, whichever process is killed."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from helpers.command import wait_until
from helpers.failover import (  # noqa: F401
    CHUNK, TOKEN, Host, Net, flows, hosts, kill, pass_on)

KILLS = 200 if os.environ.get("PERIGEE_LONG") else 8


@pytest.mark.parametrize("replicated", [True, False])
def test_tcp_goes_on_through_the_other_host(tmp_path, replicated):
    with contextlib.ExitStack() as stack:
        net = Net(stack, tmp_path)
        a, b = net.hosts
        with b.replicate(a, "--role", "backup") as taking, net.router(a) as router:
            taking.wait_for("x: backup")
            router.wait_for_engine()
            if replicated:
                sending = stack.enter_context(a.replicate(b, "--role", "master"))
                sending.wait_for("has all")
            client, server = net.connected(stack)
            for _ in range(5):
                pass_on(client, server)
            if replicated:
                wait_until(lambda: "Click's nat: 2 records" in b.run("keep", "list").stdout,
                           lambda: b.run("keep", "list"))
            kill(router)
            net.cut(0)
            b.notify("master")
            with net.router(b) as other:
                other.wait_for_engine()
                if not replicated:  # the test could fail
                    with pytest.raises(ConnectionResetError):
                        client.sendall(CHUNK)
                        client.recv(1)
                    return
                other.wait_for("nat goes on with 2 of 2 records")
                for _ in range(5):
                    pass_on(client, server)
                    pass_on(server, client)


def test_what_is_there_is_told(hosts):
    a, b = hosts
    with b.replicate(a) as taking, flows(a) as router, \
            a.replicate(b, "--role", "master") as sending:
        router.wait_for_engine()
        sending.wait_for("has all")
        wait_until(lambda: a.records() >= 2900 and b.records() >= 2900, b.records)
        wait_until(lambda: (b.metric("records") or 0) >= 2900, b.run("metrics").stdout)
        assert b.check().returncode == 0
        assert a.metric("is_master") == 1 and b.metric("is_master") == 0
        assert a.metric("records_sent") >= 2900
        line = a.run("keep", "list").stdout
        assert re.search(r"^  replicated: master; 127.0.0.1 has all; \d+ records, "
                         r"\d+ ms behind", line, re.M), line
        assert "\n  replicated: backup; has all of 127.0.0.1; " in b.run("keep", "list").stdout
        refused = b.run("--keep", "x", "click", "-e", "Idle -> Discard")
        assert "another process keeps its state under this name" in refused.stderr
        for process in sending, taking:
            process.send(signal.SIGTERM)
        assert (sending.finish(), taking.finish()) == (0, 0)
        assert router.interrupt() == 0


def replication(host, program):
    """What `perigee ps` knows of the replication of what that program keeps."""
    one, = [i for i in json.loads(host.run("ps", "--json").stdout)
            if i["program"].startswith(program)]
    assert one["keeps"] == "x"
    return one["replication"]


def metrics_of(host, program):
    text = host.run("metrics", program).stdout
    return {name: float(value) for name, value in re.findall(
        r'^perigee_replication_(\w+)\{.*keep="x"\} (\S+)$', text, re.M)}


def test_lag_and_state_are_shown_where_the_process_is(hosts):
    a, b = hosts
    with b.replicate(a) as taking, flows(a) as router, \
            a.replicate(b, "--role", "master") as sending:
        router.wait_for_engine()
        sending.wait_for("has all")
        wait_until(lambda: replication(b, "replicate")["records"] >= 2900, b.records)
        for program in "click", "replicate":
            shown = replication(a, program)
            assert shown["role"] == "master" and shown["connected"] is True, shown
            assert shown["state"] == "127.0.0.1 has all" and shown["records"] >= 2900, shown
            assert shown["changes"] >= 0 and shown["behind"] >= 0 and shown["since"] >= 0
            values = metrics_of(a, program)
            assert values["master"] == values["connected"] == 1, values
            assert values["records"] >= 2900, values
            assert {"changes_behind", "behind_seconds", "last_seconds"} < set(values), values
        line = r"replication of x: master; 127.0.0.1 has all; \d+ records, \d+ ms behind, " \
            r"\d+ changes behind, the last \d+\.\d s ago\n"
        assert len(re.findall(line, a.run("ps").stdout)) == 2, a.run("ps")
        top = a.run("top", "--once", "-i", "10ms", "click").stdout
        assert re.search(r"^replica x: master; 127.0.0.1 has all\n +\d+ records, ", top,
                         re.M), top
        assert metrics_of(b, "replicate")["master"] == 0
        kill(taking)
        wait_until(lambda: not replication(a, "click")["connected"], lambda: a.run("ps"))
        before = replication(a, "click")["since"]
        wait_until(lambda: replication(a, "click")["since"] > before, before)  # it goes on
        assert metrics_of(a, "click")["connected"] == 0
        kill(sending)
        wait_until(lambda: replication(a, "click")["state"] == "no replicator runs",
                   lambda: a.run("ps"))
        assert router.interrupt() == 0
    report = a.run("--keep", "x", "echo", "null", "3", "0.01").stdout
    assert "\nreplication of x: master; no replicator runs; 0 records\n" in report, report


def test_two_masters_are_told_and_the_one_that_gives_way_loses(hosts):
    a, b = hosts
    with a.replicate(b, "--role", "master") as first, \
            b.replicate(a, "--role", "master") as second:
        with flows(a) as one, flows(b) as other:
            for process in one, other:
                process.wait_for_engine()
            wait_until(lambda: a.records() > 2900 and b.records() > 2900, b.records)
            for process in first, second:
                process.wait_for("two hosts are master")
            assert a.metric("split_brains") == b.metric("split_brains") == 1
            assert one.interrupt() == 0
            assert other.interrupt() == 0
        had = b.records()
        b.notify("backup")
        second.wait_for("are gone")
        gone = int(re.search(rf"in the place of {had} here, of which (\d+) are gone",
                             second.said).group(1))
        assert 0 < gone <= had
        wait_until(lambda: b.metric("records_gone") in (0, gone), second.said)
        assert a.records() == b.records() and b.check().returncode == 0


def test_a_process_on_the_backup_has_its_name(hosts):
    """The master's records don't come into what it keeps."""
    a, b = hosts
    with flows(b) as router, b.replicate(a, "--role", "backup"), \
            a.replicate(b, "--role", "master") as sending:
        router.wait_for_engine()
        sending.wait_for("refuses: a process of this host still keeps its state")
        assert router.interrupt() == 0
        sending.wait_for("has all")


def test_a_cut_connection_begins_anew(hosts):
    a, b = hosts
    with flows(a) as router, a.replicate(b, "--role", "master") as sending:
        router.wait_for_engine()
        for turn in range(3):
            with b.replicate(a, "--role", "backup") as taking:
                sending.wait_for("has all", count=turn + 1)
                kill(taking)
        assert router.interrupt() == 0


def test_whichever_process_is_killed_all_records_are_whole(hosts):
    a, b = hosts
    seed = random.randrange(2**31)
    chance = random.Random(seed)
    with contextlib.ExitStack() as stack:
        def start(what):
            return stack.enter_context(
                flows(a) if what == "router" else a.replicate(b, "--role", "master")
                if what == "sending" else b.replicate(a, "--role", "backup"))
        processes = {what: start(what) for what in ("router", "taking", "sending")}
        processes["sending"].wait_for("has all")
        for turn in range(KILLS):
            time.sleep(chance.random())
            what = chance.choice(list(processes))
            kill(processes[what])
            for host in a, b:
                result = host.check()
                assert result.returncode == 0, f"seed {seed}, kill {turn}: {result}"
            processes[what] = start(what)
        wait_until(lambda: b.records() > 2900, lambda: f"seed {seed}: {b.records()}")
        for process in processes.values():
            process.send(signal.SIGTERM)
            process.finish()
    assert b.check().returncode == 0


def test_full_shared_memory_is_told(hosts):
    a, b = hosts
    with b.replicate(a, "--role", "backup", "--memory", "64Ki") as taking, \
            flows(a) as router, a.replicate(b, "--role", "master") as sending:
        router.wait_for_engine()
        taking.wait_for("127.0.0.1 is refused: it needs more than 65536 bytes")
        sending.wait_for("refuses: needs more than 65536 bytes")
        assert router.interrupt() == 0


def openssl(host, token, sent):
    """What a peer gets that sends these bytes by another implementation of TLS."""
    client = subprocess.Popen(
        ["openssl", "s_client", "-quiet", "-connect", f"127.0.0.1:{host.port}", "-tls1_2",
         "-psk_identity", "perigee", "-psk", token.encode().hex(), "-cipher",
         "ECDHE-PSK-CHACHA20-POLY1305"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client.stdin.write(sent)
    client.stdin.flush()
    try:
        got = client.stdout.read()
    finally:
        client.kill()
        client.wait()
    return got


def frame(kind, text):
    return len(text).to_bytes(4, "little") + kind.to_bytes(4, "little") + text


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl")
def test_peers_without_the_token_and_liars_are_refused(hosts):
    a, b = hosts
    hello = frame(1, b'{"perigee": 1, "name": "x"}')
    with b.replicate(a, "--role", "backup") as taking:
        taking.wait_for("x: backup")
        assert openssl(b, TOKEN[::-1], hello) == b""
        taking.wait_for("another token, or speaks no TLS")
        with socket.create_connection(("127.0.0.1", b.port)) as plain:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            plain.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                while plain.recv(1000):
                    pass
        answer = openssl(b, TOKEN, hello + frame(3, bytes(20)))
        assert b'"role":"backup"' in answer and b"has records of a file 0" in answer
        taking.wait_for("127.0.0.1 is refused: it has records of a file 0")
        assert b.check().stdout == ""  # nothing was made


def test_a_master_knows_another_token_from_a_cut(hosts):
    a, b = hosts
    with socket.create_server(("127.0.0.1", b.port)) as listener, \
            a.replicate(b, "--role", "master") as sending:
        listener.accept()[0].close()
        sending.wait_for("x: 127.0.0.1 closed the connection")
        listener.close()
        (b.folder / "token").write_text(TOKEN[::-1])
        with b.replicate(a, "--role", "backup") as taking:
            sending.wait_for("x: 127.0.0.1 has another token, or isn't a replica")
            taking.wait_for("127.0.0.1 isn't let in: it has another token")


@pytest.mark.parametrize("mode, text, said", [
    (0o644, TOKEN, "it must be yours, and closed to others"),
    (0o600, "short", "its first line has 5 bytes, and a token has 16 to 256")])
def test_a_bad_token_is_refused(hosts, mode, text, said):
    a, b = hosts
    (a.folder / "token").write_text(text)
    (a.folder / "token").chmod(mode)
    result = a.run("replicate", "x", "127.0.0.1")
    assert result.returncode == 1 and said in result.stderr, result


@pytest.mark.parametrize("words, said", [
    (["../x", "127.0.0.1"], "'../x' is no name"),
    (["x"], "give the other host's address, or --listen ADDRESS, or both"),
    (["x", "127.0.0.1:0"], "'127.0.0.1:0' is no ADDRESS or ADDRESS:PORT"),
    (["x", "127.0.0.1", "--role", "backup"], "a backup listens: give --listen ADDRESS")])
def test_a_bad_command_line_is_refused(hosts, words, said):
    result = hosts[0].run("replicate", *words)
    assert result.returncode == 2 and said in result.stderr, result
