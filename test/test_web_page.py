# SPDX-License-Identifier: Apache-2.0
"""The page of `perigee web` in a real browser."""

import json
import os
import signal

import pytest

from helpers.browser import CHROMIUM, browser
from helpers.command import PERIGEE, running, wait_until
from helpers.control import wait_for_socket
from helpers.web import LINKS, graph, web

needs_a_browser = pytest.mark.skipif(
    not CHROMIUM, reason="there is no Chromium (Debian's package chromium)")


def text(selector):
    return f"(document.querySelector({json.dumps(selector)}) || {{}}).textContent"


def link(spec):
    return f'g.link[data-link="{spec}"]'


def press(page, title):
    page.run(f"[...document.querySelectorAll('button')]"
             f".find(b => b.textContent == {json.dumps(title)}).click()")


@needs_a_browser
def test_the_page(tmp_path):
    name = f"web-page-{os.getpid()}"
    with graph(tmp_path, name) as process, web(name) as it, browser(tmp_path) as page:
        page.open(it.url)
        # The graph is drawn, with rates.
        page.wait("document.querySelectorAll('g.app').length == 4")
        assert page.run("document.querySelectorAll('g.link').length") == 3
        assert page.run("document.querySelectorAll('g.region').length") == 1
        page.wait(f"/^[1-9]/.test({text(link(LINKS[0]) + ' .rate')})")
        page.wait(f"/cycles a packet$/.test({text('g.region .title')})")
        page.wait("/^measured: .* which allow .*pps a CPU/.test("
                  + text("#cost") + ")")
        assert page.run(text("#no-drops")) == "Nothing has been dropped."

        # A click on a link shows its packets, decoded.
        page.click(link(LINKS[0]) + " .hit")
        page.wait("document.querySelectorAll('.packet').length > 10")
        assert page.run(text("#detail h2")) == LINKS[0]
        assert "07:00:00:00:00:00" in page.run(text(".packet"))
        assert "packets a second" in page.run(text("#numbers"))

        # A trace, whose way is shown in the picture.
        press(page, "Trace")
        page.wait("document.querySelectorAll('.way').length == 5")
        assert "freed by sink" in page.run(text(".way"))
        assert page.run("document.querySelectorAll('.traced').length") == 1

        # A capture.
        press(page, "Capture")
        page.wait(f"{text('#found a')} == 'saved'")

        # The rate changes, and a drop appears.
        (tmp_path / "shut").touch()
        page.wait(f"{text(link(LINKS[0]) + ' .rate')} == '0'")
        assert page.run(f"!!document.querySelector('{link(LINKS[0])}.idle')")
        page.wait(f"/drops.s$/.test({text('g.app[data-app=gate] .live')})")
        # The table of drops leads to the place, where the packets can be seen.
        press(page, "Overview")
        page.wait(f"/^gate/.test({text('#drops tbody tr')})")
        page.click("#drops tbody button")
        assert page.run("document.activeElement.dataset.app") == "gate"
        # So does the line of drops.
        press(page, "Overview")
        press(page, "Drops a second")
        assert page.run("document.activeElement.dataset.app") == "gate"
        page.wait("/^app gate: gate [0-9.]+[kM]? drops.s$/"
                  ".test(document.activeElement.getAttribute('aria-label'))")
        assert page.run("document.querySelector('g.app[data-app=fwd]')"
                        ".getAttribute('aria-label')") == "app fwd: fwd Fwd"
        page.wait(f"/Dropsshut[0-9]/.test({text('#numbers')})")
        press(page, "Dropped")
        page.wait(f"/dropped by gate: shut/.test({text('.packet')})")
        page.wait("[...document.querySelectorAll('#detail .chart polyline')]"
                  ".some(l => l.getAttribute('points').match(/,/g).length > 2)")
        if folder := os.environ.get("PERIGEE_PICTURES"):
            page.picture(tmp_path.__class__(folder) / "web.png")

        # What is wrong with a filter is told there.
        page.run("document.getElementById('filter').value = 'no such'")
        press(page, "Packets")
        page.wait(f"/is no packet filter/.test({text('#found')})")
        assert not [e for e in page.errors if "400" not in str(e)]

        # The instance dies, and another one of its name comes.
        process.send(signal.SIGKILL)
        process.finish()
        page.wait(f"/no running instance|has ended/.test({text('#problem')})")
        page.click(link(LINKS[1]) + " .hit")  # the picture stays, and is no trap
        page.wait(f"{text('#detail h2')} == {json.dumps(LINKS[1])}")
        page.wait(f"/no running instance|has ended/.test({text('#found')})")
        assert not [e for e in page.errors if "exceptionId" in e]
        (tmp_path / "shut").unlink()
        with graph(tmp_path, name):
            page.wait(f"document.getElementById('problem').hidden && "
                      f"/^[1-9]/.test({text(link(LINKS[0]) + ' .rate')})")

        # So does the server.
        it.process.process.kill()
        page.wait(f"/doesn't answer any more/.test({text('#problem')})")


