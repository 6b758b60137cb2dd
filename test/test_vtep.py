# SPDX-License-Identifier: Apache-2.0
"""`perigee vtep` against the Linux kernel's VXLAN devices, over AF_PACKET and AF_XDP.

    station 10.9.0.1 -- left | perigee vtep | right -- underlay bridge -- remotes
                                                       192.0.2.2 with vxlan0 10.9.0.2, ...
"""

import json
import re
import signal

import pytest
from scapy.layers.l2 import ARP, Dot1Q, Ether

from helpers.command import PERIGEE, running, tool, wait_until
from helpers.network import Wire
from helpers.report import account, drops
from helpers.vtep import V4, V6, Site

KINDS = ["packet", "xdp"]


def ping(host, to, *options):
    return host.run("ping", "-n", "-W", "2", *options, to)


def wait_for_ping(host, to, program):
    def answers():
        assert program.read(), program.said
        return ping(host, to, "-c", "1").returncode == 0
    wait_until(answers, f"a first ping to {to}", timeout=30)


def assert_pings(host, to, *options):
    result = ping(host, to, "-c", "5", "-i", "0.05", *options)
    assert " 0% packet loss" in result.stdout, result.stdout


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("underlay", [V4, V6], ids=["ip4", "ip6"])
def test_ping_both_ways(namespace, kind, underlay):
    site = Site(namespace, kind, underlay=underlay)
    other, = site.remotes
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert_pings(site.station, "10.9.0.2")
        assert_pings(other, "10.9.0.1")
        # The largest frame that fits the underlay's 1,500 bytes, and one of 1,400.
        largest = 1500 - (50 if underlay is V4 else 70) - 28
        for size in 0, 1400 - (0 if underlay is V4 else 28), largest:
            assert_pings(site.station, "10.9.0.2", "-s", str(size), "-M", "do")
            assert_pings(other, "10.9.0.1", "-s", str(size))
        # The end point is a host too.
        assert_pings(other, underlay["own"])
        assert program.interrupt() == 0, program.said
    account(program.said)
    # The kernel's bridge and hosts say this and that to groups.
    assert set(drops(program.said)) <= {"unresolved", "other_mac", "other_protocol"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [[], ["--reverse"]], ids=["out", "in"])
def test_a_tcp_transfer(namespace, kind, direction):
    site = Site(namespace, kind)
    other, = site.remotes
    with site.start() as program, \
            running(*other.command("iperf3", "-s", "-1", "--forceflush")) as server:
        wait_for_ping(site.station, "10.9.0.2", program)
        server.wait_for("Server listening")
        result = site.station.run("iperf3", "-c", "10.9.0.2", "-n", "20M", "--json",
                                  "--connect-timeout", "5000", *direction)
        assert result.returncode == 0, result.stdout
        end = json.loads(result.stdout)["end"]
        assert end["sum_sent"]["bytes"] >= 20 * 1000**2
        assert end["sum_received"]["bytes"] > 10 * 1000**2
        assert program.interrupt() == 0, program.said
    account(program.said)


