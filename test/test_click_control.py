# SPDX-License-Identifier: Apache-2.0
"""Handlers of a router that runs, from outside: control sockets, HTTP, signals."""

import json
import os
import signal
import socket
import stat
import urllib.error
import urllib.request

import pytest

from helpers.command import PERIGEE, catches, perigee, run, running, wait_until

ROUTER = "Idle -> s :: Switch(0) -> Idle; s[1] -> Idle; v :: Script(TYPE PASSIVE)"


def port_of(click, handler):
    """The port that a server in the configuration has printed as PORT=N."""
    click.wait_for("\n")
    return int(click.said.split(handler + "=")[1].split()[0])


def talk(family, address, text):
    """All that the server answers to `text`, and then the end of the connection."""
    with socket.socket(family) as control:
        control.settimeout(20)
        control.connect(address)
        control.sendall(text)
        control.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: control.recv(65536), b""))


@pytest.mark.fast
def test_tcp():
    config = (ROUTER + "; c :: ControlSocket(TCP, 41000+);"
              " Script(print \"port=$(c.port)\")")
    with running(PERIGEE, "click", "-e", config) as click:
        here = ("127.0.0.1", port_of(click, "port"))
        said = talk(socket.AF_INET, here,
                    b"READ s.switch\r\nWRITE s.switch 1\nREADDATA s.switch 0\n"
                    b"WRITE s.switch x\nREAD v.cat /etc/passwd\nREAD nobody.x\n")
        assert said == (b"Click::ControlSocket/1.3\r\n"
                        b"200 Read handler 's.switch' OK\r\nDATA 1\r\n0"
                        b"200 Write handler 's.switch' OK\r\n"
                        b"200 Read handler 's.switch' OK\r\nDATA 1\r\n1"
                        b"520-Write handler 's.switch' error:\r\n"
                        b"520 Switch output must be integer\r\n"
                        b"511 No handler named 'v.cat'\r\n"
                        b"510 No element named 'nobody'\r\n")
        # Many at once, and a long answer.
        for _ in range(3):
            said = talk(socket.AF_INET, here, b"READ classes\r\n" * 200)
            assert said.count(b"200 Read handler 'classes' OK\r\n") == 200
        talk(socket.AF_INET, here, b"WRITE stop\r\n")
        assert click.finish() == 0


@pytest.mark.fast
def test_a_socket_whose_owner_takes_no_connections_is_in_use(tmp_path):
    """And nobody waits for it."""
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as first:
        other.bind(path)
        other.listen(0)
        first.connect(path)  # no more can wait
        result = perigee("click", "-u", path, "-e", ROUTER, timeout=60)
    assert result.returncode == 1
    assert "bind: Address already in use" in result.stderr


@pytest.mark.fast
def test_unix_sockets_are_the_users_own(tmp_path):
    path = tmp_path / "socket"

    def is_served():
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(path)) == 0
    with running(PERIGEE, "click", "-u", path, "-e", ROUTER):
        wait_until(is_served, "somebody who listens there")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        result = perigee("click", "-u", path, "-e", ROUTER)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "bind: Address already in use" in result.stderr
        assert path.exists()
    # It was killed, and left the socket: that is in nobody's way.
    assert path.exists()
    with running(PERIGEE, "click", "-u", path, "-e", ROUTER) as click:
        def connects():
            try:
                return talk(socket.AF_UNIX, str(path), b"WRITE stop\r\n")
            except ConnectionRefusedError:
                return None
        wait_until(connects, "an answer")
        assert click.finish() == 0
    assert not path.exists()


