# SPDX-License-Identifier: Apache-2.0
"""bench/trend names the commit that made something slower, on a noisy machine, and seldom
one that didn't."""

import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest

from helpers.command import ROOT, run

sys.path.insert(0, str(ROOT / "bench"))

from history import changes, page, record  # noqa: E402


def measurement(dice, factor=1.0, least=20):
    """Ratios as a busy machine gives them: each process by 3 %, one in ten a fifth slower
    all its life, and each measurement by half a percent; as many as bench/trend takes."""
    hour, ratios = dice.gauss(0, 0.005), []
    while len(ratios) < least or changes.error(ratios) >= 0.007 and len(ratios) < 120:
        slow = 1.2 if dice.random() < 0.1 else 1
        ratios.append(1.15 * factor * slow * math.exp(hour + dice.gauss(0, 0.03)))
    return ratios


def test_the_same_commit_again_and_again():
    """At most one false alarm in 100 measurements."""
    dice = random.Random(1)
    alarms = sum(len(changes.find([measurement(dice) for _ in range(100)]))
                 for _ in range(10))
    assert alarms <= 10


@pytest.mark.parametrize("factor", [1.05, 1 / 1.05])
def test_five_percent_are_found_at_once(factor):
    """In the measurement of the commit itself, with 1 to 30 before it."""
    dice, found = random.Random(2), 0
    for trial in range(100):
        before = [measurement(dice) for _ in range(1 + trial % 30)]
        share = changes.differs(before, measurement(dice, factor))
        found += share is not None and (share > 0) == (factor > 1)
    assert found >= 90


def test_what_comes_after_a_change_is_compared_with_it():
    dice = random.Random(3)
    series = [measurement(dice, 1.0 if i < 10 else 1.1) for i in range(20)]
    assert [at for at, _ in changes.find(series)] == [10]


def test_few_processes_prove_nothing():
    assert changes.differs([[1.0] * 20], [2.0] * 4) is None
    assert changes.differs([[1.0] * 4], [2.0] * 20) is None
    assert changes.find([[1.0] * 20]) == [] and changes.find([]) == []


# A repository whose bench/run says what the file `factor` has, with noise.
BENCH_RUN = """#!/usr/bin/python3
import json, pathlib, random, sys
calls, name = pathlib.Path("calls"), sys.argv[1]
calls.write_text((calls.read_text() if calls.exists() else "") + "I")
factor = float(pathlib.Path("factor").read_text())
dice = random.Random("%s %s" % (factor, calls.read_text()))
n = int(sys.argv[sys.argv.index("--processes") + 1])
runs = [30 * factor * dice.gauss(1, 0.02) for _ in range(n)]
pathlib.Path("bench/out").mkdir(exist_ok=True)
pathlib.Path("bench/out/%s.json" % name).write_text(json.dumps({"name": name, "machine": {
    "cpu": "made up", "cpus": 2, "kernel": "6", "hugepages": True, "versions": ""},
    "rows": [{"name": "one app", "runs": runs, "reference_runs": [25.0] * n},
             {"name": "worst"}]}))
"""


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "tree"
    (folder / "bench").mkdir(parents=True)
    shutil.copytree(ROOT / "bench" / "history", folder / "bench" / "history")
    shutil.copy(ROOT / "bench" / "trend", folder / "bench" / "trend")
    (folder / "bench" / "run").write_text(BENCH_RUN)
    (folder / "bench" / "run").chmod(0o755)
    (folder / "Makefile").write_text("all:\n\t@true\n")
    git(folder, "init", "-q", "-b", "main")
    for number, factor in enumerate(("1", "1.001", "1.06", "1.06"), 1):
        (folder / "factor").write_text(factor)
        (folder / "number").write_text(str(number))
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"all: commit {number}")
    return folder


