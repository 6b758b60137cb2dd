# SPDX-License-Identifier: Apache-2.0
"""Processes of several pid namespaces (containers) that share the folder of shared
memory: each has the number 1, and none takes the others for dead."""

import contextlib
import json
import os
import pathlib

import pytest

from helpers.command import PERIGEE, catches, perigee, run, running, tool, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0,
                                reason="makes pid namespaces: wants root")

GRAPH = """
engine.claim_name(%r)
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)
engine.Hz = 1000
engine.main{duration = 50, no_report = true}
"""


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


class Site:
    """A folder of shared memory, and what runs with it."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "shm"
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(self.root)}

    @contextlib.contextmanager
    def named(self, name, *options):
        """A graph in a pid namespace of its own; `init` is its number outside."""
        script = self.folder / f"{name}.lua"
        script.write_text(GRAPH % name)
        with running(tool("unshare"), "--pid", "--fork", "--kill-child", *options, PERIGEE,
                     "run", script, env=self.environment) as process:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            process.init = int(wait_until(children.read_text, "the namespace").split()[0])
            wait_until(lambda: process.read() and (self.root / "by-name" / name).exists(),
                       f"the name {name}")
            process.directory = (self.root / "by-name" / name).resolve()
            yield process

    def perigee(self, *words, inside=None):
        """In the namespaces of the process with the number `inside`, or in ours."""
        enter = [tool("nsenter"), f"--target={inside}", "--pid", "--mount",
                 "--root"] if inside else []
        return run(*enter, PERIGEE, *words, env=self.environment)


@pytest.mark.parametrize("options", [["--mount-proc"], []], ids=["own proc", "outer proc"])
def test_each_keeps_what_it_has(site, options):
    with site.named("one", *options) as one, site.named("two", *options) as two:
        assert one.directory.name == "1"
        assert two.directory.name.startswith("1-")
        for inside in None, one.init, two.init, None:  # each sweeps as it starts
            assert site.perigee("echo", "null", 1, "10ms", inside=inside).returncode == 0
        for process in one, two:
            breaths = process.directory / "engine" / "breaths.counter"
            before = breaths.read_bytes()
            wait_until(lambda: breaths.read_bytes() != before, "breaths, where all can see")
            assert (process.directory / "control.socket").is_socket()
        assert sorted(os.listdir(site.root / "by-name")) == ["one", "two"]


def test_others_are_told_apart(site):
    with site.named("one", "--mount-proc") as one, site.named("two", "--mount-proc") as two:
        outside = site.perigee("ps")
        assert outside.stdout == ("no instance of Perigee or Snabb is running\n2 more run in "
                                  "other pid namespaces (containers): look from there\n")
        assert json.loads(site.perigee("ps", "--json").stdout) == []
        for process, name in (one, "one"), (two, "two"):
            listed = json.loads(site.perigee("ps", "--json", inside=process.init).stdout)
            assert [(i["pid"], i["name"]) for i in listed] == [(1, name)]
            assert site.perigee("shm", name, inside=process.init).returncode == 0
        top = site.perigee("top", "--once", "one")
        assert top.returncode == 2
        assert top.stderr == ("perigee: 'one' runs in another pid namespace, such as a "
                              "container's: look into it from there\n")


def test_a_name_is_taken_across_namespaces(site):
    with site.named("one", "--mount-proc"):
        (site.folder / "again.lua").write_text(GRAPH % "one")
        result = site.perigee("run", site.folder / "again.lua")
        assert result.returncode == 2
        assert "the name 'one' is taken by process 1 of another pid namespace; choose " \
            "another" in result.stderr


def test_what_a_killed_one_left_is_removed(site):
    with site.named("one", "--mount-proc") as one, site.named("two", "--mount-proc") as two:
        os.kill(one.init, 9)
        one.finish()
        assert one.directory.exists()
        assert site.perigee("echo", "null", 1, "10ms").returncode == 0
        assert os.listdir(site.root / "by-name") == ["two"]
        assert not one.directory.exists()
        assert two.directory.exists()


def test_the_number_of_a_dead_one_is_taken_over(site):
    """As a container is restarted: its first process has the number 1 each time."""
    with site.named("one", "--mount-proc") as one:
        os.kill(one.init, 9)
        one.finish()
        (one.directory / "left").touch()
    with site.named("next", "--mount-proc") as following:
        assert following.directory.name == "1"
        assert not (following.directory / "left").exists()


@pytest.mark.parametrize("number", [15, 9], ids=["ended", "killed"])
def test_folders_of_dpdk_are_kept_apart(site, number):
    """An empty folder below /var/run/dpdk for each process, by number and namespace. That
    of a killed one is removed by the next that starts, in any namespace."""
    words = ["--eal", "--no-huge", "echo", "null", 1]
    with running(tool("unshare"), "--pid", "--fork", "--kill-child", "--mount-proc", PERIGEE,
                 *words, env=site.environment) as process:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        init = int(wait_until(children.read_text, "the namespace").split()[0])
        space = os.stat(f"/proc/{init}/ns/pid").st_ino
        folder = pathlib.Path(f"/var/run/dpdk/perigee-1-{space}")
        wait_until(folder.exists, "EAL's folder")
        assert perigee(*words, "10ms").returncode == 0
        assert folder.exists()
        wait_until(lambda: catches(init, 15), "the engine")  # the first ignores it else
        os.kill(init, number)
        process.finish()
    assert folder.exists() == (number == 9)
    assert perigee(*words, "10ms").returncode == 0
    assert not folder.exists()
