# SPDX-License-Identifier: Apache-2.0
"""Click's, vtep's and nfv's configurations: saved as they run, with each change, and the
last that worked is started when the newest can't be."""

import contextlib
import json
import os
import signal
import stat

import pytest

from helpers.click_control import ask, connect, write_data
from helpers.command import PERIGEE, run, running, wait_until

OLD = "Idle -> s :: Switch(0) -> Idle; s[1] -> Idle\n"
NEW = OLD.replace("Switch(0)", "Switch(1)")
BETTER = "; the last configuration that worked is started, of "
GOOD_AGAIN = "the newest configuration runs again, not the last good one"


class Place:
    """A folder for the files of a test, and shared memory of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm")}
        self.saved, self.good = folder / "saved", folder / "good"
        self.socket = folder / "socket"

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def perigee(self, *words):
        return run(PERIGEE, *words, env=self.environment)

    @contextlib.contextmanager
    def program(self, *words):
        with running(PERIGEE, *words, env=self.environment) as process:
            process.wait_for_engine()
            yield process

    @contextlib.contextmanager
    def click(self, *words):
        with self.program("click", "-R", "-u", self.socket, *words) as process:
            control = connect(self.socket)
            assert control.readline().startswith("Click::ControlSocket/1.")
            yield process, control

    def runs(self, process):
        """What `perigee config save` writes of it."""
        result = self.perigee("config", "save", str(process.pid), "-")
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout

    def is_last_good(self):
        return "runs the last good configuration: " in self.perigee("ps").stdout

    def is_remembered(self, name, text):
        path = self.good / name
        return path.exists() and text in path.read_text()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def hotconfig(control, text):
    answer = write_data(control, "hotconfig", text)
    assert answer[0].startswith("200"), answer


# Click ------------------------------------------------------------------------------

def test_what_hotconfig_changes_is_saved_and_there_after_kill_9(place):
    file = place.file("a.click", OLD)
    options = file, "--save-config", place.saved
    with place.click(*options) as (process, control):
        assert place.runs(process) == OLD
        assert not place.saved.exists()
        hotconfig(control, NEW)
        assert ask(control, "READ s.config") == "1"  # asked of the new one
        assert place.saved.read_text() == NEW == place.runs(process)
        # One that can't run is neither saved nor what runs.
        for wrong, answer in [("Switch\n", "520"), ("FromDevice(no-such) -> Discard", "")]:
            reply = ask(control, f"WRITE hotconfig {wrong}")
            assert reply[0].startswith(answer), reply
            assert ask(control, "READ s.config") == "1"
            assert place.saved.read_text() == NEW == place.runs(process)
        process.send(signal.SIGKILL)
        process.finish()
    place.socket.unlink()
    with place.click(*options) as (process, control):
        assert f"--save-config: {place.saved} is started, not {file}" in process.said
        assert ask(control, "READ s.config") == "1"
    with place.click("-e", OLD, "--save-config", place.saved) as (process, control):
        assert "is started, not what the command line says" in process.said
        assert ask(control, "READ s.config") == "1"


def test_what_cannot_be_saved_runs_and_is_told(place):
    with place.click("-e", OLD, "--save-config", "/dev/full") as (process, control):
        hotconfig(control, NEW)
        assert ask(control, "READ s.config") == "1"
        process.wait_for("--save-config: what runs is changed, but isn't saved: can't write "
                         "/dev/full: No space left on device")


def test_options_that_cannot_be_are_refused(place):
    for words, said in [
            (("--save-config", place.saved), "give -R, too"),
            (("-R", "--save-config", place.folder / "no" / "file"), "can't be written"),
            (("--last-good", place.folder / "no" / "folder"), "give a folder")]:
        result = place.perigee("click", *words, "-e", "Script(stop)")
        assert result.returncode in (1, 2) and said in result.stderr, result


WRONG_CLICK = [(OLD.replace("Switch(0)", "Swich(0)"), "unknown element class 'Swich'"),
               (OLD + "FromDevice(no-such) -> Discard;\n", "no-such")]


@pytest.mark.parametrize("wrong, said", WRONG_CLICK, ids=["class", "interface"])
def test_the_last_good_click_router_is_started_when_the_newest_is_wrong(place, wrong, said):
    file = place.file("a.click", OLD)
    options = file, "--last-good", place.good
    with place.click(*options) as (process, control):
        hotconfig(control, NEW)
        wait_until(lambda: place.is_remembered("router.click", "Switch(1)"), "the memory")
        assert stat.S_IMODE((place.good / "router.click").stat().st_mode) == 0o600
    file.write_text(wrong)
    with place.click(*options) as (process, control):
        said_so, = [line for line in process.said.splitlines() if BETTER in line]
        assert said in said_so
        assert ask(control, "READ s.config") == "1" and place.is_last_good()
        assert place.runs(process) == NEW
        hotconfig(control, OLD)
        process.wait_for(GOOD_AGAIN)
        assert not place.is_last_good()


def test_without_a_good_one_a_wrong_click_router_is_refused(place):
    file = place.file("a.click", "a :: Swich;\n")
    place.good.mkdir()
    result = place.perigee("click", file, "--last-good", place.good)
    assert result.returncode == 1
    assert result.stderr.startswith(f"perigee: {file}:1: unknown element class 'Swich'")


def test_the_last_good_of_click_runs_on_as_many_cpus(place):
    """Copies on CPUs are made once more after those that couldn't be."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one CPU")
    text = "FromDevice(a) -> Counter -> ToDevice(b);\n"
    file = place.file("a.click", text)
    command = ("click", file, "--last-good", place.good, "--cpus", "0,1", "--device",
               "a=null", "--device", "b=null")
    with place.program(*command) as process:
        wait_until(lambda: place.is_remembered("router.click", text), "the memory")
    file.write_text(text.replace("a)", "no-such)"))
    with place.program(*command) as process:
        assert BETTER in process.said
        assert place.runs(process) == text and place.is_last_good()
        assert len(json.loads(place.perigee("ps", "--json").stdout)) == 1


