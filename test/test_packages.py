# SPDX-License-Identifier: Apache-2.0
"""The package, the service and the container for real, in base systems of their own: built,
installed, run, removed. It takes an hour and a network: PERIGEE_PACKAGES=1."""

import os
import shutil
import subprocess

import pytest

from helpers.command import ROOT, tool

TIMEOUT_S = 3600
SUITES = ["bookworm", "trixie", "noble"]

pytestmark = [
    pytest.mark.skipif(not os.environ.get("PERIGEE_PACKAGES"),
                       reason="takes an hour and a mirror of Debian's: PERIGEE_PACKAGES=1"),
    pytest.mark.skipif(os.geteuid() != 0, reason="wants root, for debootstrap")]


def script(name, *words, needs=()):
    """Run packaging/NAME; what it said."""
    for program in needs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            pytest.skip(f"there is no {program} here")
    result = subprocess.run([tool("sh"), ROOT / "packaging" / name, *words], check=False,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
    assert result.returncode == 0, result.stdout[-5000:]
    return result.stdout


@pytest.mark.parametrize("suite", SUITES)
def test_the_package_is_installed_run_and_removed(suite):
    said = script("test", suite, needs=["debootstrap"])
    assert said.endswith(f"installed, run and removed in {suite}\n")


def test_two_builds_are_the_same():
    said = script("test-reproducible", needs=["dpkg-buildpackage", "dh"])
    assert said.endswith("packages are the same when built twice\n")


def test_the_rpm_has_the_same_files():
    said = script("test-rpm", needs=["dpkg-buildpackage", "dh", "rpmbuild", "rpm2archive"])
    assert said.endswith("installed in no Fedora\n")


@pytest.mark.parametrize("suite", SUITES)
def test_the_service_in_a_system_that_has_booted(suite):
    said = script("test-service", suite, needs=["debootstrap", "mkfs.ext4", "qemu-system-x86_64"])
    assert said.endswith("service-check: passed\n")


@pytest.mark.parametrize("suite", SUITES[1:])
def test_it_passes_in_another_release(suite):
    script("test-release", suite, needs=["debootstrap"])


def test_the_container_is_built_and_run():
    said = script("test-container", needs=["debootstrap", "buildah", "podman", "curl"])
    assert said.endswith("built and run\n")
