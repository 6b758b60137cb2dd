# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run: their programs and C references move packets and say how many.
What they measure isn't tested."""

import importlib.machinery
import importlib.util
import os
import random
import sys
import types

import pytest

from helpers.command import ROOT, check, perigee, run

sys.path.insert(0, str(ROOT / "bench"))

from suite import (  # noqa: E402
    click, fastclick, idle, latency, measure, packetmill, page, router, stack, takeover, tcp,
    traffic)

NULL = "net_null_pg0,size=60,copy=0"


def cycles_of(result):
    assert result.returncode == 0, result.stderr
    packets, seconds, hertz = map(float, result.stdout.split())
    assert packets > 1000 and seconds > 0 and hertz > 1e8
    return seconds * hertz / packets


def bench(name, *args):
    return cycles_of(perigee("run", ROOT / "bench/lua" / (name + ".lua"), *args))


def reference(name, *args):
    check("make", "-s", "-C", ROOT, f"build/bench/{name}")
    return cycles_of(run(ROOT / "build/bench" / name, *args,
                         *measure.eal_arguments()))


@pytest.mark.parametrize("kind, length, burst", [
    ("push", 2, 256), ("fused", 2, 1), ("swap", 3, 64), ("fused", 1, "random"),
    ("push", 1, "late:0.1"), ("push", 0, 256),
])
def test_chain(kind, length, burst):
    bench("chain", kind, length, burst, 0.1)


@pytest.mark.parametrize("kind", ["fused", "links"])
@pytest.mark.parametrize("history", ["none", "moved", "reconfigured", "slow"])
def test_steady(kind, history):
    bench("steady", kind, history, 0.1)


@pytest.mark.parametrize("changes", [0, 10])
def test_latency(changes):
    """At a rate that both can keep, as many packets leave as are due."""
    check("make", "-s", "-C", ROOT, "build/bench/latency", "build/bench/latency.so")
    ours = perigee("--eal", latency.DEVICE, "run", ROOT / "bench/lua/latency.lua",
                   ROOT / "build/bench/latency.so", 10000, 0.5, 2, 0.1, changes, 0.5)
    in_c = run(ROOT / "build/bench/latency", 10000, 0.5, 2, 256, 0.5, *measure.eal_arguments())
    for done in ours, in_c:
        assert done.returncode == 0, done.stderr
        packets, seconds, hertz, *times = map(float, done.stdout.split())
        assert 1000 < packets < 10000 and seconds > 0 and hertz > 1e8
        assert len(times) == len(latency.PARTS) and times[:4] == sorted(times[:4])
        assert 0 < times[0] and times[3] <= times[4] * 1.04


def test_vhost(tmp_path):
    bench("pair", f"vhost:{tmp_path}/perigee", f"virtio-user:{tmp_path}/perigee", 0.1)
    path = tmp_path / "c"
    reference("pair", f"net_vhost_pg0,iface={path},queues=1,linear-buffer=1",
              f"net_virtio_user_pg1,path={path},queues=1", path, 0.1)
    for what in "switch", "links":
        bench("vhost", what, 4, 0.1)


def test_memif(tmp_path):
    bench("pair", f"memif:{tmp_path}/perigee,role=server", f"memif:{tmp_path}/perigee", 0.1)
    path = tmp_path / "c"
    reference("pair", *[f"net_memif_pg{i},role={role},socket={path},socket-abstract=no"
                         for i, role in enumerate(("server", "client"))], path, 0.1)


@pytest.mark.parametrize("what", ["direct", "calls:2", "swap:2", "links:0", "links:2"])
def test_chain_in_c(what):
    reference("chain", NULL, what, "random", 0.1)


def test_chain_in_c_refuses_what_it_does_not_know():
    check("make", "-s", "-C", ROOT, "build/bench/chain")
    result = run(ROOT / "build/bench/chain", NULL, "links2:1", 256, 0.1,
                 *measure.eal_arguments())
    assert result.returncode == 1 and "reading WHAT" in result.stderr


def test_mix():
    file = traffic.write("test_mix", traffic.mixed(240))
    try:
        for kind in "fused", "links":
            bench("mix", kind, f"pcap:rx={file},loop=1", 0.1)
        reference("mix", traffic.DEVICE % file, 256, 0.1)
    finally:
        file.unlink()


def test_record():
    bench("record", 60, 0.1)
    reference("record", 60, 0.1, 32)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces, as root")
def test_takeover():
    """Each turn has a gap: who was killed or upgraded had passed packets."""
    rows = {row["name"]: row for row in takeover.run(True, rounds=2)}
    assert len(rows) == 6
    assert all(row["min"] > 1 for name, row in rows.items() if name.endswith("ms")), rows


@pytest.fixture(scope="module")
def stacks_in_c():
    check("make", "-s", "-C", ROOT, "build/bench/stack.so")


