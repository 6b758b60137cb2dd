# SPDX-License-Identifier: Apache-2.0
"""doc/security.md: what another user of the machine may do with each socket, file and
port of a process of root's. Folders are open to all, so that the files' own modes count."""

import json
import os
import pathlib
import re
import signal
import socket

import pytest

from helpers.command import PERIGEE, ROOT, run, running, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
PAGE = (ROOT / "doc" / "security.md").read_text()
NOBODY = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups")

# What the other user tries with each path that it is told: a JSON list of what works.
TRY = """
import json, os, socket, stat, sys
worked = []
for path in json.load(sys.stdin):
    def works(what, call):
        try:
            call()
            worked.append([path, what])
        except OSError:
            pass
    if path.startswith("tcp:"):
        works("connect", lambda: socket.create_connection(("127.0.0.1", int(path[4:])), 20))
        continue
    try:
        kind = os.lstat(path).st_mode
    except OSError:
        continue
    if stat.S_ISSOCK(kind):
        works("connect", lambda: socket.socket(socket.AF_UNIX).connect(path))
    elif stat.S_ISREG(kind):
        works("read", lambda: open(path, "rb").close())
        works("write", lambda: open(path, "r+b").close())
    elif stat.S_ISDIR(kind):
        works("make", lambda: os.mkdir(path + "/theirs"))
print(json.dumps(worked))
"""


@pytest.fixture
def folder(scratch):
    scratch.chmod(0o755)
    return scratch


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def tried(paths):
    """What works of all that user nobody tries: a set of (path, what)."""
    result = run(*NOBODY, "/usr/bin/python3", "-c", TRY, input=json.dumps(list(map(str, paths))))
    assert result.returncode == 0, result
    return {tuple(one) for one in json.loads(result.stdout)}


def all_below(folder):
    """All paths there; some come and go meanwhile."""
    return [pathlib.Path(top, name) for top, folders, names in os.walk(folder)
            for name in folders + names]


def environment(folder):
    return {**os.environ, "XDG_RUNTIME_DIR": str(folder), "SNABB_SHM_ROOT": str(folder / "shm")}


GRAPH = """
ports:
  a: "memif:{0}/m.sock,role=server"
  b: "vhost:{0}/v.sock"
  c: "pcap:tx={0}/out.pcap"
apps: {{n: apps.basic.basic_apps.Tee}}
links: [a -> n -> b, n.other -> c]
"""


def sockets_below(folder):
    return {path for path in all_below(folder) if path.is_socket()}


def test_files_and_sockets_are_the_users_own(folder):
    """The tree of counters, the control socket, memif, vhost, metrics at a path, a log."""
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(folder))
    graph.chmod(0o600)
    old = os.umask(0o077)
    try:
        with running(PERIGEE, "--metrics", f"unix:{folder}/metrics.sock", "run", graph,
                     env=environment(folder)) as process:
            wanted = {folder / name for name in ("m.sock", "v.sock", "metrics.sock")}

            def there():
                assert process.read(), process.said
                return wanted <= sockets_below(folder) and \
                    list((folder / "shm").glob("*/engine/breaths.counter")) and \
                    "control.socket" in {path.name for path in sockets_below(folder)}
            wait_until(there, "sockets and counters")
            worked = tried(all_below(folder))
            assert worked == set(), worked
            process.interrupt(signal.SIGTERM)
    finally:
        os.umask(old)


def test_ports_sockets_have_modes_of_their_own(folder):
    """With the usual umask, too, only files that programs were asked for are readable."""
    graph = folder / "graph.yaml"
    graph.write_text(GRAPH.format(folder))
    with running(PERIGEE, "run", graph, env={**environment(folder)}) as process:
        def there():
            assert process.read(), process.said
            return {folder / "m.sock", folder / "v.sock"} <= sockets_below(folder) and \
                (folder / "out.pcap").exists() and \
                list((folder / "shm").glob("*/engine/breaths.counter"))
        wait_until(there, "sockets and counters")
        worked = tried(all_below(folder))
        assert worked == {(str(graph), "read"), (str(folder / "out.pcap"), "read")}, worked
        process.interrupt(signal.SIGTERM)