# vtep -------------------------------------------------------------------------------

VTEP = ("vtep", "--inner", "ring:a", "--outer", "ring:b", "--address", "192.0.2.1/24",
        "--mac", "02:00:00:00:00:01", "--vni", "1")


def test_what_a_vtep_runs_is_saved_as_it_reads_it(place):
    """With the command line's options, and one run of it is the same as another."""
    more = "--vlan", "10=43", "--remote", "192.0.2.3@02:00:00:00:00:07,43"
    file = place.file("v.json", '{"mtu": 9000, "remotes": ["192.0.2.2"], "ageing": 50}')
    with place.program(*VTEP, *more, "--config", file) as process:
        text = place.runs(process)
        wanted = {"inner": "ring:a", "outer": "ring:b", "address": "192.0.2.1/24",
                  "mac": "02:00:00:00:00:01", "vnis": {"1": 0, "43": 10}, "mtu": 9000,
                  "ageing": 50, "static": [], "remotes": [
                      "192.0.2.2", {"address": "192.0.2.3", "mac": "02:00:00:00:00:07",
                                    "vnis": [43]}]}
        assert json.loads(text) == wanted
        assert text.startswith('{\n  "address": "192.0.2.1/24",\n  "ageing": 50,\n')
        file.write_text('{"mtu": 8000}')
        process.send(signal.SIGHUP)
        process.wait_for("mtu can't change while it runs (from '9000' to '8000')")
        assert place.runs(process) == text
        file.write_text('{"mtu": 9000, "ageing": 60}')
        process.send(signal.SIGHUP)
        wait_until(lambda: '"ageing": 60' in place.runs(process) and "192.0.2.2" not in
                   place.runs(process), "the new one")
        saved = place.folder / "saved.json"
        result = place.perigee("config", "save", str(process.pid), saved)
        assert (result.returncode, result.stderr) == (0, "")
        text = saved.read_text()
    with place.program("vtep", "--config", saved) as process:
        assert place.runs(process) == text


@pytest.mark.parametrize("wrong, said", [
    ('{"mtu": "x"}', "mtu is a number"), ('{"inner": "packet:no-such"}', "no-such")],
    ids=["value", "interface"])
def test_the_last_good_vtep_is_started_when_the_newest_is_wrong(place, wrong, said):
    file = place.file("v.json", '{"inner": "ring:a", "ageing": 33}')
    command = [*VTEP[:1], *VTEP[3:], "--config", file, "--last-good", place.good]
    with place.program(*command):
        wait_until(lambda: place.is_remembered("vtep.json", '"ageing": 33'), "the memory")
    file.write_text(wrong)
    with place.program(*command) as process:
        assert said in process.said and BETTER in process.said
        assert json.loads(place.runs(process))["ageing"] == 33 and place.is_last_good()
        process.send(signal.SIGHUP)
        process.wait_for("; the configuration stays as it was")
        file.write_text('{"inner": "ring:a", "ageing": 34}')
        process.send(signal.SIGHUP)
        process.wait_for(GOOD_AGAIN)
        assert json.loads(place.runs(process))["ageing"] == 34 and not place.is_last_good()


# nfv --------------------------------------------------------------------------------

NFV = 'return {{port_id = "A", mac_address = "02:00:00:00:00:0a"}}\n'


def nfv(place, *options):
    return ("nfv", "traffic", *options, "--server", "soft", place.folder / "n.conf",
            place.folder / "%s.sock")


def test_what_nfv_runs_is_saved_not_what_its_file_has_become(place):
    file = place.file("n.conf", NFV)
    with place.program(*nfv(place)) as process:
        assert place.runs(process) == NFV
        file.write_text("return {{}}\n")
        process.wait_for("; the graph stays as it was")
        assert place.runs(process) == NFV
        file.write_text(NFV + "-- another\n")
        process.wait_for("read again")
        assert place.runs(process) == NFV + "-- another\n"


def test_the_last_good_nfv_is_started_when_the_newest_is_wrong(place):
    file = place.file("n.conf", NFV)
    command = nfv(place, "--last-good", place.good)
    with place.program(*command):
        wait_until(lambda: place.is_remembered("nfv.conf", NFV), "the memory")
    file.write_text("return {{}}\n")
    with place.program(*command) as process:
        process.wait_for(BETTER)
        assert "has no port_id" in process.said
        assert place.runs(process) == NFV and place.is_last_good()
        file.write_text(NFV + "-- another\n")
        process.wait_for(GOOD_AGAIN)
        assert not place.is_last_good()
