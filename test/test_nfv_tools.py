# SPDX-License-Identifier: Apache-2.0
"""`perigee nfv` beside its traffic: what is refused, `fuzz`, `neutron2snabb`, and the
benchmark."""

import os
import re

import pytest
from scapy.layers.inet import TCP

from helpers.command import perigee
from helpers.nfv import REMOTE, Bench, config, frame, port, udp


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.fast
def test_what_is_refused(bench, tmp_path):
    def said(*args):
        result = perigee("nfv", *args)
        assert result.returncode == 2, result.stdout
        assert result.stderr.count("\n") == 1
        return result.stderr
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(config(port("A"), port("B")))
    bad.write_text(config(port("A"), port("B", vlan=5000)))
    assert f"{bad}:3: port 'B': vlan: 5000 isn't" in said("traffic", "soft", bad, "x%s")
    assert "can't read" in said("traffic", "soft", tmp_path / "none", "x%s")
    assert "one for 2 ports; write %s" in said("traffic", "soft", good, "x")
    assert "no other % is allowed" in said("traffic", "soft", good, "x%d")
    assert "needs a command" in said()
    assert "is 'traffic' meant?" in said("trafic")
    assert "neutron2snabb" in said("neutron-sync-agent")
    for where, sentence in {"nosuch:x": "isn't a port", "packet:nosuch0": "there is no "
                            "kernel interface"}.items():
        text = said("traffic", where, good, tmp_path / "%s", "--server")
        assert sentence in text and text.startswith(f"perigee: {good}: ")
    text = said("traffic", "soft", good, tmp_path / "none/%s", "--server")
    assert "there is no directory" in text or "none" in text
    result = perigee("snabbnfv", "traffic", "--dry-run", "soft", good, "x%s")
    assert result.stdout == f"{good}: 2 ports, nothing wrong found\n"
    assert "port_id" in perigee("nfv", "traffic", "-H").stdout


def test_more_ports_than_dpdk_has(bench):
    bench.write(*[port(f"vm{n}") for n in range(40)])
    result = perigee("nfv", "traffic", "--server", "soft", bench.config,
                     bench.folder / "%s.sock")
    assert result.returncode == 2
    assert result.stderr == f"perigee: {bench.config}: it has 40 ports; DPDK has room " \
        "for 32 in a process\n"
    assert not list(bench.folder.glob("*.sock"))


def test_random_configurations_pass_tcp(bench, tmp_path):
    spec = tmp_path / "spec"
    spec.write_text("return {ingress_filter = 3, egress_filter = 3, tunnel = true, "
                    "crypto = true, tx_police = 10}")
    sent = [frame(TCP(dport=7), n) for n in range(20)]
    bench.send("A", sent)
    result = perigee("nfv", "fuzz", spec, bench.config)
    assert result.returncode == 0, result.stderr
    assert bench.exchange(20, ready=("Resolved next-hop", 60, 2)) == sent
    spec.write_text("return {ingress_filters = 3}")
    assert "'ingress_filter' or 'egress_filter' meant?" in \
        perigee("nfv", "fuzz", spec, "x").stderr


def test_the_benchmark(bench):
    bench.write(port("A"))
    bench.send("A", [udp(destination=REMOTE)] * 20000)
    with bench.nfv("null", "-B", "200") as nfv:
        nfv.wait_for("benchmark")
        with bench.guests("A", rate=2000) as guest:
            assert nfv.finish() == 0, nfv.said
            assert guest.interrupt() == 0
    assert re.search(r"^Rate\(Mpps\):\t[\d.]+$", nfv.said, re.M), nfv.said


VIF = """{"zone_host": "%s", "zone_port": "%s", "zone_vlan": 243, "zone_ip": "2006::16",
"binding:profile": {"rx_police_gbps": 3.0, "packetfilter": "stateless", "tunnel_type":
"L2TPv3", "l2tpv3_remote_ip": "1::8", "l2tpv3_session": 16, "l2tpv3_local_cookie": "616263",
"l2tpv3_remote_cookie": "646566", "l2tpv3_next_hop": "2::2"}}""".replace("\n", " ")


def dump(folder, **tables):
    """A dump of Neutron's database, as mysqldump --tab writes it."""
    folder.mkdir()
    for name, rows in tables.items():
        (folder / f"{name}.txt").write_text(
            "".join("\t".join(row) + "\n" for row in rows))


def test_neutron2snabb(tmp_path):
    def row(group, direction, *rest):
        return ["t", "id", group, "\\N", direction, *rest]
    rules = [row("g1", "ingress", "IPv4", "tcp", "1000", "2000", "10.0.0.0/8"),
             row("g1", "ingress", "IPv6", "icmpv6", "128", "\\N", "\\N"),
             row("g2", "ingress", "IPv6", "132", "\\N", "\\N", "\\N"),
             row("g2", "egress", "IPv4", "\\N", "\\N", "\\N", "\\N"),
             row("g3", "egress", "IPv6", "udp", "53", "\\N", "\\N")]
    bindings = [["p1", "h", "vhostuser", "normal", "{}", VIF % ("here", "port0")],
                ["p2", "h", "ovs", "normal", "{}", "{}"],
                ["p3", "h", "vhostuser", "normal", "{}", VIF % ("there", "port0")]]
    ports = [["t", p, "name\\tx", "net", f"fa:16:3e:00:00:0{i}", "1", "ACTIVE", "", ""]
             for i, p in enumerate(["p1", "p2", "p3", "p4"])]
    tables = {"ports": ports, "ml2_port_bindings": bindings, "securitygrouprules": rules,
              "securitygroupportbindings": [["p1", "g1"], ["p1", "g2"]]}
    dump(tmp_path / "dump", **tables)
    out = tmp_path / "out"
    out.mkdir()
    result = perigee("nfv", "neutron2snabb", tmp_path / "dump", out, "here")
    assert result.returncode == 0, result.stderr
    assert os.listdir(out) == ["port0"] and result.stdout == f"Created {out}/port0\n"
    text = (out / "port0").read_text()
    assert ('ingress_filter = "((arp or (ip and tcp and dst portrange 1000-2000 and '
            'src net 10.0.0.0/8)) or (ip6 and icmp6 and ip6[40] = 128) or '
            '(ip6 and ip6 proto 132))"') in text
    assert 'egress_filter = "(arp or ip)"' in text
    assert "vlan = 243" in text and "rx_police = 3" in text and "session = 16" in text
    result = perigee("nfv", "traffic", "--dry-run", "soft", out / "port0", "x%s")
    assert result.stdout.endswith("1 port, nothing wrong found\n"), result.stderr
    # What is wrong is told, with its place, and nothing is written.
    bindings[0][5] = bindings[0][5].replace("243", "4095")
    dump(tmp_path / "wrong", **tables)
    result = perigee("nfv", "neutron2snabb", tmp_path / "wrong", tmp_path, "here")
    assert result.returncode == 2 and not (tmp_path / "port0").exists()
    assert result.stderr == f"perigee: {tmp_path}/wrong/ports.txt:1: port 'p1': vlan: " \
        "4095 isn't a whole number from 0 to 4094\n"
    rules[0][7] = "1O00"
    dump(tmp_path / "number", **tables)
    result = perigee("nfv", "neutron2snabb", tmp_path / "number", tmp_path, "here")
    assert (result.returncode, result.stderr) == (
        2, "perigee: the port_range_min '1o00' of a security group's rule is no number "
        "from 0 to 65535\n")
    result = perigee("nfv", "neutron2snabb", tmp_path / "dump", out, "elsewhere")
    assert "no vhost-user port for the host 'elsewhere'" in result.stderr
