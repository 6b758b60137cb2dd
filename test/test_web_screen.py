# SPDX-License-Identifier: Apache-2.0
"""The page of `perigee web` on screens of several sizes, and for those who don't see it."""

import os
import shutil

import pytest

from helpers.browser import browser
from helpers.command import PERIGEE, running
from helpers.control import wait_for_socket
from helpers.web import LINKS, graph, web
from test_web_page import link, needs_a_browser, press, text

# Regions whose title, and apps whose name, is wider than its box.
TOO_WIDE = """[...document.querySelectorAll("g.region, g.app")].filter(g =>
  [...g.querySelectorAll("text")].some(t =>
    t.getComputedTextLength() > g.querySelector("rect").width.baseVal.value))
  .map(g => g.textContent)"""

# Texts of the picture that are over another's.
OVERLAPS = """(() => {
  const texts = [...document.querySelectorAll("#picture text")]
    .map(t => [t.textContent, t.getBoundingClientRect()]).filter(([text]) => text);
  return texts.flatMap(([a, x], i) => texts.slice(0, i).filter(([, y]) =>
    x.left < y.right && y.left < x.right && x.top + 2 < y.bottom && y.top + 2 < x.bottom)
    .map(([b]) => [a, b])); })()"""


CHAIN = """
local c = config.new()
config.app(c, "in", require("apps.port.port").Port, "null")
local before = "in"
for i = 1, 60 do
  config.app(c, "fwd" .. i, require("apps.fwd.fwd").Fwd)
  config.link(c, before .. ".output -> fwd" .. i .. ".input")
  before = "fwd" .. i
end
config.app(c, "sink", require("apps.basic.basic_apps").Sink)
config.link(c, before .. ".output -> sink.input")
engine.configure(c)
engine.main{duration = 300, no_report = true}
"""


@needs_a_browser
def test_of_a_long_graph_the_beginning_is_readable(tmp_path):
    (tmp_path / "chain.lua").write_text(CHAIN)
    seen = """["in", "sink"].map(name => {
        const box = document.querySelector(`g.app[data-app="${name}"] rect`)
          .getBoundingClientRect(), place = picture.getBoundingClientRect();
        return [box.width, box.left >= place.left && box.right <= place.right]; })"""
    with running(PERIGEE, "run", tmp_path / "chain.lua") as process, \
            browser(tmp_path) as page:
        wait_for_socket(process)
        with web(str(process.pid)) as it:
            page.open(it.url)
            page.wait("document.querySelectorAll('g.app').length == 62")
            [width, first], [_, last] = page.run(seen)
            assert width > 40 and first and not last
            page.run("document.getElementById('fit').click()")
            [width, first], [_, last] = page.run(seen)
            assert width < 20 and first and last
            assert page.errors == []


def axe_of():
    """axe-core's script: PERIGEE_AXE, or where Node's packages are; None: nowhere."""
    places = [os.environ.get("PERIGEE_AXE", ""), "node_modules/axe-core/axe.min.js",
              "/usr/share/nodejs/axe-core/axe.min.js"]
    return next((place for place in places if os.path.isfile(place)), None)


def violations(page, where):
    """What axe-core finds: lists of rule, how bad, and the elements."""
    found = page.run("axe.run().then(r => r.violations.map(v => [v.id, v.impact, "
                     "v.nodes.slice(0, 5).map(n => n.target.join(' '))]))")
    return [(where, *violation) for violation in found]


def look_with_axe(page, it, size):
    """Of the whole, of a link, and of an app, in light and dark."""
    width, height = size
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
             deviceScaleFactor=1, mobile=width < 500)
    page.open(it.url)
    page.wait("document.querySelectorAll('g.app').length == 4")
    page.wait("document.querySelectorAll('#charts polyline').length > 0")
    with open(axe_of(), encoding="utf-8") as script:
        page.run(script.read() + "; 1")
    found = []
    for theme in "light", "dark":
        page.run("document.getElementById('theme').click()")
        found += violations(page, theme)
        page.run(f"document.querySelector('{link(LINKS[0])}').dispatchEvent("
                 "new MouseEvent('click', {bubbles: true}))")
        page.wait("document.querySelectorAll('.packet').length > 9")
        found += violations(page, f"{theme}, a link")
        press(page, "Overview")
    return found


@needs_a_browser
@pytest.mark.parametrize("size", [(1400, 900), (390, 844)])
def test_it_fits_the_screen(tmp_path, size):
    name = f"web-fits-{os.getpid()}"
    with graph(tmp_path, name), web(name) as it, browser(tmp_path) as page:
        page.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                 deviceScaleFactor=1, mobile=False)
        page.open(it.url)
        page.wait(f"/cycles/.test({text('g.region .title')})")
        assert page.run(TOO_WIDE) == []
        assert page.run(OVERLAPS) == []
        assert page.run("document.documentElement.scrollWidth") <= size[0]
        # Packets go across, on a phone down (where dot is installed).
        first, last = page.run("""["in", "sink"].map(name => {
            const box = document.querySelector(`g.app[data-app="${name}"]`)
              .getBoundingClientRect();
            return [box.x, box.y]; })""")
        axis = 1 if size[0] < 600 and shutil.which("dot") else 0
        assert last[axis] > first[axis]


@needs_a_browser
@pytest.mark.skipif(not axe_of(), reason="there is no axe-core (npm install axe-core, or "
                                         "PERIGEE_AXE=its axe.min.js)")
@pytest.mark.parametrize("size", [(1400, 900), (390, 844)])
def test_all_can_use_it(tmp_path, size):
    name = f"web-axe-{os.getpid()}"
    with graph(tmp_path, name), web(name) as it, browser(tmp_path) as page:
        assert look_with_axe(page, it, size) == []
        # The page is no wider than the screen.
        assert page.run("document.documentElement.scrollWidth") <= size[0]
