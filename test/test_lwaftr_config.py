# SPDX-License-Identifier: Apache-2.0
"""`perigee config` and `perigee lwaftr query` on a running lwAFTR: what is asked, changed
and refused. A refused change leaves all as it was."""

import contextlib
import json
import os
import socket

import pytest

from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.lwaftr_bench import lwaftr_bench
from helpers.schema import valid

NAME = f"lwaftr-config-{os.getpid()}"
TABLE = "/softwire-config/binding-table/softwire"
MTU = "/softwire-config/internal-interface/mtu"
CONF = """softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 1; b4-ipv6 2001:db8::1; br-address fc00::200;
      port-set { psid-length 6; } }
    softwire { ipv4 192.0.2.1; psid 2; b4-ipv6 2001:db8::2; br-address fc00::200;
      port-set { psid-length 6; } }
  }
  instance { device test; queue { id 0;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:01;
      next-hop { mac 02:99:99:99:99:04; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:02;
      next-hop { mac 02:99:99:99:99:06; } } } }
}
"""


def softwire(psid, ipv4="192.0.2.1", length=6):
    return (f"{{ ipv4 {ipv4}; psid {psid}; b4-ipv6 2001:db8::{psid}; "
            f"br-address fc00::200; port-set {{ psid-length {length}; }} }}")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    place = tmp_path_factory.mktemp("bench")
    with lwaftr_bench(NAME, CONF, place, "lwaftr", "query", NAME, "--ready"):
        yield place


def config(*words, **kwargs):
    return perigee("config", words[0], NAME, *words[1:], **kwargs)


def get(path, *options):
    result = perigee("config", "get", *options, NAME, path)
    assert result.returncode == 0, result.stderr
    return result.stdout


def done(*words, **kwargs):
    result = config(*words, **kwargs)
    assert (result.returncode, result.stderr) == (0, "")


def test_sets_leaves_and_what_is_around_them(bench):
    done("set", MTU, "1400")
    assert get(MTU) == "1400\n"
    where = "/softwire-config/external-interface/error-rate-limiting"
    done("set", where, "packets 7;")
    assert get(where, "--print-default") == "packets 7;\nperiod 2;\n"
    assert get(where) == "packets 7;\n"
    queue = "/softwire-config/instance[device=test]/queue[id=0]/external-interface"
    done("set", queue + "/next-hop/ip", "10.0.1.2")
    assert get(queue + "/next-hop") == "ip 10.0.1.2;\n"
    done("set", queue + "/next-hop", "mac 02:99:99:99:99:05;")
    assert get(queue, "-f", "xpath").splitlines() == [
        queue + "/ip 10.0.1.1", queue + "/mac 02:aa:aa:aa:aa:01",
        queue + "/next-hop/mac 02:99:99:99:99:05"]


def test_changes_softwires_one_by_one_and_all_at_once(bench):
    done("add", TABLE, softwire(3) + softwire(4))
    assert get(TABLE).count("psid-length 6") == 4
    one = TABLE + "[ipv4=192.0.2.1][psid=3]"
    assert get(one + "/b4-ipv6") == "2001:db8::3\n"
    done("set", one + "/b4-ipv6", "2001:db8::33")
    assert get(one) == ("b4-ipv6 2001:db8::33;\nbr-address fc00::200;\nport-set {\n"
                        "  psid-length 6;\n}\n")
    done("remove", one)
    assert config("get", one).stderr == (
        f"perigee: path {one}: there is no such softwire\n")
    done("set", "/softwire-config/binding-table",
         "softwire " + softwire(9, "203.0.113.9", 4))
    assert get(TABLE, "-f", "xpath").startswith(
        TABLE + "[ipv4=203.0.113.9][psid=9]/ipv4 203.0.113.9\n")
    done("set", TABLE, input=softwire(1) + softwire(2))
    assert get(TABLE).count("{") == 4


def test_loads_a_file_and_gives_it_back(bench):
    before = get("/")
    path = bench / "b.conf"
    path.write_text(CONF.replace("psid-length 6", "psid-length 8"))
    done("load", path)
    assert get(TABLE).count("psid-length 8") == 2
    path.write_text(before)
    done("load", path)
    assert get("/") == before


def test_refuses_files_and_changes_nothing(bench):
    before, path = get("/"), bench / "bad.conf"
    for text, said in [(CONF.replace("psid 2", "psid x"), f"{path}:5: psid is a whole"),
                       (CONF.replace("psid 2", "psid 1"), f"{path}:5: softwire 192.0.2.1"),
                       (CONF[:-3], f"{path}:12: the end is here, where")]:
        path.write_text(text)
        result = config("load", path)
        assert result.returncode == 1 and said in result.stderr, result.stderr
        assert result.stderr.count("\n") == 1
    path.unlink()
    for absent in path, bench:
        result = config("load", absent)
        assert result.returncode == 1 and "can't be read: " in result.stderr
    assert get("/") == before
    done("load", "/dev/stdin", input=before)


