# SPDX-License-Identifier: Apache-2.0
"""tools/clickconf; and, where the environment variable FASTCLICK names a checkout of
FastClick or Click, all its configurations are read."""

import os

import pytest

from helpers.command import ROOT, run

FILES = {
    "conf/runs.click": 'FromDevice(eth7) -> c :: Counter -> ToDPDKDevice("3")\n',
    "conf/a/ends.click": "InfiniteSource(LIMIT 1, STOP true) -> Discard\n",
    "conf/a/missing.click": "Idle -> Nonesuch -> Discard\n",
    "conf/a/broken.click": "Idle -> ;\n",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_it_says_what_runs(checkout):
    folder = checkout / "conf"
    result = run(ROOT / "tools/clickconf", folder, "--seconds", 0.2, "--at-least", 2)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert f"runs       {folder / 'runs.click'}" in lines
    assert f"runs       {folder / 'a/ends.click'}" in lines
    assert "             line 1: undeclared element 'Nonesuch'" in lines
    assert "             line 1: syntax error near ';'" in lines
    assert lines[-2:] == ["missing: Nonesuch (1)",
                          "2 of 4 run, 1 don't run, 1 can't be read"]
    result = run(ROOT / "tools/clickconf", folder, "--flatten", "--at-least", 4)
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1].startswith("3 of 4 can be read")


def test_links_in_circles_and_folders_are_no_configurations(checkout):
    folder = checkout / "conf"
    (folder / "a/up").symlink_to("..")
    (folder / "a/folder.click").mkdir()
    (folder / "a/top.click").symlink_to("..")
    result = run(ROOT / "tools/clickconf", folder, "--flatten", "--at-least", 4)
    assert result.stdout.splitlines()[-1].startswith("3 of 4 can be read")


def test_interfaces_as_mininet_calls_them_are_there(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("makes interfaces, as root")
    (tmp_path / "host.click").write_text(
        "FromDevice(nat-eth1) -> ARPResponder(10.0.0.1 nat-eth1)\n"
        "  -> Queue -> ToDevice(nat-eth1);\n"
        "Idle -> ARPResponder(10.0.1.1 nat-eth2) -> Discard;\n")
    result = run(ROOT / "tools/clickconf", tmp_path, "--seconds", 0.2)
    assert result.stdout.splitlines()[-1].startswith("1 of 1 run"), result.stdout


RUNNING = 60  # of FastClick's, at least
UNREADABLE = 2  # of FastClick's: one is to be preprocessed, one has an error


def test_configurations_of_a_checkout_are_read():
    where = os.environ.get("FASTCLICK")
    if not where:
        pytest.skip("FASTCLICK names no checkout of FastClick or Click")
    result = run(ROOT / "tools/clickconf", "--flatten", f"{where}/conf", timeout=600)
    count = int(result.stdout.splitlines()[-1].split(", ")[2].split()[0])
    assert count <= UNREADABLE, result.stdout


def test_configurations_of_fastclick_run():
    where = os.environ.get("FASTCLICK")
    if not where or not os.path.exists(f"{where}/test/clicktest"):
        pytest.skip("FASTCLICK names no checkout of FastClick")
    if os.geteuid() != 0:
        pytest.skip("not root: some ask for an interface in a namespace of their own")
    result = run(ROOT / "tools/clickconf", f"{where}/conf", "--known", "--at-least",
                 RUNNING, "--seconds", 0.3, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
