# SPDX-License-Identifier: Apache-2.0
"""Configurations that are saved: what runs, each change (--save-config), and the last one
that worked (--last-good)."""

import contextlib
import os
import signal
import stat

import pytest

from helpers.command import PERIGEE, run, running, wait_until

NAME = f"saved-{os.getpid()}"
MTU = "/softwire-config/internal-interface/mtu"
TABLE = "/softwire-config/binding-table/softwire"
CONF = """softwire-config {
  binding-table {
    softwire { ipv4 192.0.2.1; psid 1; b4-ipv6 2001:db8::1; br-address fc00::200;
      port-set { psid-length 6; } }
  }
  instance { device ring:a; external-device ring:b; queue { id 0;
    external-interface { ip 10.0.1.1; mac 02:aa:aa:aa:aa:01;
      next-hop { mac 02:99:99:99:99:04; } }
    internal-interface { ip fc00::100; mac 02:aa:aa:aa:aa:02;
      next-hop { mac 02:99:99:99:99:06; } } } }
}
"""
SOFTWIRE = ("{ ipv4 192.0.2.1; psid 2; b4-ipv6 2001:db8::2; br-address fc00::200; "
            "port-set { psid-length 6; } }")


class Place:
    """A folder for the files of a test, and shared memory of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "shm")}
        self.conf, self.saved = folder / "a.conf", folder / "saved.conf"
        self.good = folder / "good"
        self.conf.write_text(CONF)

    def perigee(self, *words, **kwargs):
        return run(PERIGEE, *words, env=self.environment, **kwargs)

    def config(self, command, *words, **kwargs):
        return self.perigee("config", command, NAME, *words, **kwargs)

    def done(self, *words):
        result = self.config(*words)
        assert (result.returncode, result.stderr) == (0, "")

    def get(self, path):
        return self.config("get", path).stdout

    @contextlib.contextmanager
    def lwaftr(self, *options):
        command = PERIGEE, "lwaftr", "run", "-c", self.conf, "-n", NAME, *options
        with running(*command, env=self.environment) as process:
            wait_until(lambda: process.read() and self.config("get", MTU).returncode == 0,
                       lambda: f"the lwAFTR: {process.said}")
            yield process

    def is_last_good(self):
        return "runs the last good configuration: " in self.perigee("ps").stdout


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def change(place):
    place.done("set", MTU, "1400")
    place.done("add", TABLE, SOFTWIRE)
    place.done("set", TABLE + "[ipv4=192.0.2.1][psid=2]/b4-ipv6", "2001:db8::22")
    place.done("remove", TABLE + "[ipv4=192.0.2.1][psid=1]")


def is_changed(place):
    return (place.get(MTU), place.get(TABLE).count("psid"),
            place.get(TABLE + "[ipv4=192.0.2.1][psid=2]/b4-ipv6")) == (
                "1400\n", 2, "2001:db8::22\n")


def test_saves_what_an_lwaftr_runs_and_it_is_started_with_that(place):
    with place.lwaftr():
        change(place)
        before = place.get("/")
        place.conf.chmod(0o640)
        link = place.folder / "link.conf"
        link.symlink_to(place.conf)
        place.done("save", link)
        assert link.is_symlink()
        assert stat.S_IMODE(place.conf.stat().st_mode) == 0o640
        assert place.conf.read_text() == before == place.config("save", "-").stdout
        for file, said in [("/dev/full", "No space left on device"),
                           (place.folder, "Is a directory"),
                           (place.folder / "no" / "file", "No such file or directory")]:
            result = place.config("save", file)
            assert result.returncode == 1 and said in result.stderr, result
            assert result.stderr.count("\n") == 1
    with place.lwaftr():
        assert is_changed(place) and place.get("/") == before


def test_changes_are_there_after_kill_9(place):
    options = "--save-config", place.saved
    with place.lwaftr(*options) as process:
        assert not place.saved.exists()
        change(place)
        process.send(signal.SIGKILL)
        process.finish()
    (place.folder / "saved.conf.new").write_text("of one that was killed")
    with place.lwaftr(*options) as process:
        process.wait_for(f"--save-config: {place.saved} is started, not {place.conf}")
        assert is_changed(place)
        place.conf.write_text(CONF.replace("psid 1", "psid 7"))
        place.done("load", place.conf)
    assert sorted(path.name for path in place.folder.iterdir()) == [
        "a.conf", "saved.conf", "shm"]
    with place.lwaftr(*options):
        assert "psid 7" in place.get(TABLE)


def test_the_configuration_itself_can_be_the_saved_one(place):
    with place.lwaftr("--save-config", place.conf) as process:
        process.read()
        assert "--save-config" not in process.said
        change(place)
    with place.lwaftr("--save-config", place.conf):
        assert is_changed(place)


def test_a_change_that_cannot_be_saved_is_told(place):
    with place.lwaftr("--save-config", "/dev/full"):
        result = place.config("set", MTU, "1400")
        assert (result.returncode, result.stderr) == (
            1, "perigee: this is changed, but isn't saved: can't write /dev/full: No space "
            "left on device\n")
        assert place.get(MTU) == "1400\n"


def test_options_that_cannot_be_are_refused(place):
    for option, file, said in [
            ("--save-config", place.folder / "no" / "file", "can't be written: give a file"),
            ("--last-good", place.conf, "give a folder that you may write to"),
            ("--last-good", place.folder / "no" / "folder", "give a folder")]:
        result = place.perigee("lwaftr", "run", "-c", place.conf, option, file, "-D", "1")
        assert result.returncode == 2 and said in result.stderr, result


def test_the_last_good_configuration_is_started_when_the_newest_is_wrong(place):
    remembered = place.good / "lwaftr.conf"
    with place.lwaftr("--last-good", place.good):
        place.done("set", MTU, "1400")
        wait_until(lambda: remembered.exists() and "mtu 1400" in remembered.read_text(),
                   "what is remembered")
        assert stat.S_IMODE(remembered.stat().st_mode) == 0o600
        assert not place.is_last_good()
    place.conf.write_text(CONF.replace("psid 1", "psid x"))
    with place.lwaftr("--last-good", place.good) as process:
        process.wait_for(f"{place.conf}:3: psid is a whole number from 0 to 65535, not 'x'; "
                         "the last configuration that worked is started, of ")
        assert place.get(MTU) == "1400\n" and place.is_last_good()
        alarm = "[resource=configuration][alarm-type-id=last-good-configuration]" \
            "[alarm-type-qualifier=]"
        cleared = f"/alarms/alarm-list/alarm{alarm}/is-cleared"

        def is_cleared():
            return place.perigee("alarms", "get-state", NAME, cleared).stdout
        wait_until(lambda: is_cleared() == "false\n", "the alarm")
        assert 'last_good_configuration{process="%s"} 1' % NAME in place.perigee(
            "metrics").stdout
        assert place.config("load", place.conf).returncode == 1
        place.done("set", MTU, "1300")  # it is no newer configuration
        assert place.is_last_good()
        place.conf.write_text(CONF)
        place.done("load", place.conf)
        assert not place.is_last_good()
        wait_until(lambda: is_cleared() == "true\n", "the alarm's end")


def test_without_a_good_one_the_wrong_configuration_is_refused(place):
    place.conf.write_text(CONF.replace("psid 1", "psid x"))
    place.good.mkdir()
    command = "lwaftr", "run", "-c", place.conf, "--last-good", place.good
    wrong = f"perigee: {place.conf}:3: psid is a whole number from 0 to 65535, not 'x'\n"
    result = place.perigee(*command)
    assert (result.returncode, result.stderr) == (2, wrong)
    remembered = place.good / "lwaftr.conf"
    remembered.write_text("softwire-config {")
    result = place.perigee(*command)
    assert result.returncode == 2 and result.stderr.endswith(wrong)
    assert f"nor does {remembered} start: {remembered}:1: " in result.stderr


def test_what_was_refused_is_put_aside_when_what_runs_instead_is_saved(place):
    place.good.mkdir()
    (place.good / "lwaftr.conf").write_text(CONF)
    place.saved.write_text("wrong")
    options = "--last-good", place.good, "--save-config", place.saved
    with place.lwaftr(*options):
        assert place.is_last_good()
        place.done("set", MTU, "1400")
        assert not place.is_last_good()
        assert (place.folder / "saved.conf.refused").read_text() == "wrong"
    with place.lwaftr(*options):
        assert place.get(MTU) == "1400\n" and not place.is_last_good()


GRAPH = "name: %s\nports: {a: 'ring:a', b: 'ring:b'}\nlinks: [a -> b]\n" % NAME


def test_a_graph_file_is_saved_as_it_runs_not_as_it_has_become(place):
    file = place.folder / "graph.yaml"
    file.write_text(GRAPH)
    with running(PERIGEE, "run", file, env=place.environment) as process:
        process.wait_for_engine()
        wait_until(lambda: place.config("save", "-").stdout == GRAPH, "the graph")
        file.write_text(GRAPH + "x: 1\n")
        process.send(signal.SIGHUP)
        process.wait_for("the graph stays as it was")
        assert place.config("save", "-").stdout == GRAPH
        new = GRAPH + "# another\n"
        file.write_text(new)
        process.send(signal.SIGHUP)
        process.wait_for("read again")
        place.done("save", place.folder / "saved.yaml")
        assert (place.folder / "saved.yaml").read_text() == new
        result = place.config("get", "/")
        assert result.returncode == 1 and "can't be configured" in result.stderr


@pytest.mark.parametrize("wrong, said", [
    (GRAPH + "x: 1\n", "graph.yaml:4: a graph has no key 'x'"),
    (GRAPH.replace("ring:b", "packet:no-such"), "no-such")], ids=["key", "interface"])
def test_the_last_good_graph_is_started_when_the_newest_is_wrong(place, wrong, said):
    file, remembered = place.folder / "graph.yaml", place.good / "graph.yaml"
    command = PERIGEE, "run", file, "--last-good", place.good
    (place.folder / "port").write_text("ring:a\n")  # $file is still found beside the file
    good = GRAPH.replace("'ring:a'", "{$file: port}")
    file.write_text(good)
    with running(*command, env=place.environment) as process:
        wait_until(lambda: process.read() and remembered.exists(), "what is remembered")
        assert remembered.read_text() == good
        process.send(signal.SIGKILL)
        process.finish()
    file.write_text(wrong)
    with running(*command, env=place.environment) as process:
        process.wait_for("; the last configuration that worked is started, of ")
        assert said in process.said
        process.wait_for_engine()
        wait_until(place.is_last_good, "perigee ps")
        process.send(signal.SIGHUP)
        process.wait_for("the graph stays as it was")
        assert place.is_last_good()
        file.write_text(GRAPH)
        process.send(signal.SIGHUP)
        process.wait_for("the newest configuration runs again")
        wait_until(lambda: not place.is_last_good(), "perigee ps")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_an_ordinary_user_is_refused_in_a_sentence(place, readable):
    result = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", readable,
                 "lwaftr", "run", "-c", place.conf, "--save-config", "/etc/saved.conf",
                 env={**place.environment, "SNABB_SHM_ROOT": "/tmp/none"}, cwd="/")
    assert result.returncode == 2, result
    assert "'/etc/saved.conf' can't be written: give a file in a folder" in result.stderr
