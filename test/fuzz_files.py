#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test/fuzz_files.py [all|COUNT [SEED [FORMAT...]]]: files of all formats that Perigee
reads (helpers/file_formats.py), cut off at each byte, and with a bit changed at each: COUNT
of these of each format (20), by SEED. Each is read, or refused by one sentence. The exit
status is 1 if one isn't."""

import concurrent.futures
import dataclasses
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, catches, limit_memory
from helpers.file_formats import DUMP_FILES, SCRIPTS, formats

CPU_S, WALL_S, MOST_BYTES, MOST_FAULTS = 5, 120, 6 << 30, 5
SHORT = 200  # bytes of a file of which all bits are changed
RAW = re.compile(
    r"runtime error|Sanitizer|traceback|attempt to |bad argument|cannot convert"
    r"|has no member named|cannot be indexed|expected, got|stack overflow"
    r"|not enough memory|malformed pattern|\.lua:\d+:|assertion failed|PANIC")
OF_LUA = re.compile(r"runtime error|Sanitizer|stack overflow|not enough memory|PANIC")


def prepare(folder):
    """What commands need besides the file."""
    save(folder / "IN", [bytes(60)])
    (folder / "bad.yaml").write_text("x")
    (folder / "COUNTERS").write_text("return {}")
    (folder / "CONF").write_bytes((ROOT / "examples/lwaftr/one.conf").read_bytes())
    for name in "made", "d", "good":
        (folder / name).mkdir(mode=0o700)
    for name, content in DUMP_FILES.items():
        (folder / name).write_bytes(content)
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    limit_memory(MOST_BYTES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end(process):
    """Wait for its end, or interrupt it where the changed file lets its engine run on:
    what it wrote, or None."""
    ends, interrupted = time.monotonic() + WALL_S, False
    while time.monotonic() < ends:
        try:
            return process.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            if not interrupted and catches(process.pid):
                process.send_signal(signal.SIGINT)
                interrupted = True
    process.kill()
    process.communicate()
    return None


@dataclasses.dataclass
class Answer:
    status: int
    said: str
    why: bytes  # its standard error


def answer(how, content):
    """What the command answers to a file of that content; None: it doesn't end."""
    with tempfile.TemporaryDirectory(prefix="perigee-files-") as name:
        folder = pathlib.Path(name)
        prepare(folder)
        (folder / how.name).write_bytes(content)
        words = [word.replace("@", how.name) for word in how.words]
        environment = {**os.environ, "SNABB_SHM_ROOT": name + "/shm", "TERM": "dumb"}
        with subprocess.Popen([PERIGEE, *words], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=limit) as process:
            outcome = end(process)
    if outcome is None:
        return None
    return Answer(process.returncode, (outcome[0] + outcome[1]).decode(errors="replace"),
                  outcome[1])


def fault(how, content):
    """What is wrong with how the command answers a file of that content, or None."""
    found = answer(how, content)
    if found is None:
        return "it doesn't end, not even by SIGINT"
    if found.status == 128 + signal.SIGINT and "ended by SIGINT" in found.said:
        return None
    if found.status not in (0, 1, 2):
        return f"exit status {found.status}: {found.said[-800:]}"
    if (OF_LUA if how.code else RAW).search(found.said):
        return f"no sentence: {found.said[-800:]}"
    if found.status and not found.why:
        return f"exit status {found.status}, and not why: {found.said[-800:]}"
    return None


def changes(content, rng):
    """(What was changed, the content): each cut, and of each byte all bits where there are
    few, else one."""
    for size in range(len(content)):
        yield f"cut to {size} bytes", content[:size]
    for at in range(len(content)):
        for bit in range(8) if len(content) <= SHORT else [rng.randrange(8)]:
            changed = bytearray(content)
            changed[at] ^= 1 << bit
            yield f"bit {bit} of byte {at}", bytes(changed)


def chosen(how, count, rng):
    every = list(changes(how.content, rng))
    if count is not None and count < len(every):
        every = rng.sample(every, count)
    return [("as it is", how.content), *every]


def fuzz(names, count, seed, say=print):
    """Try so many changes (None: all) of these formats. (How many were tried, faults)."""
    known, tried, faults = formats(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)) * 2) as pool:
        for name in names:
            how = known[name]
            files = chosen(how, count, random.Random(f"{seed} {name}"))
            found = list(pool.map(lambda file: fault(how, file[1]), files))
            problems = [(what, f) for (what, _), f in zip(files, found) if f]
            for what, problem in problems[:MOST_FAULTS]:
                say(f"{name}, seed {seed}, {what}: {problem}", flush=True)
            tried, faults = tried + len(files), faults + len(problems)
    return tried, faults


def main(count="20", seed=None, *names):
    seed = int(seed) if seed is not None else random.randrange(2**31)
    print(f"seed {seed}", flush=True)
    tried, faults = fuzz(names or list(formats()), None if count == "all" else int(count),
                         seed)
    print(f"{tried} files read, {faults} answered badly")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