WAITING = """
local client, calls = require("lib.leader.client"), require("lib.leader.calls")
local name, fifo = main.parameters[1], main.parameters[2]
local slow, other = client.connect(name), client.connect(name)
slow:send("load-file", {file = fifo})
slow:send("get-config", {path = "%s"})
print(other:call("get-config", {path = "%s"}).fields.config)
local file = io.open(fifo, "w")
file:write(other:call("get-config", {path = "/"}).fields.config)
file:close()
while true do
  local answer = slow:answer()
  if answer then print(answer.name, answer.fields.error, answer.fields.config) end
  if answer and answer.fields.config then break end
  if not answer then slow:read() end
end
"""


def test_goes_on_while_a_file_is_read(bench):
    """It comes through a pipe, which is written once another client has its answer."""
    fifo, script = bench / "fifo", bench / "waiting.lua"
    os.mkfifo(fifo)
    script.write_text(WAITING % (MTU, MTU))
    mtu = get(MTU).strip()
    result = perigee("run", script, NAME, fifo)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == [mtu, "load-file", "nil", "nil", "get-config", "nil",
                                     mtu]


REFUSALS = [
    (["set", MTU, "70000"],
     "value:1: mtu is a whole number from 0 to 65535, not '70000'"),
    (["set", "/softwire-config/internal-interface", "mtu 1;\nmut 2;"],
     "value:2: 'mut' isn't known in internal-interface; is 'mtu' meant?"),
    (["set", MTU + "/x", "1"], f"path {MTU}/x: there is no 'x' in mtu"),
    (["set", "/softwire-config/binding-table", "softwire {\nipv4 1.2.3; }"],
     "value:2: ipv4 is an IPv4 address such as 192.0.2.1, not '1.2.3'"),
    (["add", TABLE, softwire(5) + softwire(2)],
     "softwire 192.0.2.1 psid 2 is there already"),
    (["add", TABLE, softwire(5) + softwire(6, length=7)],
     "value:1: softwire 192.0.2.1 psid 6 has psid-length 7"),
    (["add", TABLE, "{ ipv4 192.0.2.1; }"], "value:1: this softwire has no psid"),
    (["add", MTU, "1"], f"path {MTU}: it leads to no list"),
    (["set", TABLE + "[ipv4=192.0.2.1][psid=1]/psid", "2"],
     "the key of a softwire can't be set"),
    (["remove", TABLE + "[ipv4=192.0.2.1][psid=77]"], "there is no such softwire"),
    (["remove", TABLE + "[ipv4=192.0.2.1]"], "softwire needs the key psid too"),
    (["remove", TABLE], "only entries of lists can be removed"),
    (["remove", "/softwire-config/instance[device=none]"], "there is no such instance"),
    (["add", "/softwire-config/instance", "{ device test; }"],
     "instance 'test' is there already"),
    (["set", "/softwire-config/name", "a/b"], "'a/b' can't name a program"),
    (["get", "/softwire-config/instance/queue"], "which instance? Add [device=...]"),
    (["get", "/softwire-config[a=b]"], "softwire-config is no list"),
    (["get", "/a["], "a list's entry is written [KEY=VALUE]"),
    (["get", "/softwire-config/nam"], "there is no 'nam' in softwire-config; is 'name'")]


def test_refuses_in_a_sentence_and_changes_nothing(bench):
    before = get("/")
    for words, said in REFUSALS:
        result = config(*words)
        assert result.returncode == 1 and said in result.stderr, words
        assert result.stderr.count("\n") == 1
    assert get("/") == before


def test_says_what_cannot_be_reached():
    result = perigee("config", "get", "nobody-of-this-name", "/")
    assert result.returncode == 2
    assert "there is no running instance 'nobody-of-this-name'" in result.stderr
    for words, said in [([], "config needs a command"),
                        (["gett"], "config has no command 'gett'; is 'get' meant?")]:
        result = perigee("config", *words)
        assert result.returncode == 2 and said in result.stderr


def test_listens_to_requests_without_waiting(bench):
    requests = [{"id": str(n), "verb": "add", "path": TABLE,
                 "value": softwire(n, "198.51.100.1", 10)} for n in range(500)]
    requests += [{"id": "x", "verb": "get", "path": "/none"},
                 {"id": "y", "verb": "get", "path": MTU}]
    result = config("listen", input="".join(json.dumps(r) for r in requests))
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [a["id"] for a in answers] == [r["id"] for r in requests]
    assert all(a["status"] == "ok" for a in answers[:500])
    assert answers[500]["status"] == "error" and "none" in answers[500]["error"]
    assert answers[501]["value"] == get(MTU).strip()


