# SPDX-License-Identifier: Apache-2.0
"""What tests of --sandbox share."""

import contextlib
import os
import pathlib
import shutil
import tempfile


@contextlib.contextmanager
def folder_for_all():
    """A folder below /tmp that all users may write to, with a file `secret`."""
    path = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    os.chmod(path, 0o755)
    for name in "named", "ports", "run", "script":
        (path / name).mkdir()
        os.chmod(path / name, 0o777)
    (path / "secret").write_text("nobody's")
    os.chmod(path / "secret", 0o666)
    os.chmod(path, 0o777)
    yield path
    shutil.rmtree(path)


def environment(folder):
    return {**os.environ, "XDG_RUNTIME_DIR": str(folder / "run"),
            "SNABB_SHM_ROOT": str(folder / "run" / "shm")}


def is_entered(process):
    """Has it entered its sandbox?"""
    return "Seccomp:\t2" in pathlib.Path(f"/proc/{process.pid}/status").read_text()
