# SPDX-License-Identifier: Apache-2.0
"""The engine on several CPUs, built with sanitizers."""

import os
import shutil
import subprocess

from helpers.command import ROOT

SCRIPT = ROOT / "test" / "many_cores.lua"
OPTIONS = ["-p", ROOT / "test/lua", "--eal", "--no-huge"]
SANITIZED_S = 1200  # the build takes 85 s of CPU, of which a busy machine gives a fifth


def test_sanitizers_find_nothing(tmp_path):
    """GCC's for threads, and for undefined behaviour such as reads that aren't aligned.
    LuaJIT isn't built for them: what it calls by itself (memcpy) is left out. So is
    closedir(): they don't see opendir() take a descriptor that another thread has closed,
    and hold it for that thread's still. And histograms: what LuaJIT's compiled code maps
    they see, but not what its interpreter maps later, in another thread, at the same
    place."""
    for name in "Makefile", "src", "snabb":
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "test" / "lua", tmp_path / "test" / "lua")
    built = subprocess.run(
        ["make", "-s", f"-j{len(os.sched_getaffinity(0))}", "-C", tmp_path,
         "SANITIZE=thread,undefined", "CFLAGS=-O1 -g", "perigee"],
        capture_output=True, text=True, timeout=SANITIZED_S)
    assert built.returncode == 0, built.stdout + built.stderr
    left_out = tmp_path / "left_out"
    left_out.write_text("called_from_lib:libluajit-5.1.so.2\nmutex:libgcc_s.so\n"
                        "race:closedir\nrace:pg_histogram_add\n")
    for words in (
            [*OPTIONS, "run", SCRIPT, "two", "1000000", "1000", "yes"],
            [*OPTIONS, "run", SCRIPT, "copies", "1000000", "1000", "yes"],
            ["test", "src/lib/stack/offload_spec.lua"]):
        result = subprocess.run(
            [tmp_path / "perigee", *words], capture_output=True, text=True,
            timeout=SANITIZED_S, cwd=tmp_path,
            env={**os.environ, "TSAN_OPTIONS": f"suppressions={left_out} exitcode=66"})
        assert result.returncode == 0, result.stdout + result.stderr
        for finding in "WARNING", "runtime error":
            assert finding not in result.stdout + result.stderr
