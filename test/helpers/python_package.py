# SPDX-License-Identifier: Apache-2.0
"""The package of contrib/python, installed in an environment of its own."""

import os
import shutil
import subprocess
import sys
import tempfile

from helpers.command import PERIGEE, ROOT, run

PACKAGE = ROOT / "contrib" / "python"


def new_environment(folder):
    """Make an environment with the wheel, and nothing of the system's; its Python."""
    shutil.copytree(PACKAGE, folder / "source")
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    result = run(sys.executable, "-c", build, folder, cwd=folder / "source")
    assert result.returncode == 0, result.stderr
    [wheel] = folder.glob("*.whl")
    result = run(sys.executable, "-m", "venv", folder / "env")
    assert result.returncode == 0, result.stderr + result.stdout
    python = folder / "env" / "bin" / "python"
    result = run(python, "-m", "pip", "install", "--no-index", "--quiet", wheel)
    assert result.returncode == 0, result.stderr
    return python


def execute(python, source, *arguments, timeout=300):
    """Run the source with the environment's Python and this tree's perigee."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([python, "-c", source, *map(str, arguments)], text=True,
                              capture_output=True, timeout=timeout, check=False, cwd=folder,
                              env={**os.environ, "PERIGEE": str(PERIGEE),
                                   "FOLDER": folder})
