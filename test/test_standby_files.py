# SPDX-License-Identifier: Apache-2.0
"""A standby has read the configuration's file long before it takes over: what is there by
then counts, as for the process before it, which SIGHUP lets read it again."""

import json
import os
import re

import pytest

from helpers.command import PERIGEE, run, running, wait_until
from helpers.failover import kill
from helpers.lwaftr import B4, BR, WHOLE
from helpers.nfv import config, port
from helpers.network import veth
from test_keep import environment  # noqa: F401 (a fixture)

VTEP = {"inner": "null", "outer": "null", "address": "192.0.2.1/24",
        "remotes": [{"address": "192.0.2.2", "mac": "02:00:00:00:00:02"}]}
GRAPH = {"ports": {"in": "null", "out": "null"}, "links": ["in -> out"]}
MORE = {"class": "apps.basic.basic_apps.Tee"}

# A kind's words, its file before and after, and what a process says of the latter.
KINDS = {
    "graph": (["run", "FILE.json"], json.dumps(GRAPH),
              json.dumps({**GRAPH, "apps": {"tee": MORE}, "links": ["in -> tee -> out"]}),
              "read again: 1 app new"),
    "vtep": (["vtep", "--config", "FILE.json"], json.dumps({**VTEP, "vnis": {"42": 0}}),
             json.dumps({**VTEP, "vnis": {"43": 0}}), "VNI 43"),
    "nfv": (["nfv", "traffic", "-l", "0", "--server", "soft", "FILE.cfg", "%s.sock"],
            config(port("A")), config(port("A"), port("B")), "read again: 2 ports"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_standby_reads_a_file_again_that_has_changed(kind, environment,  # noqa: F811
                                                       tmp_path):
    words, before, after, said = KINDS[kind]
    name = next(word for word in words if word.startswith("FILE"))
    (tmp_path / name).write_text(before)

    def start():
        return running(PERIGEE, "--keep", "x", "--standby", *words, env=environment,
                       cwd=tmp_path)
    with start() as old:
        old.wait_for_engine()
        with start() as new:
            new.wait_for("stands by for process")
            (tmp_path / "new").write_text(after)
            os.rename(tmp_path / "new", tmp_path / name)
            kill(old)
            new.wait_for("took over in")
            new.wait_for(said)
            with start() as third:  # and one that hasn't changed isn't read again
                third.wait_for("stands by for process")
                kill(new)
                third.wait_for("took over in")
                assert third.interrupt() == 0
                assert third.said.count("read again") == 0, third.said


def test_a_standby_of_an_lwaftr_has_what_was_saved(namespace, environment,  # noqa: F811
                                                   tmp_path):
    host, peer = namespace("h"), namespace("p")
    for iface in "v4", "v6":
        veth(host, iface, peer, iface)
    conf, saved = tmp_path / "a.conf", tmp_path / "saved.conf"
    conf.write_text(WHOLE)

    def start():
        return running(*host.command(
            PERIGEE, "--keep", "x", "--standby", "lwaftr", "run", "-c", conf, "-n", "aftr",
            "--save-config", saved), env=environment)

    def perigee(*words):
        return run(PERIGEE, *words, env=environment)
    where = "/softwire-config/binding-table/softwire"

    def softwires():
        return re.findall(r"ipv4 ([\d.]+);", perigee("config", "get", "aftr", where).stdout)
    with start() as old:
        wait_until(softwires, lambda: old.read() and old.said)
        with start() as new:
            new.wait_for("stands by for process")
            added = perigee("config", "add", "aftr", where, "{ ipv4 192.0.2.9; psid 0; "
                            f"b4-ipv6 {B4}; br-address {BR}; "
                            "port-set { psid-length 0; } }")
            assert added.returncode == 0, added.stderr
            had = softwires()
            assert "192.0.2.9" in had
            kill(old)
            new.wait_for("took over in")
            new.wait_for("it is read again")
            wait_until(lambda: sorted(softwires()) == sorted(had), softwires)
            assert new.interrupt() == 0
