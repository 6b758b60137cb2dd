# SPDX-License-Identifier: Apache-2.0
"""`perigee alarms` on a running lwAFTR, without a checkout of Snabb: what is raised and
cleared, and what operators say of it."""

import json
import os

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until
from helpers.lwaftr_bench import lwaftr_bench

NAME = f"lwaftr-alarms-{os.getpid()}"
CONF = """softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 0; b4-ipv6 2001:db8::1; br-address fc00::200;
      port-set { psid-length 0; } }
  }
  instance { device test; queue { id 3;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:01;
      next-hop { ip 10.0.1.2; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:02;
      next-hop { mac 02:99:99:99:99:06; } } } }
}
"""
HOP = "/softwire-config/instance[device=test]/queue[id=3]/external-interface/next-hop"
LIST = "/alarms/alarm-list/alarm"
ARP = "[resource=test/3][alarm-type-id=arp-resolution][alarm-type-qualifier=]"


@pytest.fixture(scope="module", autouse=True)
def bench(tmp_path_factory):
    with lwaftr_bench(NAME, CONF, tmp_path_factory.mktemp("alarms"), "config", "get", NAME,
                      HOP) as process:
        yield process


def alarms(command, *words):
    result = perigee("alarms", command, NAME, *words)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout.strip()


def arp(leaf, where=LIST):
    """A leaf of the alarm of ARP, as text, or None."""
    result = perigee("config", "get-state", NAME, where + ARP + "/" + leaf)
    return result.stdout.strip() if result.returncode == 0 else None


def hop(kind, value):
    result = perigee("config", "set", NAME, f"{HOP}/{kind}", value)
    assert (result.returncode, result.stderr) == (0, "")


def test_there_are_those_of_snabb():
    said = alarms("get-state", "/alarms/alarm-inventory")
    types = {line.split()[1].rstrip(";") for line in said.splitlines()
             if line.strip().startswith("alarm-type-id ")}
    assert types == {"arp-resolution", "ndp-resolution", "bad-ipv4-softwires-matches",
                     "bad-ipv6-softwires-matches", "incoming-ipv4-fragments",
                     "incoming-ipv6-fragments", "outgoing-ipv4-fragments",
                     "outgoing-ipv6-fragments"}
    path = "/alarms/alarm-inventory/alarm-type[alarm-type-id=arp-resolution]" \
        "[alarm-type-qualifier=]/resource"
    assert alarms("get-state", path, "-f", "xpath") == f'{path}[position()=1] "test/3"'


def test_is_raised_and_cleared_and_heard_of():
    wait_until(lambda: arp("is-cleared") == "false", "the alarm")
    assert arp("perceived-severity") == "critical"
    assert perigee("config", "get-state", NAME, LIST + ARP.replace("arp", "ndp")
                   ).returncode == 1
    with running(PERIGEE, "alarms", "listen", NAME) as listener:
        wait_until(lambda: alarms("set-operator-state", "test/3", "arp-resolution", "ack",
                                  "on my way") == "" and listener.read() and
                   "operator-action" in listener.said, "what the operator said")
        hop("mac", "02:99:99:99:99:04")
        wait_until(lambda: arp("is-cleared") == "true", "the end of the alarm")
        wait_until(lambda: listener.read() and "cleared" in listener.said,
                   "news of the end")
        heard = [json.loads(line) for line in listener.said.splitlines()]
    actions = [h for h in heard if h["event"] == "operator-action"]
    assert actions[0]["state"] == "ack" and actions[0]["text"] == "on my way"
    last = [h for h in heard if h["event"] == "alarm-notification"][-1]
    assert (last["resource"], last["alarm_type_id"], last["perceived_severity"]) == (
        "test/3", "arp-resolution", "cleared")
    hop("ip", "10.0.1.2")
    wait_until(lambda: arp("is-cleared") == "false", "the alarm again")
    assert alarms("get-state", LIST + ARP).count("status-change") >= 3


def test_is_shelved_compressed_and_purged():
    wait_until(lambda: arp("is-cleared") == "false", "the alarm")
    alarms("set-operator-state", "test/3", "arp-resolution", "shelved")
    shelf = "/alarms/shelved-alarms/shelved-alarm"
    assert (arp("is-cleared"), arp("is-cleared", shelf)) == (None, "false")
    assert alarms("get-state", "/alarms/alarm-list/number-of-alarms") == "0"
    alarms("set-operator-state", "test/3", "arp-resolution", "un-shelved")
    assert alarms("compress", "test/3", "arp-resolution") == "1"
    assert alarms("get-state", LIST + ARP).count("status-change {") == 1
    assert "not-cleared-not-closed 1;" in alarms("get-state", "/alarms/summary")
    assert alarms("purge", "any", "--by-severity", "below:critical") == "0"
    assert alarms("purge", "cleared") == "0"
    assert alarms("purge", "not-cleared", "--by-operator-state", "un-shelved:admin") == "1"
    wait_until(lambda: arp("is-cleared") == "false", "the alarm anew")


@pytest.mark.parametrize("words, said", [
    (["purge", NAME, "some"], "'some' isn't any, cleared or not-cleared"),
    (["get-state", NAME, "-f", "json"], "'json' isn't yang, xpath or influxdb"),
    (["purge", NAME, "any", "--by-older-than", "5"], "such as minutes:5, not '5'"),
    (["purge", NAME, "any", "--by-severity", "minor"], "such as above:minor, not 'minor'"),
    (["set-operator-state", NAME, "x", "y/z", "ack"], "there is no alarm x y/z"),
    (["get-state", NAME, "/alarms/lost"], "there is no 'lost' in alarms"),
    (["get-state", NAME, LIST + "[resource=x]"], "alarm needs the key alarm-type-id too"),
    (["lisen", NAME], "alarms has no command 'lisen'; is 'listen' meant?"),
    ([], "alarms needs a command"),
    (["listen", NAME + "-none"], "there is no running instance")])
def test_refuses_in_a_sentence(words, said):
    result = perigee("alarms", *words)
    assert result.returncode in (1, 2) and said in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1