def frames_to_kernel(host):
    """VXLAN packets that a remote has received, by the kernel's count of UDP."""
    said = host.check("nstat", "-asz", "UdpInDatagrams")
    return int(re.search(r"UdpInDatagrams\s+(\d+)", said)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_learning_and_flooding_with_two_remotes(namespace, kind):
    site = Site(namespace, kind, remotes=2)
    two, three = site.remotes
    with site.start() as program:
        for n in 2, 3:
            wait_for_ping(site.station, f"10.9.0.{n}", program)
        # Known by now: what is for one doesn't go to the other.
        before = frames_to_kernel(three)
        assert_pings(site.station, "10.9.0.2")
        assert frames_to_kernel(three) - before <= 2  # an ARP request, maybe
        # What comes from a tunnel isn't flooded to others: two doesn't reach three.
        assert ping(two, "10.9.0.3", "-c", "1").returncode != 0
        # Broadcasts reach both.
        before = [frames_to_kernel(host) for host in (two, three)]
        ping(site.station, "10.9.0.255", "-b", "-c", "3", "-i", "0.05")
        after = [frames_to_kernel(host) for host in (two, three)]
        assert all(b - a >= 3 for a, b in zip(before, after)), (before, after)
        # A station that moves is found where it is.
        mac = json.loads(two.ip("-json", "link", "show", "vxlan0"))[0]["address"]
        two.ip("link", "set", "vxlan0", "down")
        three.ip("link", "set", "vxlan0", "down")
        three.ip("link", "set", "vxlan0", "address", mac, "up")
        three.ip("address", "add", "10.9.0.2/24", "dev", "vxlan0")
        assert ping(three, "10.9.0.1", "-c", "1").returncode == 0
        assert_pings(site.station, "10.9.0.2")
        assert program.interrupt() == 0, program.said
    account(program.said)
    assert re.search(r"^  moved [1-9]", program.said, re.MULTILINE), program.said


@pytest.mark.parametrize("kind", KINDS)
def test_vlans_and_their_vnis(namespace, kind):
    """VLAN 11 of the inner port is another VNI; its frames have the tag there alone."""
    site = Site(namespace, kind, vnis=(42, 16777215))
    other, = site.remotes
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        with Wire(site.station, "net") as wire:
            ask = (Ether(src="02:00:00:00:00:0a", dst="ff:ff:ff:ff:ff:ff")
                   / Dot1Q(vlan=11) / ARP(hwsrc="02:00:00:00:00:0a", psrc="10.10.0.1",
                                          pdst="10.10.0.2"))
            wire.send(bytes(ask))
            answers = iter(lambda: wire.receive(5), None)
            answer = next(a for a in map(Ether, answers) if Dot1Q in a and ARP in a)
            assert answer[Dot1Q].vlan == 11
            assert answer[ARP].op == 2 and answer[ARP].psrc == "10.10.0.2"
            mac = json.loads(other.ip("-json", "link", "show", "vxlan1"))[0]["address"]
            assert answer[ARP].hwsrc == mac
        assert program.interrupt() == 0, program.said
    account(program.said)


@pytest.mark.parametrize("options", [["--udp-checksum", "on"], ["--udp-checksum", "off"]],
                         ids=["summed", "zero"])
def test_udp_checksums_are_the_kernels(namespace, options):
    zero = ["udp6zerocsumrx"] if options[1] == "off" else ["noudp6zerocsumrx"]
    site = Site(namespace, "packet", underlay=V6, checksum=zero)
    with site.start(*options) as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert program.interrupt() == 0, program.said


def test_what_does_not_fit_is_dropped_by_name(namespace):
    site = Site(namespace, "packet")
    with site.start() as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        site.station.ip("link", "set", "net", "mtu", "1500")
        result = ping(site.station, "10.9.0.2", "-c", "3", "-i", "0.05", "-W", "1",
                      "-s", "1423", "-M", "do")
        assert result.returncode != 0
        assert_pings(site.station, "10.9.0.2", "-s", "1422", "-M", "do")
        assert program.interrupt() == 0, program.said
    assert drops(program.said)["too_big"] == 3


# Changing while it runs -----------------------------------------------------------


def config(path, **changes):
    """Write a configuration file; values are Lua."""
    lines = {"inner": '"packet:left"', "outer": '"packet:right"',
             "address": '"192.0.2.1/24"', "vnis": "{[42] = 0}",
             "remotes": '{"192.0.2.2"}', **changes}
    path.write_text("return {%s}" % ", ".join(f"{k} = {v}" for k, v in lines.items()))


def test_a_reload_loses_no_packet_of_what_stays(namespace, tmp_path):
    site = Site(namespace, "packet", remotes=2, vnis=(42, 43))
    file, state = tmp_path / "vtep.lua", tmp_path / "state.json"
    config(file)
    command = site.middle.command(PERIGEE, "vtep", "--config", file, "--state", state)
    with running(*command) as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        assert ping(site.station, "10.9.0.3", "-c", "1").returncode != 0
        with running(*site.station.command(tool("ping"), "-n", "-i", "0.002", "-c",
                                           "2500", "10.9.0.2")) as pings:
            for n in range(12):
                three, other = ', "192.0.2.3"', "[43] = 11, [%d] = 100" % (100 + n)
                config(file, vnis="{[42] = 0, %s}" % (other if n % 2 else ""),
                       remotes='{"192.0.2.2"%s}' % (three if n % 3 == 2 else ""))
                program.send(signal.SIGHUP)
                program.wait_for("vtep: ", count=n + 2)
                assert pings.runs_for(0.1), "the pings ended too early"
            assert pings.finish() == 0
        assert "2500 received, 0% packet loss" in pings.said, pings.said
        # The last one named the second remote, and VNI 43.
        wait_for_ping(site.station, "10.9.0.3", program)
        program.send(signal.SIGUSR1)
        wait_until(state.exists, "the state")
        seen = json.loads(state.read_text())
        assert [v["vni"] for v in seen["vnis"]] == [42, 43, 111]
        assert [r["address"] for r in seen["remotes"]] == ["192.0.2.2", "192.0.2.3"]
        for host, remote in zip(site.remotes, ["192.0.2.2", "192.0.2.3"]):
            mac = json.loads(host.ip("-json", "link", "show", "vxlan0"))[0]["address"]
            [entry] = [e for e in seen["entries"] if e["mac"] == mac and e["vni"] == 42]
            assert entry["remote"] == remote and not entry["static"]
            assert entry["age"] <= 300
        vni = seen["vnis"][0]
        assert vni["encapsulated"]["packets"] > 2500 < vni["decapsulated"]["packets"]
        assert program.interrupt() == 0, program.said
    account(program.said)
    assert "moved" not in program.said


def test_a_wrong_file_leaves_the_old_configuration(namespace, tmp_path):
    site = Site(namespace, "packet")
    file = tmp_path / "vtep.lua"
    config(file)
    command = site.middle.command(PERIGEE, "vtep", "--config", file)
    with running(*command) as program:
        wait_for_ping(site.station, "10.9.0.2", program)
        wrong = [("return {", "unexpected symbol"), ("return {vni = 4}", "is 'vnis'"),
                 (None, "mtu can't change while it runs (from '1500' to '9000')"),
                 ("", "doesn't return a table")]
        for n, (text, sentence) in enumerate(wrong, 1):
            if text is None:
                config(file, mtu=9000)
            else:
                file.write_text(text)
            program.send(signal.SIGHUP)
            program.wait_for("; the configuration stays as it was\n", count=n)
            assert sentence in program.said
        config(file, inner='"null"')
        program.send(signal.SIGHUP)
        program.wait_for("inner can't change while it runs (from 'packet:left' to "
                         "'null'): restart it; the configuration stays as it was")
        assert program.said.count("vtep: 192.0.2.1") == 1
        assert_pings(site.station, "10.9.0.2")
        assert program.interrupt() == 0, program.said
