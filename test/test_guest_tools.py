# SPDX-License-Identifier: Apache-2.0
"""What starts virtual machines (helpers/guest.py, tools/guest), without one: a program
stands for QEMU."""

import os
import pathlib
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from helpers import guest, guest_image
from helpers.command import ROOT, run, wait_until

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("program, timeout, sentence", [
    ("echo wrong", 60, "the guest has ended: wrong"),
    ("exec sleep 600", 0, "the guest says no")])
def test_a_guest_that_fails_leaves_nothing(tmp_path, monkeypatch, program, timeout, sentence):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(guest, "BOOT_TIMEOUT_S", timeout)
    monkeypatch.setattr(guest, "command_line",
                        lambda folder, **_: ["sh", "-c", program])
    with pytest.raises(AssertionError, match=sentence):
        guest.Guest(tmp_path)
    assert started[0].returncode is not None
    assert list(tmp_path.iterdir()) == []


def test_make_guest_ends_as_qemu_does(tmp_path, monkeypatch):
    shell = runpy.run_path(str(ROOT / "tools" / "guest" / "shell"))
    monkeypatch.setattr(guest_image, "BUILD", tmp_path)
    monkeypatch.setattr(guest_image, "missing", lambda: None)
    monkeypatch.setattr(guest_image, "prepare", lambda: None)
    monkeypatch.setattr(guest, "command_line", lambda *_, **__: ["sh", "-c", "exit 3"])
    with pytest.raises(SystemExit) as end:
        shell["main"]()
    assert end.value.code == 3


@pytest.mark.parametrize("only_shell", [False, True], ids=["all", "shell"])
def test_ctrl_c_while_the_kernel_is_fetched(tmp_path, only_shell):
    """All get the signal, or, as when it comes before the shell has forked, only that."""
    tools, tree = tmp_path / "bin", tmp_path / "tree"
    tools.mkdir()
    for name, text in (("apt-cache", "echo ' Depends: linux-image-1'"),
                       ("apt-get", f"echo $$ > {tmp_path}/begun; exec sleep 600"),
                       ("dpkg-deb", "exit 1")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    (tree / "tools" / "guest").mkdir(parents=True)
    script = shutil.copy(ROOT / "tools" / "guest" / "kernel", tree / "tools" / "guest")
    begun = tmp_path / "begun"
    with subprocess.Popen(["sh", script], start_new_session=True,
                          env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}) as fetch:
        try:
            pid = int(wait_until(lambda: begun.exists() and begun.read_text(), "apt-get"))
            (os.kill if only_shell else os.killpg)(fetch.pid, signal.SIGINT)
            assert fetch.wait(60) == 130
            wait_until(lambda: ended(pid), "the end of apt-get")
        finally:
            if fetch.poll() is None:
                os.killpg(fetch.pid, signal.SIGKILL)
    assert list(tree.glob("build/guest/*")) == []


def ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("arguments", [[], ["--quick"]])
def test_the_model_of_a_guest_goes_to_a_folder(arguments):
    result = run(ROOT / "tools" / "guest" / "model", *arguments)
    assert result.returncode == 1
    assert result.stderr == (f"tools/guest/model: '{' '.join(arguments)}': name a folder for "
                             "the results, then options of `perigee model`\n")


def test_the_model_of_a_guest_has_a_folder_that_can_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    model = runpy.run_path(str(ROOT / "tools" / "guest" / "model"))
    monkeypatch.setattr(guest_image, "missing", lambda: None)
    monkeypatch.setattr(guest_image, "prepare", lambda: None)
    monkeypatch.setattr(sys, "argv", ["model", str(tmp_path / "file" / "out")])
    monkeypatch.delenv("NETMAP", raising=False)
    with pytest.raises(SystemExit, match="file/out' can't be made: Not a directory"):
        model["main"]()
