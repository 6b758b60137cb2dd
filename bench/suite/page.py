# SPDX-License-Identifier: Apache-2.0
"""What a page of `perigee web` costs the graph that it shows

One process passes packets on its own CPU; on others `perigee web` and what stands for a
browser, which asks as the page does: for the graph, then once a second what it does. CPU
time a packet with the page open and without, in turn.
"""
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import time

from suite import measure

LIMIT = 1.02
PERIOD = 1  # seconds, of the page


def others():
    """The CPUs for the page: not the graph's, if there are any."""
    cpus = os.sched_getaffinity(0)
    return cpus - {max(cpus)} or cpus


@contextlib.contextmanager
def started(*args, cpus):
    process = subprocess.Popen([str(measure.PERIGEE), *args], cwd=measure.ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True,
                               preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def counters(pid):
    found = json.loads(measure.command([measure.PERIGEE, "shm", "--json", pid], 10))
    nanoseconds = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    return (found["apps/port/rxpackets"], nanoseconds / 1e9,
            found["engine/cycles/tsc_hz"])


def cycles(pid, work):
    """Cycles a packet while work() runs."""
    packets, seconds, _ = counters(pid)
    work()
    more, later, hertz = counters(pid)
    return (later - seconds) * hertz / (more - packets)


class Page:
    def __init__(self, web):
        address = web.stdout.readline()
        if not address:
            raise measure.Failed("`perigee web` ended before it printed its address")
        self.port = int(address.rsplit(":", 1)[1].split("/")[0])

    def ask(self, name, **body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("POST", "/api/" + name, json.dumps(body),
                           {"X-Perigee": "1", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise measure.Failed(f"the page was told: {text.decode()}")
        return json.loads(text)

    def show(self, seconds, each=lambda: None):
        ends = time.monotonic() + seconds
        self.ask("graph")
        while time.monotonic() < ends:
            self.ask("live")
            each()
            time.sleep(max(0, min(PERIOD, ends - time.monotonic())))


def wait_for_engine(pid):
    for _ in range(200):
        try:
            if counters(pid)[0] > 0:
                return
        except (measure.Failed, KeyError):
            pass
        time.sleep(0.05)
    raise measure.Failed("the graph doesn't run")


def run(quick, rounds=None, seconds=None):
    measure.build()
    seconds = seconds or (2 if quick else 4)
    with started("echo", "null", "10", "86400",
                 cpus={max(os.sched_getaffinity(0))}) as echo:
        pid = str(echo.pid)
        wait_for_engine(pid)
        with started("web", "--no-token", "--listen", "0", pid, cpus=others()) as web:
            page = Page(web)
            link = page.ask("graph")["links"][0]["link"]
            took = measure.in_turn(rounds or (4 if quick else 15), {
                "none": lambda: cycles(pid, lambda: time.sleep(seconds)),
                "page": lambda: cycles(pid, lambda: page.show(seconds)),
                "packets": lambda: cycles(pid, lambda: page.show(
                    seconds, lambda: page.ask("packets", link=link))),
            })
    return [
        measure.row("a page that is open / none", took["page"], took["none"], LIMIT),
        measure.row("..., that asks for packets of a link each second / none",
                    took["packets"], took["none"]),
    ]
