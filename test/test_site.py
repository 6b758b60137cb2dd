# SPDX-License-Identifier: Apache-2.0
"""`make site`: all pages as a static site, whose links lead somewhere."""

import json
import re
import shutil

import pytest

from helpers.command import ROOT, run

needs_mkdocs = pytest.mark.skipif(not shutil.which("mkdocs"), reason="mkdocs isn't installed")


@pytest.fixture
def tree(tmp_path):
    """A tree of three pages and a source file, which tools/site/make makes a site of."""
    shutil.copytree(ROOT / "tools/site", tmp_path / "tools/site")
    (tmp_path / "tools/site/front.txt").unlink()
    for name, text in {
            "tools/site/pages.yml": "- First: README.md\n- Second: doc/second.md\n",
            "README.md": "# First\n\nA [page](doc/second.md#a-part), a [file](src/x.lua), "
                         "a [folder](src).\n",
            "doc/second.md": "# Second\n\n## A part\n\n```lua\nx = t[1](2)\n```\nA list:\n"
                             "- [back](../README.md)\n",
            "src/x.lua": "local x = 1\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def make(tree):
    return run(tree / "tools/site/make", timeout=300)


@needs_mkdocs
def test_the_pages_of_this_tree():
    result = make(ROOT)
    assert result.returncode == 0, result.stderr
    site = ROOT / "build/site"
    words = json.loads((site / "search/search_index.json").read_text())["docs"]
    assert any("wirespeed" in doc["text"] or "line rate" in doc["text"] for doc in words)
    for page in "index", "doc/tutorial", "src/program/trace/index", "CHANGELOG":
        text = (site / f"{page}.html").read_text()
        # Nothing is asked of other machines, but by links that a person follows.
        assert re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="?https?:', text) == []


@needs_mkdocs
def test_the_front_page(tree):
    (tree / "tools/site/front.txt").write_text("# Front\n\n{figures}\n\nthe end\n\n")
    (tree / "README.md").write_text("# Read\n\n## A first program\n\nfirst\n\n| command | work |\n"
                                    "|---|---|\n| run | 17 cycles |\n\nlast\n")
    (tree / "doc/second.md").write_text("# Second\n")
    result = make(tree)
    assert result.returncode == 0, result.stderr
    page = (tree / "build/site/index.html").read_text()
    text = re.sub("<[^>]*>|\\s+", " ", page)
    assert ">Front" in page and ">Read<" not in page
    assert text.index("17 cycles") < text.index("the end") < text.rindex("A first program")
    (tree / "README.md").write_text("# Read\n")
    result = make(tree)
    assert (result.returncode, result.stderr) == (1, "make site: README.md has no table of "
            "figures, or no 'A first program', for the front page\n")


@needs_mkdocs
def test_links_lead_to_pages_files_and_folders(tree):
    result = make(tree)
    assert result.returncode == 0, result.stderr
    first = (tree / "build/site/index.html").read_text()
    for link in "doc/second.html#a-part", "src/x.lua.html", "src/index.html":
        assert f'href="{link}"' in first
    assert "x.lua" in (tree / "build/site/src/index.html").read_text()
    second = (tree / "build/site/doc/second.html").read_text()
    assert "<li><a href" in second and "t[1](2)" in re.sub("<[^>]*>", "", second)


@needs_mkdocs
@pytest.mark.parametrize("text, said", [
    ("[a](doc/none.md)", "README.md links to doc/none.md, which isn't in the repository"),
    ("[a](doc/second.md#none)", "index.html links to doc/second.html#none: that page has no "
                                "'#none'")])
def test_a_link_that_leads_nowhere_is_an_error(tree, text, said):
    (tree / "README.md").write_text(f"# First\n\n{text}\n")
    result = make(tree)
    assert (result.returncode, result.stderr) == (1, f"make site: {said}\n")


@needs_mkdocs
def test_a_page_that_is_not_in_the_menu_is_an_error(tree):
    (tree / "doc/third.md").write_text("# Third\n")
    result = make(tree)
    assert (result.returncode, result.stderr) == \
        (1, "make site: pages.yml has no place for doc/third.md\n")


def test_without_mkdocs_a_sentence_says_what_to_install(tree):
    result = run(tree / "tools/site/make", env={"PATH": "/nowhere"})
    assert (result.returncode, result.stderr) == \
        (1, "make site: needs mkdocs: apt-get install mkdocs mkdocs-material\n")
