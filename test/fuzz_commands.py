#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/fuzz_commands.py COUNT|SECONDSs [SEED [FIRST]]: runs so many random command lines
(or for so long, such as 60s), numbers FIRST (1) on of SEED (else a new one), in a folder
and, as root, a network namespace of their own. Each has to end by itself, or soon after
SIGINT, with the exit status 0, 1 or 2, and without a traceback. The exit status is 1 if
one doesn't. `fuzz_commands.py 1 SEED NUMBER` runs a single one again."""

import json
import os
import pathlib
import random
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from helpers import command_lines
from helpers.capture import save
from helpers.command import PERIGEE, catches, limit_memory, tool

ENDS_S, PATIENCE_S = 3, 60  # by itself; and in any case, on a busy machine
MOST_FAULTS = 5
MOST_BYTES = 6 << 30  # of private memory: no line may take the machine's

MODEL = {"core_per_tsc": 1, "tsc_hz": 2e9, "ports": [
    {"name": "null", "cells": [{"burst": 32, "size": 60, "io": 12.5}],
     "model": {"per_packet": 10, "per_burst": 100, "per_byte": 0.1, "error": 0.01}}]}
CONFIG = """return {inner = "null", outer = "null", address = "192.0.2.1/24",
  vnis = {[42] = 0}, remotes = {"192.0.2.2"}, duration = 0.02}"""


def prepare(folder):
    save(folder / "in.pcap", [bytes(60 + n) for n in range(20)])
    (folder / "script.lua").write_text("print(...)")
    (folder / "vtep.conf").write_text(CONFIG)
    (folder / "model.json").write_text(json.dumps(MODEL))
    (folder / "shm").mkdir()


def limit():
    limit_memory(MOST_BYTES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end(process):
    """Wait for its end, or interrupt it when its engine runs; what it said, or None: it
    doesn't end."""
    interrupted, ends = False, time.monotonic() + PATIENCE_S
    while time.monotonic() < ends:
        try:
            return process.communicate(timeout=ENDS_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            if not interrupted and catches(process.pid):
                process.send_signal(signal.SIGINT)
                interrupted, ends = True, time.monotonic() + PATIENCE_S
    process.kill()
    process.communicate()
    return None


# What the sentence has that says why it failed: an error's, or the doctor's verdict.
SENTENCES = "perigee", "the packet path clean", "The packet path is not clean"


def run(words, folder):
    """What is wrong with how that ends, or None."""
    alone = [tool("unshare"), "--net"] if os.geteuid() == 0 else []
    environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm"), "TERM": "dumb"}
    with subprocess.Popen([*alone, str(PERIGEE), *words], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, preexec_fn=limit) as process:
        said = end(process)
    if said is None:
        return "doesn't end, not even by SIGINT"
    if process.returncode == 128 + signal.SIGINT and "ended by SIGINT" in said:
        return None  # it had nothing to report
    if process.returncode not in (0, 1, 2):
        return f"exit status {process.returncode}: {said[-2000:]}"
    for words in "traceback", "runtime error:", "Sanitizer":
        if words in said:
            return f"{words}: {said[-2000:]}"
    if process.returncode and not any(word in said for word in SENTENCES):
        return f"exit status {process.returncode}, and no sentence: {said[-2000:]}"
    return None


def fuzz(seed, first=1, count=None, seconds=None, say=print):
    """Run `count` lines, or for so many seconds. (How many were run, faults)."""
    faults, number, began = 0, first, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="perigee-fuzz-") as name:
        folder = pathlib.Path(name)
        prepare(folder)
        while (number < first + count if count else
               time.monotonic() < began + seconds) and faults < MOST_FAULTS:
            words = command_lines.make(seed, number)
            problem = run(words, folder)
            if problem:
                faults += 1
                say(f"line {number} of seed {seed}: perigee {shlex.join(words)}\n"
                    f"  {problem}", flush=True)
            number += 1
    return number - first, faults


def main(amount, seed=None, first=1):
    seed = int(seed) if seed is not None else random.randrange(2**31)
    print(f"seed {seed}, from line {first} on", flush=True)
    limits = {"seconds": float(amount[:-1])} if amount.endswith("s") else \
        {"count": int(amount)}
    done, faults = fuzz(seed, int(first), **limits)
    print(f"{done} command lines run, {faults} answered badly")
    return 1 if faults else 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
