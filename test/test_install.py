# SPDX-License-Identifier: Apache-2.0
"""make install and uninstall."""

import os
import re

import pytest

from helpers.command import ROOT, check, run


@pytest.fixture
def staged(tmp_path):
    """Perigee, installed under a prefix with a space in a staging directory."""
    staging = tmp_path / "staging area"
    check("make", "-C", ROOT, "install", f"DESTDIR={staging}", "PREFIX=/opt/my perigee")
    return staging


def files_below(directory):
    return {str(path.relative_to(directory)) for path in directory.rglob("*")
            if path.is_file() and not path.is_symlink()}


ROOMS = "src", "snabb", "click", "moongen"


def declared():
    """The headers that Lua names to be read (core.native, core.declare), and those that
    they include, which are read with them."""
    headers = {f"{room}/{name}" for room in ROOMS for name in files_below(ROOT / room)
               if name.endswith(".h")}
    text = "".join(path.read_text() for room in ROOMS for path in (ROOT / room).rglob("*.lua"))
    named = {name for name in headers if f'"{name.partition("/")[2]}"' in text}
    found = set()
    while named:
        found |= named
        named = {os.path.normpath(os.path.join(os.path.dirname(name), included))
                 for name in named
                 for included in re.findall('^#include "([^"]+)"', (ROOT / name).read_text(), re.M)}
        named = (named & headers) - found
    return found


def test_install_leaves_nothing_out_but_specs_and_c(staged):
    source = {f"{room}/{name}"
              for room in ROOMS
              for name in files_below(ROOT / room)}
    installed = files_below(staged / "opt/my perigee/share/perigee")
    assert installed - source == {"bytecode.lua", "modules.bytecode"}
    assert {"src/command_line.lua", "snabb/family.lua", "click/family.lua",
            "src/apps/pcap/README.md"} <= installed
    assert all(re.search(r"_spec\.lua$|\.[ch]$|\.pyc$", name)
               for name in source - installed)
    assert not any(re.search(r"_spec\.lua$|\.c$", name) for name in installed)
    assert {name for name in installed if name.endswith(".h")} == declared()
    documents = files_below(staged / "opt/my perigee/share/doc/perigee")
    assert {"README.md", "LICENSE", "doc/apps.md", "examples/first.lua"} <= documents


def test_links_of_installed_pages_lead_somewhere(staged):
    share = staged / "opt/my perigee/share"
    pages = [path for path in share.rglob("*.md") if not path.is_symlink()]
    links = [(page, target) for page in pages for target in
             re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())]
    assert [(str(page), target) for page, target in links
            if not (page.parent / target).exists()] == []
    kept = {(page.name, target) for page, target in links}
    assert len(pages) > 100 and len(links) > 300
    assert {("index.md", "tutorial.md"), ("index.md", "../src/program/top/README.md"),
            ("metrics.md", "../contrib/grafana.json")} <= kept
    readme = share / "perigee/src/program/top/README.md"
    assert "](../../../doc/" in readme.read_text()
    assert all(str(path.resolve()).startswith(str(share)) for path in share.rglob("*"))


def test_installed_perigee_runs_from_anywhere(staged, tmp_path):
    prefix = staged / "opt/my perigee"
    perigee = prefix / "bin/perigee"
    bare = {"PATH": "/usr/bin:/bin"}  # no HOME either
    result = run(perigee, cwd="/", env=bare)
    assert result.returncode == 0 and "  echo " in result.stdout
    link = tmp_path / "perigee"
    link.symlink_to(perigee)
    examples = prefix / "share/doc/perigee/examples"
    result = run(link, "run", examples / "generate.lua", "null", 10, cwd="/", env=bare)
    assert result.stdout == "sent 10 packets to null\n", result.stderr
    result = run(perigee, "model", "--quick", "--no-memory", "--ports", "null", "--out",
                 tmp_path / "model", cwd="/", env=bare)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "model/model.json").exists()
    result = run(perigee, "test", cwd="/", env=bare)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == ("perigee: specs are run from a checkout of Perigee; this "
                             "is an installation\n")


def test_uninstall_removes_all_of_it(staged):
    check("make", "-C", ROOT, "uninstall", f"DESTDIR={staged}",
          "PREFIX=/opt/my perigee")
    assert files_below(staged) == set()
