# SPDX-License-Identifier: Apache-2.0
"""The bill of materials, and the check of it against Debian's security tracker, whose
file is given: nothing asks a network."""

import json
import shutil

import pytest

from helpers.command import ROOT, perigee, run

TOOLS = ROOT / "tools" / "security"
pytestmark = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="wants Debian's dpkg")


@pytest.fixture(scope="module")
def bill(tmp_path_factory):
    path = tmp_path_factory.mktemp("sbom") / "perigee.cdx.json"
    result = perigee("run", TOOLS / "sbom.lua", path)
    assert result.returncode == 0, result.stderr
    return path


def test_the_bill_names_what_perigee_consists_of(bill):
    said = json.loads(bill.read_text())
    assert (said["bomFormat"], said["specVersion"]) == ("CycloneDX", "1.5")
    assert said["metadata"]["component"]["name"] == "perigee"
    parts = {part["name"]: part for part in said["components"]}
    installed = dict(line.split() for line in run(
        "dpkg-query", "-W", "-f", "${Package} ${Version}\n").stdout.splitlines())
    assert {name.partition("-")[0] for name in parts} >= {"lua", "librte"}
    assert {"libc6", "lua-cjson"} <= set(parts) and any("luajit" in name for name in parts)
    for name, part in parts.items():
        assert part["version"] == installed[name]
        assert part["purl"].startswith("pkg:deb/") and f"/{name}@" in part["purl"]
    assert said["dependencies"][0]["dependsOn"] == [part["purl"] for part in said["components"]]


def release(status, fixed=None, urgency="low"):
    state = {"status": status, "urgency": urgency}
    if fixed is not None:
        state["fixed_version"] = fixed
    return {"description": "...", "releases": {"bookworm": state}}


TRACKER = {
    "dpdk": {
        "CVE-2000-0001": release("resolved", "20.11-1"),
        "CVE-2000-0002": release("resolved", "999.1-1"),
        "CVE-2000-0003": release("resolved", "0"),
        "CVE-2000-0004": release("undetermined"),
        "CVE-2000-0005": release("open", urgency="unimportant"),
    },
    "glibc": {"CVE-2000-0006": release("open")},
    "not-of-ours": {"CVE-2000-0007": release("open")},
}


def checked(tmp_path, bill, tracker, *more):
    path = tmp_path / "tracker.json"
    path.write_text(tracker if isinstance(tracker, str) else json.dumps(tracker))
    return perigee("run", TOOLS / "check.lua", path, bill, *more)


def test_faults_are_told(tmp_path, bill):
    result = checked(tmp_path, bill, TRACKER, "bookworm")
    lines = result.stdout.splitlines()
    assert result.returncode == 1, result
    assert len(lines) == 3, result
    assert lines[0].startswith("dpdk ") and lines[0].endswith(
        ": CVE-2000-0002: mended in 999.1-1")
    assert lines[1].startswith("glibc ") and lines[1].endswith(
        ": CVE-2000-0006: not mended yet")
    assert lines[2].endswith(" packages, 2 faults, 1 unimportant ones")


def test_nothing_is_wrong(tmp_path, bill):
    tracker = {"dpdk": {"CVE-2000-0001": TRACKER["dpdk"]["CVE-2000-0001"]}}
    result = checked(tmp_path, bill, tracker, "bookworm")
    assert result.returncode == 0 and " 0 faults" in result.stdout, result


@pytest.mark.parametrize("tracker, words, sentence", [
    (TRACKER, [], "give Debian's tracker file, an SBOM, and a release such as bookworm"),
    (TRACKER, ["potato"], "knows none of these packages in 'potato'"),
    ("no JSON", ["bookworm"], "tracker.json is no JSON object"),
    ("7", ["bookworm"], "tracker.json is no JSON object"),
])
def test_what_is_wrong_is_a_sentence(tmp_path, bill, tracker, words, sentence):
    result = checked(tmp_path, bill, tracker, *words)
    assert result.returncode == 2 and sentence in result.stderr, result