def look_at_odd_names(page, it):
    page.open(it.url)
    page.wait("document.querySelectorAll('g.app').length == 2")
    page.click("g.app[data-app=p] rect")
    page.wait(f"/onerror/.test({text('#numbers')})")
    assert page.run("document.querySelectorAll('img').length") == 0
    assert page.errors == []


@needs_a_browser
def test_names_that_look_like_html_are_text(tmp_path):
    script = tmp_path / "x.lua"
    name = f"web-names-{os.getpid()}"
    script.write_text(f"""
        engine.claim_name("{name}")
        local c = config.new()
        local Port = require("apps.port.port").Port
        config.app(c, "p", Port, "pcap:rx={tmp_path}/<img onerror>.pcap,loop=1")
        config.app(c, "q", Port, "null")
        config.link(c, "p.output -> q.input")
        engine.configure(c)
        engine.main{{duration = 100, no_report = true}}""")
    from scapy.all import Ether, wrpcap
    wrpcap(f"{tmp_path}/<img onerror>.pcap", [Ether() / bytes(50)])
    with running(PERIGEE, "run", script) as process, browser(tmp_path) as page:
        wait_for_socket(process)
        with web(name) as it:
            look_at_odd_names(page, it)


@needs_a_browser
def test_without_the_token_the_page_says_so(tmp_path):
    with web() as it, browser(tmp_path) as page:
        page.open(it.url.split("#")[0])
        page.wait(f"/token is missing or wrong/.test({text('#problem')})")


CLICK = """
elementclass Side { input -> c :: Counter -> k :: Classifier(12/0800, -)
  k [0] -> output  k [1] -> d :: Discard }
left :: Side  right :: Side
RatedSource(RATE 1000, LIMIT -1) -> left -> Discard
RatedSource(RATE 1000, LIMIT -1) -> right -> Discard
"""


def view_box(page):
    return [float(x) for x in page.run("document.querySelector('#picture > svg')"
                                       ".getAttribute('viewBox')").split()]


def look_at_folds(page, it):
    page.open(it.url)
    page.wait("document.querySelectorAll('g.app').length == 10")
    page.wait("/^[1-9]/.test(document.querySelector('.rate').textContent)")
    # All of it is in the window; zoomed, moved and fitted by keys.
    x, y, width, height = view_box(page)
    whole = page.run("(() => { const b = document.querySelector('#picture > svg').getBBox();"
                     "return [b.x, b.y, b.width, b.height]; })()")
    assert x <= whole[0] and y <= whole[1] \
        and x + width >= whole[0] + whole[2] and y + height >= whole[1] + whole[3]
    page.run("document.getElementById('picture').focus()")
    page.key("+")
    assert view_box(page)[2] < width
    page.key("ArrowRight")
    assert view_box(page)[0] > x
    page.key("0")
    assert view_box(page) == [x, y, width, height]
    # A search leads there.
    page.run("(() => { const s = document.getElementById('search'); s.value = 'right/k';"
             "s.dispatchEvent(new Event('change')); })()")
    assert page.run(text("#detail h2")) == "right/k"
    # A compound is folded, and drops in it lead to it.
    press(page, "Fold right")
    page.wait("document.querySelectorAll('g.app').length == 8")
    assert page.run(text("#detail h2")) == "right"
    assert page.run("document.querySelectorAll('g.link').length") == 6
    press(page, "Unfold")
    page.wait("document.querySelectorAll('g.app').length == 10")
    page.run("document.querySelector('#folds input').click()")
    page.wait("document.querySelectorAll('g.app').length == 6")
    assert page.errors == []


@needs_a_browser
def test_compounds_zoom_and_search(tmp_path):
    (tmp_path / "x.click").write_text(CLICK)
    with running(PERIGEE, "click", tmp_path / "x.click") as process, \
            browser(tmp_path) as page:
        wait_for_socket(process)
        with web(str(process.pid)) as it:
            look_at_folds(page, it)


@needs_a_browser
def test_the_list_shows_what_has_a_graph(tmp_path, monkeypatch):
    """One that has no control socket is listed, but another is shown; of it alone the
    counters are."""
    monkeypatch.setenv("SNABB_SHM_ROOT", str(tmp_path / "shm"))
    (tmp_path / "shm").mkdir()
    name = f"web-listed-{os.getpid()}"
    with running(PERIGEE, "--no-control", "echo", "null", "3") as first, \
            browser(tmp_path) as page:
        wait_until(lambda: str(first.pid) in os.listdir(tmp_path / "shm"), "its counters")
        with web() as it:
            page.open(it.url)
            page.wait(f"/has no control socket/.test({text('#picture')})")
            page.wait(f"/pps/.test({text('.instance .rates')})")
            page.wait(f"/counters only/.test({text('.instance .health')})")
            page.wait("document.querySelectorAll('#charts polyline').length > 0")
            assert page.run("document.getElementById('problem').hidden")
            with graph(tmp_path, name):
                page.wait("document.querySelectorAll('.instance').length == 2")
                page.wait("document.querySelectorAll('g.app').length == 4")
                assert page.run(text("[aria-current=true] b")) == name