@pytest.mark.fast
@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_other_users_are_refused_and_so_are_browsers(tmp_path):
    """An AggregateCounter's handlers write files as the user who runs the router."""
    file = tmp_path / "file"
    config = ("InfiniteSource(LIMIT 1) -> a :: AggregateCounter -> Discard;"
              "c :: ControlSocket(TCP, 41000+); Script(print \"port=$(c.port)\")")
    with running(PERIGEE, "click", "-e", config) as process:
        port = port_of(process, "port")
        order = b"WRITE a.write_text_file %s\r\n" % bytes(file)
        as_nobody = ("import socket, sys; s = socket.create_connection(('127.0.0.1', "
                     f"{port})); s.sendall({order!r}); print(s.recv(100))")
        said = run("setpriv", "--reuid", "nobody", "--clear-groups", "/usr/bin/python3",
                   "-c", as_nobody)
        assert "b''" in said.stdout or "reset" in said.stderr, said
        browser = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + order
        assert talk(socket.AF_INET, ("127.0.0.1", port), browser) == \
            b"Click::ControlSocket/1.3\r\n200 Goodbye!\r\n"
        assert not file.exists()
        wait_until(lambda: process.read() and "another user" in process.said, "a warning")
        said = talk(socket.AF_INET, ("127.0.0.1", port), order + b"QUIT\r\n")
        assert b"200 Write handler 'a.write_text_file' OK" in said and file.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_all_are_let_in_where_that_is_wanted():
    config = ROUTER + '; Script(print "port=$(click_driver@@ControlSocket.port)")'
    with running(PERIGEE, "click", "-p", "0.0.0.0:41000+", "-e", config) as process:
        port = port_of(process, "port")
        said = run("setpriv", "--reuid", "nobody", "--clear-groups", "/usr/bin/python3",
                   "-c", "import socket; s = socket.create_connection(('127.0.0.1', "
                   f"{port})); print(s.recv(100))")
        assert "ControlSocket" in said.stdout


def as_nobody(port, order):
    """What a control socket answers to another user's order."""
    code = ("import socket; s = socket.create_connection(('127.0.0.1', "
            f"{port}), 20); s.sendall({order!r}); s.shutdown(socket.SHUT_WR)\n"
            "print(b''.join(iter(lambda: s.recv(65536), b'')).decode())")
    result = run("setpriv", "--reuid", "nobody", "--clear-groups", "/usr/bin/python3",
                 "-c", code)
    assert result.returncode == 0, result
    return result.stdout


OPEN = ("InfiniteSource(LIMIT 1) -> a :: AggregateCounter -> Discard;"
        "cat :: Script(TYPE PASSIVE, return $(cat $args));"
        "kill :: Script(TYPE PASSIVE, return $(kill 0 $args));"
        'Script(print "port=$(click_driver@@ControlSocket.port)")')
HOTCONFIG = b"WRITE hotconfig Idle -> Discard; Script(print >%s x)\r\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_others_reach_no_files_but_those_below_a_folder(tmp_path):
    """Whoever may connect (-p 0.0.0.0:PORT) writes no file of the router's user."""
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "text").write_text("inside")
    with running(PERIGEE, "click", "-R", "--files", folder, "-p", "0.0.0.0:41000+", "-e",
                 OPEN) as click:
        port = port_of(click, "port")

        def told(order):
            return as_nobody(port, order)

        for form in (b"text", b"ascii", b"ip", b"pdf"):
            for name in (outside, folder / "link", "../outside", f"{folder}/../outside"):
                said = told(b"WRITE a.write_%s_file %s\r\n" % (form, bytes(str(name),
                                                                          "ascii")))
                assert "520" in said and f"below {folder}" in said, said
        said = told(b"WRITE a.write_text_file %s/good\r\n" % bytes(folder))
        assert "200 Write handler" in said and (folder / "good").exists(), said
        assert "inside" in told(b"READ cat.run text\r\n")
        for name in (b"/etc/passwd", b"/proc/self/environ"):
            said = told(b"READ cat.run %s\r\n" % name)
            assert "root:" not in said and f"below {folder}" in said, said
        said = told(b"READ kill.run %d\r\n" % os.getpid())
        assert "no signals from a router" in said, said
        # By way of what happens later, too.
        said = told(b"WRITE a.count_call 1 a.write_text_file %s\r\n" % bytes(outside))
        assert "200" in said, said
        said = told(HOTCONFIG % bytes(outside))
        assert "520" in said and "its own user" in said, said
        assert not outside.exists()
        # This user may do it all.
        here = ("127.0.0.1", port)
        said = talk(socket.AF_INET, here,
                    b"WRITE a.write_text_file %s\r\n" % bytes(outside))
        assert b"200 Write handler" in said and outside.exists(), said
        outside.unlink()
        said = talk(socket.AF_INET, here, HOTCONFIG % bytes(outside))
        assert b"200 Write handler" in said, said
        wait_until(outside.exists, "the new configuration's file")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_others_reach_no_files_where_no_folder_is_named(tmp_path):
    config = OPEN.split("Script(print")[0] + (
        "h :: HTTPServer(41500+, LOCALHOST false); Script(print \"port=$(h.port)\")")
    with running(PERIGEE, "click", "-e", config) as click:
        url = f"http://127.0.0.1:{port_of(click, 'port')}/a/write_text_file"

        def post(user):
            return run(*user, "curl", "-sS", "-m", "20", "-d", tmp_path / "file", url)
        said = post(["setpriv", "--reuid", "nobody", "--clear-groups"])
        assert "--files" in said.stdout and not (tmp_path / "file").exists(), said
        said = post([])
        assert said.stdout == "success" and (tmp_path / "file").exists(), said


