# SPDX-License-Identifier: Apache-2.0
"""What guests are started with: Debian's kernel (tools/guest/kernel), a first file system
of busybox and the modules needed, and a perigee for any x86-64 CPU, all in build/guest.
The guest sees the host's files, so there is nothing else to pack."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from helpers.command import ROOT

BUILD = ROOT / "build" / "guest"
PERIGEE = BUILD / "perigee"
INITRD = BUILD / "initrd"
QEMU = "qemu-system-x86_64"
INIT = pathlib.Path(__file__).with_name("guest_init.sh")
BUILD_TIMEOUT_S = 600

# Those named and what they depend on; the order is kept.
MODULES = ["virtio_pci", "9p", "9pnet_virtio", "vfio_iommu_type1", "vfio_pci", "e1000",
           "e1000e", "vmxnet3", "virtio_net", "af_packet", "pcie_hotplug"]


def missing():
    """What is missing to run guests, as a sentence, or None."""
    for program, package in (QEMU, "qemu-system-x86"), ("busybox", "busybox-static"):
        if not shutil.which(program):
            return f"guests need {program} (Debian's {package})"
    if is_dynamic(shutil.which("busybox")):
        return "guests need a static busybox (Debian's busybox-static)"
    if not (BUILD / "kernel" / "boot").exists():
        return "guests need a kernel: tools/guest/kernel fetches one"
    return None


def is_dynamic(program):
    """Does it need a dynamic linker (ELF's PT_INTERP)?"""
    return b"/ld-linux" in pathlib.Path(program).read_bytes()[:4096]


def kernel():
    return next((BUILD / "kernel" / "boot").glob("vmlinuz-*"))


def modules(names):
    """The files of modules with these names, each behind what it depends on."""
    files = {path.name.split(".")[0].replace("-", "_"): path
             for path in (BUILD / "kernel" / "lib" / "modules").rglob("*.ko*")}
    found = []

    def take(name):
        path = files.get(name)
        if not path or path in found:  # built in
            return
        depends = re.search(rb"\0depends=([^\0]*)", path.read_bytes()).group(1).decode()
        for other in filter(None, depends.split(",")):
            take(other.replace("-", "_"))
        found.append(path)

    for name in names:
        take(name)
    return found


def make_initrd(initrd, init, names):
    """Make the archive that the kernel unpacks (newc, cpio(5)): busybox, the script that is
    its first process, and modules, as NUMBER-NAME in the order to insert them."""
    root = initrd.with_suffix(".files")
    shutil.rmtree(root, ignore_errors=True)
    (root / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
    shutil.copy(init, root / "init")
    os.chmod(root / "init", 0o755)
    for number, path in enumerate(modules(names)):
        shutil.copy(path, root / f"{number:02}-{path.name}")
    names = "\n".join(sorted(str(p.relative_to(root)) for p in root.rglob("*")))
    archive = subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=root, check=True,
                             input=names.encode(), capture_output=True).stdout
    initrd.with_suffix(".new").write_bytes(archive)
    os.rename(initrd.with_suffix(".new"), initrd)


def prepare():
    """Make what is missing or old, one process at a time."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "guest-perigee"],
                              cwd=ROOT, capture_output=True, text=True, check=False,
                              timeout=BUILD_TIMEOUT_S)
        assert made.returncode == 0, made.stderr
        old = [INIT, pathlib.Path(__file__), kernel()]
        if not INITRD.exists() or \
                INITRD.stat().st_mtime < max(p.stat().st_mtime for p in old):
            make_initrd(INITRD, INIT, MODULES)


def require():
    """Skip the test where guests can't be had; make what they need where they can."""
    if not (os.environ.get("PERIGEE_GUESTS") or os.environ.get("PERIGEE_LONG")):
        pytest.skip("virtual machines take minutes: PERIGEE_GUESTS=1, or `make test-guests`")
    reason = missing()
    if reason:
        pytest.skip(reason)
    prepare()
