# SPDX-License-Identifier: Apache-2.0
"""What packages are made of is the same when it is made twice, by someone else: another
umask, time zone, locale, home. packaging/test-reproducible builds whole packages twice."""

import hashlib
import json
import os
import re
import shutil
import stat

import pytest

from helpers.command import PERIGEE, ROOT, check, perigee, run

SBOM = ROOT / "tools" / "security" / "sbom.lua"
EPOCH = "1700000000"
MAKERS = {
    "one": {"umask": 0o022, "TZ": "UTC0", "LC_ALL": "C", "HOME": "/root"},
    "another": {"umask": 0o077, "TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8",
                "HOME": "/nonexistent"}}
needs_dpkg = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="wants Debian's dpkg")


def made_by(maker, *command):
    settings = dict(MAKERS[maker])
    mask = settings.pop("umask")
    return run(*command, env={**os.environ, **settings, "SOURCE_DATE_EPOCH": EPOCH},
               umask=mask)


def tree(folder):
    """{path: its mode and bytes, or where the link leads}"""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            mode = oct(stat.S_IMODE(path.stat().st_mode))
            found[name] = mode if path.is_dir() else \
                f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found


def test_an_installation(tmp_path):
    trees = {}
    for maker in MAKERS:
        folder = tmp_path / maker
        result = made_by(maker, "make", "-C", ROOT, "install", f"DESTDIR={folder}")
        assert result.returncode == 0, result.stderr
        trees[maker] = tree(folder)
    one, another = trees.values()
    assert len(one) > 1000
    assert {name: (said, another.get(name)) for name, said in one.items()
            if another.get(name) != said} == {}
    assert set(another) == set(one)


@needs_dpkg
@pytest.mark.fast
def test_the_bill_of_materials(tmp_path):
    texts = set()
    for maker in MAKERS:
        for i in range(2):
            path = tmp_path / f"{maker}{i}"
            result = made_by(maker, PERIGEE, "run", SBOM, path)
            assert result.returncode == 0, result.stderr
            texts.add(path.read_text())
    text, = texts
    assert json.loads(text)["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"


@needs_dpkg
def test_the_bill_says_no_time_that_nobody_gave(tmp_path):
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    path = tmp_path / "sbom"
    assert perigee("run", SBOM, path, env=env).returncode == 0
    assert "timestamp" not in json.loads(path.read_text())["metadata"]
    result = perigee("run", SBOM, path, env={**env, "SOURCE_DATE_EPOCH": "yesterday"})
    assert result.returncode == 1
    assert "SOURCE_DATE_EPOCH is 'yesterday', not seconds since 1970" in result.stderr


@needs_dpkg
def test_the_bill_names_the_packages_of_the_files_that_are_loaded(tmp_path):
    """Not those that have files of the same names, such as cross compilers' libc.so.6."""
    path = tmp_path / "sbom"
    assert perigee("run", SBOM, path).returncode == 0
    names = {part["name"] for part in json.loads(path.read_text())["components"]}
    linked = re.search(r"=> (/\S*/libc\.so\.6) ", check("ldd", PERIGEE))[1]
    owners = run("dpkg-query", "-S", f"*{linked}").stdout.splitlines()
    assert {"libc6"} <= names
    assert not any(name.endswith("-cross") for name in names), owners