# The program ends with status 1 unless all variants do the same to the packets.
@pytest.mark.parametrize("work, variants", [
    ("set", {"stack", "method", "word", "bytes", "c", "c-bytes"}),
    *((work, {"stack", "c"})
      for work in ("vxlan", "template", "check", "ip4", "udp", "tcp"))])
def test_stack(stacks_in_c, work, variants):
    found = stack.lines("stack", work, 64, 100, 0.05)
    assert found.keys() == variants
    assert all(value > 0 for value, in found.values())


def test_cliffs(stacks_in_c):
    found = stack.lines("cliffs", "all", 100, 7, 0.0001)
    assert len(found) == stack.BURSTS
    assert all(len(values) == 4 and min(values) > 0 for values in found.values())


def test_slow():
    assert stack.lines("slow", 10).keys() == stack.TIMES.keys()


def test_router():
    dice = random.Random(1)
    table = router.routes(1000, dice)
    assert len({route[:2] for route in table}) == 1000
    file = traffic.write("test_router", router.packets(table, dice))
    routes = router.write_routes(table, "test_routes")
    try:
        bench("router", f"pcap:rx={file},loop=1", routes, 0.1)
        reference("router", traffic.DEVICE % file, routes, 256, 0.1)
    finally:
        file.unlink()
        routes.unlink()


def test_pcap(tmp_path):
    file = traffic.write("test_pcap", traffic.mixed(2040))
    try:
        for args in ("read", file, 0.1), ("write", "/dev/null", 0.1), \
                ("copy", file, tmp_path / "copy.pcap"):
            bench("pcap", *args)
            reference("pcap", *args)
    finally:
        file.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces, as root")
@pytest.mark.parametrize("forwarder, offloads", [
    (tcp.perigee, True), (tcp.linux, True), (tcp.perigee, False)])
def test_tcp(forwarder, offloads):
    hertz = tcp.hertz()
    assert 0 < tcp.cycles(forwarder, offloads, 1, hertz) < hertz


def test_a_configuration_for_fastclick():
    text, devices = fastclick.translate(click.tee(), 1)
    assert devices == ["--vdev=net_null0", "--vdev=net_null1"]
    assert "in :: FromDPDKDevice(0) -> t; t[0] -> ToDPDKDevice(1); t[1] -> ToDPDKDevice(2);" \
        in text
    text, devices = fastclick.translate(click.router(), 1)
    assert text.count("FromDPDKDevice") == 1 and len(devices) == click.HOPS


def test_cycles_of_fastclick(tmp_path, monkeypatch, capsys):
    """Of a program in its place, that burns CPU time between two counts."""
    program = tmp_path / "click"
    program.write_text("#!/bin/sh\necho 0\ni=0\nwhile [ $i -lt 20000 ]; do i=$((i+1)); done\n"
                       "echo 1000\n")
    program.chmod(0o755)
    monkeypatch.setenv("FASTCLICK_BIN", str(program))
    (ROOT / "build/bench").mkdir(parents=True, exist_ok=True)
    assert fastclick.cycles(click.mirror(), "net_null0", 1) > 1000
    for script, words in {"echo lost >&2; echo no such element >&2; exit 1":
                              "with status 1: no such element",
                          "echo 7; echo 7": "received nothing",
                          "echo 7; exec sleep 60": "ended with status -9"}.items():
        program.write_text(f"#!/bin/sh\n{script}\n")
        monkeypatch.setattr(fastclick, "PATIENCE_S", 0.1)
        assert fastclick.cycles(click.mirror(), "net_null0", 0.1) is None
        assert words in capsys.readouterr().err
    monkeypatch.setenv("FASTCLICK_BIN", str(tmp_path / "none"))
    with pytest.raises(measure.Failed, match="give FastClick's program"):
        fastclick.binary()


# FastClick's tools in what test_packetmill makes: a package with the configuration, a
# makefile that notes how it is called.
TOOLS = {
    "bin/click-devirtualize": """#!/bin/sh
        [ "$*" = "--inline --replace --static $PWD/in.click" ] || exit 7
        d=$(mktemp -d) && cd $d
        { echo 'require(package "x");'; cat "$OLDPWD/in.click"; } > config
        ar qc package config && cat package && rm -r $d
        """,
    "bin/click-mkmindriver": """#!/bin/sh
        echo "$*" > mindriver; exit 1
        """,
    "userlevel/Makefile": """
CXX = g++-9
clean-embed:
	rm -f embedclick
embedclick:
	echo '$(CXX) $(STATIC) $(MINDRIVER)' > embedclick
""",
    "userlevel/click": "", "share/click/elementmap.xml": "",
}


