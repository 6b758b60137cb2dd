# SPDX-License-Identifier: Apache-2.0
"""The systemd unit: Perigee as a user with few rights, and without a place to write to."""

import os
import re
import shutil
import signal

import pytest

from helpers import unit_filter
from helpers.command import PERIGEE, ROOT, run, running, tool, wait_until
from helpers.report import account
from helpers.service import Manager, environment

SYSTEMD = ROOT / "packaging" / "systemd"
UNIT = SYSTEMD / "perigee@.service"


def files_of(drop_ins):
    return [UNIT, *(SYSTEMD / f"{name}.conf" for name in drop_ins)]


def words_of(files, name):
    """The words of the unit's and its drop-ins' lines NAME=..."""
    return [word for words in unit_filter.values(files, name) for word in words]


@pytest.fixture
def folder(scratch):
    """One that other users can enter."""
    scratch.chmod(0o755)
    return scratch


PORTS = {
    "packet": ([], ["echo", "packet:veth0"]),
    "packet-down": (["interface"], ["echo", "packet:veth2"]),
    "tap": (["tap"], ["echo", "tap:tap7"]),
    "xdp": (["xdp"], ["echo", "xdp:veth0"]),
    "memif": ([], ["echo", "memif:RUN/m.sock,role=server"]),
    "vhost": ([], ["echo", "vhost:RUN/v.sock"]),
    "null": ([], ["echo", "null"]),
    "click": ([], ["click", "-u", "RUN/c.sock", "-e",
                   "FromDPDKDevice(packet:veth0) -> ToDPDKDevice(packet:veth0)"]),
    "metrics": ([], ["--metrics", "9100", "echo", "packet:veth0"]),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="wants root, to mount and to give up rights")
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze names calls")
@pytest.mark.parametrize("kind", PORTS)
def test_with_the_rights_of_the_unit(folder, readable, kind):
    """As another user with the capabilities, calls and address families of the unit and
    the drop-ins of the port's kind, a root that is read-only, and nothing to write to but
    a folder of its own."""
    drop_ins, words = PORTS[kind]
    files = files_of(drop_ins)
    capabilities = ",".join("+" + name.removeprefix("CAP_").lower() for name in
                            words_of(files, "AmbientCapabilities"))
    if kind == "xdp":  # in the place of LimitMEMLOCK, which root can't set everywhere
        capabilities += ",+ipc_lock"
    manager = Manager(folder / "notify")
    os.chmod(manager.path, 0o777)
    runtime = folder / "run"
    runtime.mkdir(0o700)
    os.chown(runtime, 65534, 65534)
    filtering = folder / "unit_filter.py"
    shutil.copy(unit_filter.__file__, filtering)
    for path in files:
        shutil.copy(path, folder / path.name)
    script = f"""
set -e
ip link set lo up
ip link add veth0 type veth peer veth1
ip link add veth2 type veth peer veth3
for name in veth0 veth1 veth3; do ip link set $name up; done
mount --make-rprivate /
mount --bind {runtime} {runtime}
for place in / /tmp /run /dev/shm; do mount -o remount,bind,ro $place 2>&- || :; done
exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,{capabilities} \
  --ambient-caps=-all,{capabilities} --bounding-set=-all,{capabilities} --no-new-privs \
  /usr/bin/python3 {filtering} {",".join(str(folder / path.name) for path in files)} "$@"
"""
    words = [word.replace("RUN", str(runtime)) for word in words]
    with running(tool("unshare"), "--net", "--mount", "sh", "-c", script, "sh", readable,
                 "--group", "nogroup", *words,
                 env=environment(NOTIFY_SOCKET=str(manager.path), HOME="/none",
                                 XDG_RUNTIME_DIR=str(runtime),
                                 SNABB_SHM_ROOT=str(runtime))) as process:
        manager.wait_for("READY=1", process)
        status = open(f"/proc/{process.pid}/status").read()
        assert re.search(r"^Uid:\t65534\t", status, re.M)
        assert re.search(r"^Seccomp:\t2$", status, re.M)
        if kind == "metrics":
            def answers():
                assert process.read(), process.said
                return "perigee_" in run(tool("nsenter"), "--net", "--target",
                                         str(process.pid), "curl", "-sf",
                                         "http://127.0.0.1:9100/metrics").stdout
            wait_until(answers, "metrics")
        assert process.interrupt(signal.SIGTERM) == 0, process.said
        if kind != "click":
            account(process.said)
        assert "not permitted" not in process.said


EXPOSURE = {"": 2.0, "interface": 2.0, "network": 2.0, "card": 2.0, "tap": 2.2, "xdp": 2.3}


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("drop_in", EXPOSURE)
def test_what_the_unit_exposes(tmp_path, drop_in):
    """By systemd's own measure: 4.5 without a filter, 9.6 without any of this."""
    unit = tmp_path / "perigee@x.service"
    files = files_of([drop_in] if drop_in else [])
    unit.write_text("\n".join(path.read_text() for path in files))
    result = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    if "Unknown" in result.stderr or "unrecognized" in result.stderr:
        pytest.skip("systemd-analyze reads no files here (it does from 250 on)")
    level = re.search(r"Overall exposure level .*: ([\d.]+)", result.stdout)
    assert level and float(level[1]) <= EXPOSURE[drop_in], result


def test_systemd_finds_nothing_wrong(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze here")
    text = UNIT.read_text().replace("/usr/bin/perigee", str(PERIGEE)).replace(
        "Group=perigee", "Group=root").replace(
        "User=perigee-%i\nGroup", "Group")
    unit = tmp_path / "perigee@x.service"
    unit.write_text(text)
    result = run("systemd-analyze", "verify", "--man=no", unit)
    assert str(unit) not in result.stderr and "perigee" not in result.stderr, \
        result.stderr