def test_files_names_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    for name in "none", "file":
        result = perigee("click", "--files", tmp_path / name, "-e", "Idle -> Discard")
        assert result.returncode == 1, result
        assert f"--files {tmp_path}/{name}: there is no such folder" in result.stderr, result


def test_read_only():
    config = ROUTER + ("; c :: ControlSocket(TCP, 41000+, READONLY true);"
                       " Script(print \"port=$(c.port)\")")
    with running(PERIGEE, "click", "-e", config) as click:
        said = talk(socket.AF_INET, ("127.0.0.1", port_of(click, "port")),
                    b"WRITE s.switch 1\r\nREAD s.switch\r\n")
        assert b"530 Permission denied for 's.switch'\r\n" in said
        assert said.endswith(b"DATA 1\r\n0")


@pytest.mark.fast
def test_http():
    config = ROUTER + ("; h :: HTTPServer(41500+, ALIAS_MAP /all:s/switch);"
                       " Script(print \"port=$(h.port)\")")
    with running(PERIGEE, "click", "-e", config) as click:
        url = f"http://127.0.0.1:{port_of(click, 'port')}"

        def get(path, **kwargs):
            with urllib.request.urlopen(urllib.request.Request(url + path, **kwargs),
                                        timeout=20) as answer:
                return answer.read().decode()

        assert get("/s/switch") == get("/all") == "0"
        assert get("/s/switch", data=b"1", method="POST") == "success"
        assert json.loads(get("/s/switch", headers={"Accept": "application/json"})) == 1
        assert ("s", "Switch", 1, 2) in [
            (e["name"], e["class"], e["inputs"], e["outputs"])
            for e in json.loads(get("/?json"))]
        assert "switch\trw\n" in get("/s")
        with pytest.raises(urllib.error.HTTPError) as wrong:
            get("/s/switch", data=b"x")
        assert wrong.value.code == 400
        assert wrong.value.read() == b"Switch output must be integer\n"
        with pytest.raises(urllib.error.HTTPError) as wrong:
            get("/s/switch", headers={"Origin": "http://example.com"})
        assert wrong.value.code == 403
        get("/stop", data=b"")
        assert click.finish() == 0


@pytest.mark.fast
def test_scripts_take_signals(tmp_path):
    config = ("Script(TYPE SIGNAL HUP USR1, print 'hup', end);"
              "Script(TYPE SIGNAL TERM, print 'term', write stop);"
              "Script(print 'ready')")
    with running(PERIGEE, "click", "-e", config) as click:
        click.wait_for("ready\n")
        for number, text, count in ((signal.SIGHUP, "hup", 1), (signal.SIGUSR1, "hup", 2),
                                    (signal.SIGHUP, "hup", 3)):
            click.send(number)
            click.wait_for(text, count=count)
        click.send(signal.SIGTERM)
        click.wait_for("term\n")
        assert click.finish() == 0