def test_the_group_reads_and_no_more(folder):
    with running(PERIGEE, "--group", "nogroup", "echo", "null",
                 env=environment(folder)) as process:
        def there():
            assert process.read(), process.said
            return list((folder / "shm").glob("*/engine/breaths.counter"))
        wait_until(there, "counters")
        worked = tried(all_below(folder))
        assert worked and {what for _, what in worked} == {"read"}, worked
        assert all(path.startswith(f"{folder}/shm/") for path, _ in worked), worked
        process.interrupt(signal.SIGTERM)


def get(port, path, *more):
    return run(*NOBODY, "curl", "-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_code}",
               *more, f"http://127.0.0.1:{port}{path}").stdout


def test_metrics_are_read_by_all_of_the_machine_and_no_pages(folder):
    port = free_port()
    with running(PERIGEE, "--metrics", str(port), "echo", "null",
                 env=environment(folder)) as process:
        def answers():
            assert process.read(), process.said
            return get(port, "/healthz") == "200"
        wait_until(answers, "metrics")
        assert get(port, "/metrics") == "200"
        assert get(port, "/metrics", "-d", "x") in ("404", "405")
        assert get(port, "/metrics", "-H", "Host: evil.example") in ("400", "403", "421")
        # It listens at no other address.
        listening = run("ss", "-ltnH", f"sport = :{port}").stdout
        assert [line.split()[3] for line in listening.splitlines()] == \
            [f"127.0.0.1:{port}"], listening
        process.interrupt(signal.SIGTERM)


def test_web_wants_a_token(folder):
    port = free_port()
    with running(PERIGEE, "web", "--listen", str(port), env=environment(folder)) as process:
        process.wait_for("http://")
        token = re.search(r"http://\S*#token=([0-9a-f]{16,})", process.said)
        assert token, process.said

        def ask(words):
            return get(port, "/api/instances", "-d", "{}", "-H", "X-Perigee: 1", "-H",
                       f"Authorization: Bearer {words}")
        assert ask("") == ask("0" * 32) == "403", process.said
        assert ask(token[1]) == "200", process.said
        process.interrupt(signal.SIGTERM)


def test_the_page_has_all_of_it():
    """Each word that opens a socket or a file is in the page."""
    for word in ("control socket", "--metrics", "perigee web", "click -p", "click -u",
                 "HTTPServer", "ChatterSocket", "memif", "vhost", "SNABB_SHM_ROOT", "--group",
                 "hugepages", "savefiles", "logs", "snabb config", "perigee metrics", "--files",
                 "MoonGen", "perigee@NAME"):
        assert word in PAGE, word


def as_nobody_and_gone(process, port, order):
    """Another user connects, gives the order and closes, all before the process looks."""
    process.send(signal.SIGSTOP)
    code = (f"import socket; s = socket.create_connection(('127.0.0.1', {port}), 20); "
            f"s.sendall({order!r}); s.close()")
    assert run(*NOBODY, "/usr/bin/python3", "-c", code).returncode == 0
    process.send(signal.SIGCONT)


@pytest.mark.parametrize("place", ["", "0.0.0.0:"], ids=["refused", "limited"])
def test_who_has_gone_when_the_kernel_is_asked_is_not_root(folder, place):
    """To which the kernel gives connections that nobody has any more."""
    file = folder / "file"
    config = ("InfiniteSource(LIMIT 1) -> a :: AggregateCounter -> Discard; "
              'Script(print "port=$(click_driver@@ControlSocket.port)")')
    with running(PERIGEE, "click", "-p", place + "41000+", "-e", config) as process:
        process.wait_for("\n")
        port = int(process.said.split("port=")[1].split()[0])
        as_nobody_and_gone(process, port, b"WRITE a.write_text_file %s\r\n" % bytes(file))
        if not place:
            process.wait_for("refused a connection")
        # Whoever comes later is served later.
        with socket.create_connection(("127.0.0.1", port), 20) as own:
            own.sendall(b"READ a.nagg\r\nQUIT\r\n")
            assert b"200" in b"".join(iter(lambda: own.recv(65536), b""))
        assert not file.exists()
