# SPDX-License-Identifier: Apache-2.0
"""bench/run peers: testpmd as it is installed is measured; other programs are stood in for by
scripts that say what theirs say of packets, or by Perigee where it runs the same script."""
import os
import sys

import pytest

from helpers.command import PERIGEE, ROOT, run

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]

from peers import libmoon, light, ovs, snabb, testpmd, vpp  # noqa: E402
from suite import measure, peers  # noqa: E402

SECONDS = 0.05
# A thread that works, and counts what it did.
COUNTING = "i=0; while :; do i=$((i + 64)); %s; done"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of peers, and none that is installed."""
    monkeypatch.setattr(testpmd.shutil, "which", lambda _: None)
    monkeypatch.setattr(ovs, "INSTALLED", tmp_path / "root")
    return tmp_path


def program(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + script + "\n")
    path.chmod(0o755)
    return path


def test_what_is_missing_is_named_with_how_to_get_it(folder):
    peers.missing.clear()
    assert list(peers.found(folder)) == ["C"]
    names = [module.NAME for module in (testpmd, ovs, vpp, light, snabb, libmoon)]
    assert [note.split(" isn't there: ")[0] for note in peers.missing] == names
    assert "apt install dpdk-dev" in peers.missing[0]


@pytest.mark.skipif(not testpmd.find(None), reason="dpdk-testpmd isn't installed")
def test_testpmd(monkeypatch):
    """The installed one, beside Perigee and C at both bursts."""
    monkeypatch.delenv("PEERS", raising=False)
    monkeypatch.setattr(peers, "PEERS", ("testpmd",))
    rows = peers.run(True, rounds=1, only=["ports"], seconds=SECONDS)
    assert [(row["peer"], row["burst"]) for row in rows] == [
        ("C", 32), ("C", 256), ("testpmd", 32), ("testpmd", 256)]
    assert all(row["cycles"] > 1 and row["reference"] > 1 for row in rows), rows
    text = peers.markdown({"rows": rows, "machine": measure.machine(), "notes": ["none of x"],
                           "date": "2026-11-28"})
    assert "| ports | 256 | testpmd | " in text and text.endswith("\n- none of x")
    assert text.startswith("2026-11-28: ") and "TSC" in text


def test_ovs(folder):
    """Asked for a port, a flow and a thread; the cycles are of the packets it says."""
    root = folder / "ovs"
    said = folder / "said"
    for name in "usr/bin/ovsdb-tool", "usr/bin/ovs-vsctl", "usr/bin/ovs-ofctl":
        program(root / name, 'echo "$@" >> %s' % said)
    program(root / "usr/sbin/ovsdb-server", 'touch $OVS_RUNDIR/db; exec sleep 60')
    program(root / ovs.DAEMON,
            "touch $OVS_RUNDIR/br.mgmt; " + COUNTING % "echo $i >> $OVS_RUNDIR/count")
    program(root / "usr/bin/ovs-appctl", """
        case "$*" in
        *dump-flows) echo 'in_port(2),eth_type(0), packets:1, actions:2';;
        *) echo "  packets received: 0"; echo "  packets received: $(tail -n 1 $OVS_RUNDIR/count)";;
        esac""")
    assert ovs.find(folder).cycles("ports", 32, SECONDS) > 1
    text = said.read_text()
    assert "options:dpdk-devargs=net_null0,size=60,copy=0" in text
    assert "in_port=1,actions=in_port" in text and "fail-mode=secure" in text
    program(root / ovs.DAEMON, "echo it has no DPDK >&2; exit 3")
    with pytest.raises(measure.Failed, match="ended with status 3: it has no DPDK"):
        ovs.find(folder).cycles("ports", 32, SECONDS)


def test_vpp(folder):
    said = folder / "said"
    binary = folder / "vpp" / vpp.BUILT
    program(binary, "cli=$(sed -n 's/.*cli-listen \\([^ ]*\\) .*/\\1/p' $2); cat $2 > %s; "
            "touch $cli; " % said + COUNTING % "echo $i >> $cli.count")
    program(binary.with_name("vppctl"), """
        echo "$@" >> %s
        cli=$2; shift 2
        case "$*" in
        "show interface") printf '%%s\\n' '   Name  Idx  State' 'NullEthernet0  1  down 0' \
          'NullEthernet1  2  down 0' 'local0  0  down 0';;
        "show interface NullEthernet0") echo "NullEthernet0 1 up rx packets  $(tail -n 1 $cli.count)";;
        esac""" % said)
    assert vpp.find(folder).cycles("ports", 256, SECONDS) > 1
    text = said.read_text()
    assert "vdev net_null0,size=60,copy=0 vdev net_null1,size=60,copy=0" in text
    assert "test l2patch rx NullEthernet0 tx NullEthernet1" in text


def test_fastclick(folder):
    """What was left out of its README's options is told."""
    log = folder / "fastclick/config.log"
    stand_in = program(folder / "fastclick/userlevel/click", """
        for file; do :; done; grep -q 'BURST 32' $file || exit 7
        echo 1000; i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done; echo 200000
        exec sleep 60""")
    log.write_text("  $ ./configure " + " ".join(light.OPTIONS[:-1]) + "\n")
    assert light.find(folder).lacks == light.OPTIONS[-1:]
    assert light.find(folder).cycles("100 apps", 32, SECONDS) > 1
    assert "Null -> " * 100 in light.texts(32)["100 apps"]
    stand_in.write_text("#!/bin/sh\necho no such element >&2; exit 1\n")
    peers.missing.clear()
    assert peers.attempt("FastClick", light.find(folder), "ports", 32, SECONDS) is None
    assert peers.missing == ["FastClick, ports: failed"]


@pytest.mark.parametrize("work", libmoon.WORKS)
def test_libmoon(folder, work):
    """Its script runs on Perigee, too."""
    program(folder / "libmoon/build/libmoon", """
        script=$1; config=${2#--dpdk-config=}; shift 2
        grep -q 'DPDKConfig.*"net_null0,size=60,copy=0"' $config || exit 7
        exec %s moongen --port 0=null:size=60 $script "$@" """ % PERIGEE)
    assert libmoon.find(folder).cycles(work, 32, SECONDS) > 1


def test_snabb(folder):
    """Perigee in its place: the graphs are carried by both."""
    program(folder / "snabb/src/snabb", 'exec %s "$@"' % PERIGEE)
    peer = snabb.find(folder)
    assert peer.cycles("Source, 1 Fwd, Sink", None, SECONDS) > 1
    rows = peers.rows_of("rate limiter", {"Snabb": peer}, SECONDS, 1)
    assert [(row["peer"], row["burst"]) for row in rows] == [("Snabb", None)]


def test_refuses_a_folder_that_is_not_there(tmp_path):
    result = run(ROOT / "bench/run", "peers",
                 env={**os.environ, "PEERS": str(tmp_path / "none")})
    assert result.returncode == 1 and "none is no folder" in result.stderr


def test_own_side_of_each_work():
    """Perigee and C do all works that a peer may be set against."""
    own, in_c = peers.Perigee(), peers.Reference()
    for work in in_c.works:
        assert own.cycles(work, 32, SECONDS) > 1 and in_c.cycles(work, 32, SECONDS) > 1
