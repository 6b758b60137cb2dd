# SPDX-License-Identifier: Apache-2.0
"""Every program and command line that the manual and the programs' READMEs show is run:
a ```lua block is a whole program (those of first-app.md are files: test_first_app.py), a line "    $ ..." a command. What stands below a
command, up to the next or a blank line, is what it prints."""

import re

import pytest

from helpers.command import ROOT, TIMEOUT_S, perigee, run

PAGES = sorted(ROOT.glob("doc/*.md"))
READMES = [next(ROOT.glob(f"*/program/{name}/README.md"))
           for name in (
               "alarms", "config", "connect", "echo", "firehose", "generate", "keep", "loadtest",
               "lwaftr", "metrics", "model", "pci_bind", "plan", "proto", "ps", "run", "shm", "snabbmark",
               "snsh", "spread", "test", "top", "trace", "upgrade", "vtep", "web")]
READMES += [ROOT / "click/click/script/README.md"]

FIND_PERIGEE = re.search(r"^    \$ (export PATH=.*)$", (ROOT / "doc/index.md").read_text(),
                         re.MULTILINE)[1]

TMP = ROOT / "build/test/tmp"

ROOMS = [ROOT / "src/apps", ROOT / "snabb/apps", ROOT / "click/apps"]
APPS = sorted(page for room in ROOMS for page in room.rglob("README.md"))
MECHANISMS = sorted((ROOT / "src/net").rglob("README.md"))
# Run by apps/port/readme_spec.lua, with something in the place of cards and interfaces.
NEED_A_CARD = {"dpdk_device", "intel", "intel_avf", "intel_mp", "mellanox", "socket",
               "solarflare", "tap", "vhost", "virtio_net", "xdp"}


def blocks(page):
    """The page's Lua programs, each with what the page says it prints, if it does (in
    a plain ``` block right behind)."""
    pattern = r"^```lua\n(.*?)^```\n(?:\n```\n(.*?)^```\n)?"
    return re.findall(pattern, page.read_text(), re.MULTILINE | re.DOTALL)


def commands(page):
    """The page's command lines, each with the lines below it."""
    pattern = r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)"
    return [(command, re.sub(r"^    ", "", said, flags=re.MULTILINE))
            for command, said in re.findall(pattern, page.read_text(), re.MULTILINE)]


def cases(pages, find):
    return [pytest.param(*case, id=f"{page.parent.name}-{page.stem}-{i}")
            for page in pages for i, case in enumerate(find(page), 1)]


@pytest.mark.parametrize("code, said", cases(
    [page for page in PAGES if page.name != "first-app.md"] + MECHANISMS + [page for page in APPS if page.parent.name not in NEED_A_CARD],
    blocks))
def test_program(code, said, tmp_path):
    program = tmp_path / "program.lua"
    program.write_text(code)
    result = perigee("run", program, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    if said:
        assert result.stdout == said


@pytest.mark.parametrize("command, said", cases(PAGES + READMES, commands))
def test_command(command, said):
    """In a /tmp of its own: in the other, these files may be another user's. The shell
    finds `perigee` as doc/index.md says."""
    TMP.mkdir(parents=True, exist_ok=True)
    command, said = [text.replace("/tmp/", f"{TMP}/") for text in (command, said)]
    result = run("sh", "-c", f"{FIND_PERIGEE}\n{command}", cwd=ROOT, timeout=TIMEOUT_S)
    if said:
        assert result.stdout + result.stderr == said
    else:
        assert result.returncode == 0, result.stderr


def test_pages_have_examples():
    assert len(PAGES) >= 3
    assert all(blocks(page) or commands(page) for page in PAGES + READMES)


def test_every_app_is_in_the_list_and_has_an_example():
    folders = {file.parent.relative_to(ROOT) for room in ROOMS
               for file in room.rglob("*.lua")
               if not file.name.endswith("_spec.lua") and file.parent != room}
    assert {page.parent.relative_to(ROOT) for page in APPS} == folders
    assert all(blocks(page) for page in APPS)
    text = (ROOT / "doc/app-list.md").read_text()
    assert set(re.findall(r"\(\.\./(\w+/apps/[\w/]+)/README", text)) == set(map(str, folders))


def test_every_page_is_on_the_map():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "doc/index.md").read_text())
    assert set(listed) | {"index.md"} == {page.name for page in PAGES}


def test_the_engines_files_have_the_names_that_its_page_gives():
    folder, missing = None, []
    rows = re.findall(r"^\| ?(\S*) \| (`.*?) \|", (ROOT / "doc/engine.md").read_text(),
                      re.MULTILINE)
    for where, names in rows:
        folder = ROOT / "doc" / where.partition("](")[2].rstrip(")") if where else folder
        for name in re.findall(r"`([\w.]+)`", names):
            file = folder / (name if "." in name else name + ".lua")
            missing += [] if file.exists() else [str(file)]
    assert len(rows) > 15 and missing == []


@pytest.mark.parametrize("page", sorted(
    path for room in (ROOT / "doc", ROOT / "src", ROOT / "snabb", ROOT / "click", ROOT / "examples")
    for path in room.rglob("*.md")) + [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
                                       ROOT / "SECURITY.md"],
    ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [name for name in targets if not (page.parent / name).exists()] == []