def test_packetmill(tmp_path, monkeypatch, capsys):
    """Its program is made once for a configuration."""
    checkout, root = tmp_path / "fastclick", tmp_path / "root"
    monkeypatch.setattr(measure, "ROOT", root)
    assert not packetmill.wanted()
    monkeypatch.setenv("PACKETMILL", "1")
    with pytest.raises(measure.Failed, match="needs FASTCLICK_BIN"):
        packetmill.wanted()
    for name, text in TOOLS.items():
        file = checkout / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    monkeypatch.setenv("FASTCLICK_BIN", str(checkout / "userlevel/click"))
    assert packetmill.wanted()
    program, config = packetmill.program("Idle -> Discard;\n")
    assert program.read_text() == "g++-9 -fno-access-control 1 embed\n"
    assert config.read_text() == "Idle -> Discard;\n"
    assert "-p embed --ship -u" in (checkout / "userlevel/mindriver").read_text()
    (checkout / "bin/click-devirtualize").write_text("#!/bin/sh\necho a joke >&2; exit 3\n")
    assert packetmill.program("Idle -> Discard;\n") == (program, config)
    with pytest.raises(measure.Failed, match="ended with status 3: a joke"):
        packetmill.program("Idle -> Discard; // other\n")
    assert (root / "build/bench/packetmill/errors").read_text() == "a joke\n"
    assert not packetmill.can_make("Idle -> Discard; // other\n")
    assert "ended with status 3: a joke" in capsys.readouterr().err
    (checkout / "bin/click-mkmindriver").unlink()
    with pytest.raises(measure.Failed, match="has no bin/click-mkmindriver: in that folder"):
        packetmill.wanted()


def test_names():
    listed = check(ROOT / "bench/run", "--list").split()
    assert {"echo", "hop", "chain", "burst", "mix", "pcap", "router"} <= set(listed)
    result = run(ROOT / "bench/run", "nosuch")
    assert result.returncode == 2 and "there is no benchmark 'nosuch'" in result.stderr


def test_worst_row():
    assert measure.worst_row("x", [1.0] * 19, [1.0] * 19) is None
    row = measure.worst_row("x", [10.0] * 19 + [12.0], [5.0] * 19 + [5.25])
    assert row["cycles"] == pytest.approx(1.2)
    assert row["reference"] == pytest.approx(1.15)
    assert row["ratio"] > row["limit"] == 1


def test_plot_knows_its_benchmarks():
    spec = importlib.util.spec_from_file_location("plot", ROOT / "bench/plot.py")
    plot = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plot)
    listed = check(ROOT / "bench/run", "--list").split()
    assert set(plot.TITLES) <= set(listed)


def test_page():
    rows = page.run(True, rounds=1, seconds=0.2)
    assert len(rows) == 2 and all(row["cycles"] > 0 for row in rows)


# bench/compare ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain:3", "filter", "bridge", "rate"])
def test_graphs_that_are_compared_with_snabb(kind):
    result = perigee("snsh", ROOT / "bench/lua/compare.lua", kind, 0.1)
    assert result.returncode == 0, result.stderr
    packets, seconds = map(float, result.stdout.splitlines()[-1].split())
    assert packets > 1000 and seconds > 0


def test_shows_what_was_measured_before_a_failure(monkeypatch, capsys):
    def fail(*_):
        measure.row("whole", [3.0], [2.0])
        raise measure.Failed("no more")

    bench = importlib.machinery.SourceFileLoader("bench_run", str(ROOT / "bench/run"))
    module = types.ModuleType("bench_run")
    module.__file__ = bench.path
    bench.exec_module(module)
    fake = types.ModuleType("suite.fake", "What fails.")
    fake.run = fail
    monkeypatch.setitem(sys.modules, "suite.fake", fake)
    monkeypatch.setattr(measure, "made", [])
    monkeypatch.setattr(module, "names", lambda: ["fake"])
    monkeypatch.setattr(sys, "argv", ["bench/run", "fake"])
    assert module.main() == 1
    said = capsys.readouterr()
    assert "whole" in said.out and "1.50" in said.out
    assert said.err == "bench/run fake: no more\n"


def test_compare_says_when_a_program_of_the_checkout_ends(tmp_path):
    snabb = tmp_path / "src/snabb"
    snabb.parent.mkdir()
    snabb.write_text("#!/bin/sh\nexit 3\n")
    snabb.chmod(0o755)
    result = run(ROOT / "bench/compare", tmp_path, "--only", "lwaftr")
    assert result.returncode == 1
    assert result.stderr.count("lwaftr bench ended with status 3") == 2


def test_compare_wants_a_built_checkout(tmp_path):
    result = run(ROOT / "bench/compare", tmp_path)
    assert result.returncode == 1
    assert "src/snabb isn't there; give a Snabb checkout" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="it makes network namespaces")
@pytest.mark.parametrize("kind", ["packet", "tap", "xdp"])
def test_idle_ports_of_each_kind_answer(kind):
    measure.build("idle")
    found = idle.echo(kind, "adaptive", 1)
    assert found[1000, "p50"] > 0 and found[10000, "p99"] > 0