def test_says_that_a_request_was_cut_short(bench):
    """Those before it have their answers."""
    whole = json.dumps({"id": "x", "verb": "get", "path": MTU})
    for rest, said in [('{"id": "y', "the last request doesn't end: {\"id\": \"y"),
                       ("junk", "a request is an object in JSON, not: junk")]:
        result = config("listen", input=whole + rest)
        assert (result.returncode, result.stderr) == (2, f"perigee: {said}\n")
    result = config("listen", input=whole + '{"id": "y')
    assert json.loads(result.stdout)["value"] == get(MTU).strip()


def test_listens_while_answers_wait(bench):
    """More requests than fit on the way there, and answers than fit on the way back."""
    done("set", TABLE, input="".join(softwire(n, "198.51.100.1", 6) for n in range(60)))
    text = json.dumps({"id": "x", "verb": "get", "path": TABLE})
    result = config("listen", input=text * 800)
    assert result.returncode == 0, result.stderr
    answers = result.stdout.splitlines()
    assert len(answers) == 800 and len(set(answers)) == 1
    assert answers[0].count("psid-length") == 60


def test_counts_and_queries(bench):
    result = perigee("lwaftr", "query", NAME)
    assert result.stdout.startswith("lwAFTR operational counters (non-zero)\n")
    wait_until(lambda: "in-ipv4-packets" in
               perigee("lwaftr", "query", "-n", NAME, "in-ipv4").stdout, "packets")
    sums = valid("lwaftr-query", perigee("lwaftr", "query", "--json", NAME).stdout)
    assert sums["in-ipv4-packets"] > 0
    assert valid("lwaftr-query", perigee("lwaftr", "query", "--json", NAME, "x").stdout) \
        == {}
    ready = perigee("lwaftr", "query", "--ready", "--json", NAME)
    assert valid("lwaftr-ready", ready.stdout) == {"ready": True, "state": "ready"}
    other = perigee("lwaftr", "query", "--ready", "--json", NAME + "-none")
    assert not valid("lwaftr-ready", other.stdout)["ready"] and other.returncode == 1
    state = perigee("config", "get-state", "-f", "xpath", NAME, "/").stdout
    of_all, of_instance = [
        {line.split()[0].rsplit("/", 1)[1]: line.split()[1]
         for line in state.splitlines() if line.startswith(start)}
        for start in ("/softwire-state/",
                      "/softwire-config/instance[device=test]/softwire-state/")]
    assert of_all.pop("discontinuity-time").endswith("Z")
    assert of_all == of_instance and len(of_all) > 80
    names = perigee("lwaftr", "query", "--list-all").stdout.split()
    assert sorted(names) == sorted(of_all)


def test_ends_when_it_is_told_to(tmp_path):
    conf = tmp_path / "a.conf"
    conf.write_text("softwire-config { }")
    name = NAME + "-2"
    with running(PERIGEE, "lwaftr", "bench", "-n", name, conf, conf, conf) as process:
        wait_until(lambda: process.read() and
                   perigee("config", "get", name, "/").returncode == 0, "the lwAFTR")
        assert perigee("config", "shutdown", name).returncode == 0
        assert process.finish() == 0


def test_clients_that_ask_for_nothing_make_room(tmp_path):
    """64 connections are served: of these each has sent a part of a call."""
    conf = tmp_path / "a.conf"
    conf.write_text("softwire-config { }")
    name, env = NAME + "-3", {**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}

    def get_all():
        return perigee("config", "get", name, "/", env=env)
    with running(PERIGEE, "lwaftr", "bench", "-n", name, conf, conf, conf,
                 env=env) as process, contextlib.ExitStack() as stack:
        wait_until(lambda: process.read() and get_all().returncode == 0, "the lwAFTR")
        path = tmp_path / "shm" / str(process.pid) / "config-leader-socket"
        for _ in range(70):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.settimeout(20)
            client.connect(str(path))
            client.sendall(b"100\nget")
        result = get_all()
        assert result.returncode == 0, result.stderr


def test_runs_with_both_sides_on_ports_of_one_name(tmp_path):
    conf = tmp_path / "a.conf"
    conf.write_text(CONF)
    result = perigee("lwaftr", "run", "-c", conf, "--v4", "null", "--v6", "null",
                     "-D", "0.1")
    assert (result.returncode, result.stderr) == (0, "")


def test_helps():
    for words in (["lwaftr", "--help"], ["lwaftr", "run", "--help"], ["config", "--help"],
                  ["lwaftr", "bench", "--help"], ["lwaftr", "query", "--help"],
                  ["lwaftr", "monitor", "--help"], ["lwaftr", "drain", "--help"],
                  ["config", "set", "--help"]):
        result = run(PERIGEE, *words)
        assert result.returncode == 0 and result.stdout.startswith("Usage: perigee")