def git(folder, *words):
    done = run("git", "-C", folder, "-c", "user.name=someone", "-c", "user.email=s@localhost",
               *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def trend(repository, *words):
    return run(repository / "bench" / "trend", *words)


def test_commits_are_measured_once_and_shown(repository, tmp_path):
    file = tmp_path / "measured"
    done = trend(repository, "measure", "--benchmarks", "echo", file, "HEAD~3", "HEAD~3..HEAD")
    assert done.returncode == 0, done.stderr
    lines = file.read_text().splitlines()
    assert [json.loads(line)["subject"] for line in lines] == [
        f"all: commit {n}" for n in (1, 2, 3, 4)]
    assert all(changes.error(json.loads(line)["rows"]["one app"]) < 0.007 for line in lines)
    again = trend(repository, "measure", "--benchmarks", "echo", file, "HEAD~3..HEAD")
    assert again.returncode == 0 and again.stdout == ""
    assert file.read_text().splitlines() == lines
    assert git(repository, "worktree", "list").count("\n") == 1

    shown = trend(repository, "show", file, "--html", tmp_path / "page.html")
    assert shown.returncode == 0, shown.stderr
    assert "% slower since" in shown.stdout and "(all: commit 3)" in shown.stdout
    assert shown.stdout.count("\n") == 1
    html = (tmp_path / "page.html").read_text()
    assert "all: commit 3" in html and html.count("<img") == 1

    file.write_text("\n".join(lines[:3]) + "\n")
    assert trend(repository, "show", file).returncode == 1  # the last one is the slower


def test_a_run_that_was_killed_goes_on(repository, tmp_path):
    file = tmp_path / "measured"
    assert trend(repository, "measure", file, "--benchmarks", "echo").returncode == 0
    whole = file.read_text()
    file.write_text(whole + whole[:40])
    assert len(record.read(file)) == 1
    done = trend(repository, "measure", file, "--benchmarks", "echo,chain")
    assert done.returncode == 0, done.stderr
    assert [e["benchmark"] for e in record.read(file)] == ["echo", "chain"]
    assert file.read_text().startswith(whole)


def test_a_full_disk_keeps_what_there_is(tmp_path):
    file, entry = tmp_path / "measured", {
        "commit": "c", "subject": "s", "machine": "m", "benchmark": "b", "rows": {}}
    record.add(file, entry)
    before, limits = file.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(OSError):
            record.add(file, entry)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_bytes() == before


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_end_leaves_no_folder(repository, tmp_path, number, status):
    (repository / "bench" / "run").write_text("#!/bin/sh\ntouch begun\nsleep 60\n")
    git(repository, "commit", "-q", "-a", "-m", "all: wait")
    process = subprocess.Popen(
        [repository / "bench" / "trend", "measure", tmp_path / "measured"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    while not list(tmp_path.glob("perigee-trend-*/perigee/begun")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, number)
    assert process.wait(30) == status
    assert not list(tmp_path.glob("perigee-trend-*"))
    assert git(repository, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize("words, sentence", [
    (["show", "{folder}/nothing"], "has no measurements; bench/trend measure"),
    (["show", "{folder}/wrong"], "wrong, line 1, isn't a measurement: "),
    (["measure", "{folder}/new", "nowhere"], "nowhere^{{commit}}: "),
    (["measure", "{tree}/in_it"], "lies in the tree; the file belongs outside it"),
    (["measure", "{folder}/none/new", "--benchmarks", "echo"], "No such file or directory"),
    (["measure", "/dev/full"], "/dev/full isn't a file"),
    (["show", "{folder}"], "isn't a file"),
])
def test_refused(repository, tmp_path, words, sentence):
    (tmp_path / "wrong").write_text('{"commit": 1}\n')
    done = trend(repository, *(w.format(folder=tmp_path, tree=repository) for w in words))
    assert done.returncode == 2
    assert sentence.replace("{{", "{").replace("}}", "}") in done.stderr
    assert done.stderr.count("\n") == 1


def test_page_of_names_with_markup():
    entry = {"commit": "c" * 40, "subject": "<b>", "machine": "m&m", "benchmark": "b",
             "rows": {"<row>": [1.0, 1.1, 1.2, 1.1, 1.0]}}
    text = page.make(record.series([entry]))
    assert "&lt;row&gt;" in text and "<row>" not in text
