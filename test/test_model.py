# SPDX-License-Identifier: Apache-2.0
"""perigee model on kernel interfaces and as an ordinary user: every kind of port is
measured, or it is said why not; nothing is left behind."""

import os
import pathlib

import pytest

from helpers.command import perigee, run, tool
from helpers.schema import valid

KERNEL_KINDS = "packet,xdp,tap"
SHARED_KINDS = "pcap,memif,vhost"
NOBODY = 65534


def measured(directory, *options):
    """What `perigee model` says of the ports, by name."""
    result = perigee("model", "--quick", "--no-memory", *options, "--out", directory,
                     timeout=120)
    assert result.returncode == 0, result.stderr
    found = valid("model", (directory / "model.json").read_text())
    return {port["name"]: port for port in found["ports"]}


def interfaces():
    return {path.name for path in pathlib.Path("/sys/class/net").iterdir()}


@pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces, as root")
def test_kernel_interfaces_cost_more_than_a_null_port(tmp_path):
    before = interfaces()
    ports = measured(tmp_path, "--ports", "null," + KERNEL_KINDS)
    assert interfaces() == before
    null = min(cell["io"] for cell in ports["null"]["cells"])
    for name in KERNEL_KINDS.split(","):
        assert "problem" not in ports[name], ports[name]["problem"]
        assert min(cell["io"] for cell in ports[name]["cells"]) > 3 * null


def test_files_and_sockets(tmp_path):
    left = set(pathlib.Path("/tmp").glob("pg??????"))
    ports = measured(tmp_path, "--ports", SHARED_KINDS)
    for port in ports.values():
        assert "problem" not in port, port["problem"]
        assert {cell["size"] for cell in port["cells"]} == {64, 512, 1518}
    assert set(pathlib.Path("/tmp").glob("pg??????")) <= left


def test_longer_frames_cost_more_where_they_are_copied(tmp_path):
    cells = measured(tmp_path, "--ports", "memif")["memif"]["cells"]
    io = {cell["size"]: cell["io"] for cell in cells if cell["burst"] == 32}
    assert io[1518] > io[64]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_without_root_what_is_not_allowed_is_named(scratch, readable):
    scratch.chmod(0o777)
    out = scratch / "out"
    result = run(tool("setpriv"), "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups",
                 readable, "model", "--quick", "--no-memory", "--ports", "null,ring,xdp",
                 "--out", out, cwd=scratch, timeout=120)
    assert result.returncode == 0, result.stderr
    ports = {port["name"]: port
             for port in valid("model", (out / "model.json").read_text())["ports"]}
    assert "problem" not in ports["null"] and ports["null"]["cells"]
    assert "problem" not in ports["ring"] and ports["ring"]["cells"]
    assert ports["xdp"]["problem"]
    assert f"xdp      not measured: {ports['xdp']['problem']}" in result.stdout
