# SPDX-License-Identifier: Apache-2.0
"""What Snabb leaves behind disturbs neither tests nor benchmarks."""

import os
import subprocess
import sys

import pytest

from helpers.command import PERIGEE, ROOT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


def in_namespace(tmp_path, code):
    """Run Python code with mounts of its own, beside a hugetlbfs below /dev/shm."""
    script = tmp_path / "script.py"
    script.write_text(f"""
import pathlib, subprocess, sys
sys.path[:0] = [{str(ROOT / "test")!r}, {str(ROOT / "tools")!r}]
def mount(path):
    path.mkdir(parents=True)
    subprocess.run(["mount", "-t", "hugetlbfs", "none", path], check=True)
def mounted():
    return "hugetlbfs" in pathlib.Path("/proc/self/mounts").read_text()
left = pathlib.Path("/dev/shm/left/hugetlbfs")
for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
    if line.split()[2] == "hugetlbfs":
        subprocess.run(["umount", "-l", line.split()[1]], check=True)
subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
{code}
""")
    result = subprocess.run(["unshare", "-m", sys.executable, script], text=True,
                            capture_output=True, timeout=30)
    assert result.returncode == 0, result.stderr


def test_tests_hide_no_hugetlbfs(tmp_path):
    in_namespace(tmp_path, """
from helpers import apart
mount(left)
assert mounted()
apart.leave()
assert not mounted()
""")


def test_a_hidden_hugetlbfs_is_told(tmp_path):
    in_namespace(tmp_path, f"""
mount(left)
subprocess.run(["mount", "-t", "tmpfs", "none", "/dev/shm"], check=True)
said = subprocess.run([{str(PERIGEE)!r}, "--log-level", "info", "echo", "null", "10",
                       "0.1"], check=True,
                      capture_output=True, text=True).stderr
assert said == (f"perigee: the hugetlbfs at {{left}} is hidden by another mount, so "
                "plain memory is used\\n"), said
""")


def test_benchmarks_unmount_what_snabb_has_mounted(tmp_path):
    in_namespace(tmp_path, """
import hugepages
with hugepages.given_back():
    mount(left)
    assert mounted()
assert not mounted()
mount(left.with_name("kept"))
with hugepages.given_back():
    pass
assert mounted()
""")


def test_benchmarks_do_without_a_proc_sys_to_write_to(tmp_path):
    """As in containers."""
    in_namespace(tmp_path, """
subprocess.run(["mount", "-o", "ro,bind", "/proc/sys", "/proc/sys"], check=True)
import hugepages
try:
    hugepages.RESERVED.write_text("0")
    raise SystemExit("/proc/sys can be written to")
except OSError:
    pass
with hugepages.given_back():
    mount(left)
assert not mounted()
""")


def test_tests_do_without_a_proc_sys_to_write_to(tmp_path):
    in_namespace(tmp_path, """
subprocess.run(["mount", "-o", "ro,bind", "/proc/sys", "/proc/sys"], check=True)
import pytest
from helpers.network import Namespace
here = Namespace("ro")
try:
    here.sysctl("net.ipv4.ip_forward=1")
    assert here.check("cat", "/proc/sys/net/ipv4/ip_forward") == "1\\n"
    assert here.check("cat", "/proc/sys/net/ipv6/conf/all/disable_ipv6") == "1\\n"
finally:
    here.remove()
import test_users
free = int(test_users.FREE_HUGEPAGES.read_text())
with pytest.raises(pytest.skip.Exception, match="nr_hugepages"):
    with test_users.hugepages(free + 1):
        pass
""")
