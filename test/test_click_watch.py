# SPDX-License-Identifier: Apache-2.0
"""Perigee's programs that look at graphs, on Click configurations: ps, top, plan, doctor.
Elements are apps by their own names."""

import json

from helpers.command import PERIGEE, perigee, running, wait_until

FILE = """
elementclass Side { $port | from :: FromDPDKDevice($port) -> c :: Counter -> output }
side :: Side("null:size=60") -> kinds :: Classifier(12/0800, -);
kinds[0] -> old :: Discard;
kinds[1] -> s :: Strip(14) -> Unstrip(14) -> to :: ToDPDKDevice("null");
"""


def top(pid):
    result = perigee("top", "--once", "--json", "-i", "300ms", pid)
    return json.loads(result.stdout)[0] if result.returncode == 0 else {}


def test_a_running_configuration_is_seen(tmp_path):
    file = tmp_path / "side.click"
    file.write_text(FILE)
    with running(PERIGEE, "click", "-u", tmp_path / "socket", file) as click:
        click.wait_for_engine()
        listed = {i["pid"]: i for i in json.loads(perigee("ps", "--json").stdout)}
        assert listed[click.pid]["program"].startswith("click ")
        seen = wait_until(lambda: busy(top(click.pid)), "packets")
        assert {"side/from", "side/c", "kinds", "s", "Unstrip@5", "to"} <= set(seen)


def busy(seen):
    """The apps by name, once packets pass."""
    apps = {app["name"]: app for app in seen.get("apps", [])}
    return apps if apps.get("s", {}).get("output", 0) > 0 else None


def test_a_plan_has_the_elements(tmp_path):
    file = tmp_path / "side.click"
    file.write_text(FILE)
    said = perigee("plan", "--no-source", "click", file).stdout
    assert "region 1: " in said
    for name in ("side/from", "side/c", "kinds", "old", "s", "Unstrip@5", "to"):
        assert name in said.replace(",", " ").split(), said


def test_doctor_looks_at_a_configuration(tmp_path):
    file = tmp_path / "side.click"
    file.write_text(FILE)
    result = perigee("doctor", "click", file, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "app 'side/c'" in result.stdout
    assert result.stdout.endswith("The packet path is clean.\n")
