# SPDX-License-Identifier: Apache-2.0
"""What starts virtual machines (helpers/guest.py, tools/guest), without one: a program
stands for QEMU."""

import runpy
import subprocess
import tempfile

import pytest

from helpers import guest, guest_image
from helpers.command import ROOT

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
