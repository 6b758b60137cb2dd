# SPDX-License-Identifier: Apache-2.0
"""The page of `perigee web` in a real browser."""

import json
import os
import signal

import pytest

from helpers.browser import CHROMIUM, browser
from helpers.command import PERIGEE, running
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

        # A click on a link shows its packets, decoded.
        page.click(link(LINKS[0]) + " .hit")
        page.wait("document.querySelectorAll('.packet').length == 10")
        assert page.run(text("#detail h2")) == LINKS[0]
        assert "07:00:00:00:00:00" in page.run(text(".packet"))
        assert "packets a second" in page.run(text("#numbers"))

        # A trace, whose way is shown in the picture.
        press(page, "Trace")
        page.wait("document.querySelectorAll('pre.way').length == 5")
        assert "freed by sink" in page.run(text("pre.way"))
        assert page.run("document.querySelectorAll('.traced').length") == 1

        # A capture.
        press(page, "Capture")
        page.wait(f"{text('#found a')} == 'saved'")

        # The rate changes, and a drop appears.
        (tmp_path / "shut").touch()
        page.wait(f"{text(link(LINKS[0]) + ' .rate')} == '0'")
        assert page.run(f"!!document.querySelector('{link(LINKS[0])}.idle')")
        page.wait(f"/drops.s$/.test({text('g.app[data-app=gate] .live')})")
        page.click("g.app[data-app=gate] rect")
        page.wait(f"/Dropsshut[0-9]/.test({text('#numbers')})")
        press(page, "Dropped")
        page.wait(f"/dropped by gate: shut/.test({text('.packet')})")
        page.wait("(document.querySelector('.chart polyline').getAttribute('points')"
                  ".match(/,/g) || []).length > 2")
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