@pytest.mark.fast
def test_a_signal_that_nobody_takes_again_ends_it():
    config = "Script(TYPE SIGNAL USR1, print 'once', exit); Script(print 'ready')"
    with running(PERIGEE, "click", "-e", config) as click:
        click.wait_for("ready\n")
        click.send(signal.SIGUSR1)
        click.wait_for("once\n")
        wait_until(lambda: not catches(click.pid, signal.SIGUSR1), "the script's end")
        assert click.interrupt(signal.SIGUSR1) == -signal.SIGUSR1


@pytest.mark.fast
def test_prints_into_files(tmp_path):
    result = perigee("click", "-e", "c :: Idle; Script(print >a c.class, print >>a 'more',"
                     " printn >b $(sprintf '%03d' 7), save c.name a2, stop)", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "a").read_text() == "Idle\nmore\n"
    assert (tmp_path / "b").read_text() == "007"
    assert (tmp_path / "a2").read_text() == "c\n"


def test_a_script_says_that_a_disk_is_full(tmp_path):
    result = run(PERIGEE, "click", "-e",
                 "Script(print >/dev/full 'x', print >there 'on', stop)", cwd=tmp_path)
    assert result.stderr == ("While executing 'Script@1 :: Script':\n"
                             "  can't write: No space left on device\n")
    assert (tmp_path / "there").read_text() == "on\n"


def test_a_script_says_where_its_first_wait_is_wrong():
    result = perigee("click", "-e", "Script(wait x, print 4); Script(wait 0.1, stop)")
    assert result.stderr == ("config:1: While initializing 'Script@1 :: Script':\n"
                             "  syntax error at 'wait'\n")


@pytest.mark.parametrize("where", ["copies", "threads"])
def test_a_socket_speaks_to_the_whole_of_many_cpus(where, tmp_path):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("it takes two CPUs")
    path = tmp_path / "socket"
    graph = "FromDPDKDevice(0) -> c :: Counter -> s :: Switch(0) -> Discard; s[1] -> Discard;"
    if where == "threads":
        graph = ("FromDPDKDevice(0) -> Discard; InfiniteSource(LIMIT 20, STOP false) -> c ::"
                 " Counter -> q :: Queue -> u :: Unqueue -> s :: Switch(0) -> Discard; s[1] ->"
                 " Discard; StaticThreadSched(u 1);")
    config = graph + " h :: HTTPServer(41000+); Script(print \"port=$(h.port)\")"
    with running(PERIGEE, "click", "--cpus", f"{cpus[0]},{cpus[-1]}", "-u", path,
                 "--device", "0=null:size=60", "-e", config) as click:
        port = port_of(click, "port")

        def ask(text):
            return talk(socket.AF_UNIX, str(path), text).decode()

        def passes():
            return int(ask(b"READ c.count\n").split("\r\n")[-1]) >= 20
        wait_until(passes, lambda: click.said)
        said = ask(b"READ c.class\nWRITE s.switch 1\nREAD s.switch\nREAD list\n"
                   b"READ s.nothing\nREAD nobody.x\nLLRPC c#c0040000\n")
        assert "OK\r\nDATA 7\r\nCounter200 Write handler 's.switch' OK" in said, said
        assert "Read handler 's.switch' OK\r\nDATA 1\r\n1200" in said, said
        assert "\nc\n" in said and "\ns\n" in said, said
        assert "511 No handler named 's.nothing'" in said, said
        assert "510 No element named 'nobody'" in said, said
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/s/switch", timeout=20) as r:
            assert r.read() in (b"1", b"1\n")
        with urllib.request.urlopen(urllib.request.Request(
                f"http://127.0.0.1:{port}/list", headers={"Accept": "application/json"}),
                timeout=20) as r:
            names = {e["name"] for e in json.load(r)}
        assert {"c", "s", "h"} <= names, names
        ask(b"WRITE stop\n")
        assert click.finish() == 0, click.said
        assert "one CPU" not in click.said, click.said
