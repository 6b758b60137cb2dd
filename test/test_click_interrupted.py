# SPDX-License-Identifier: Apache-2.0
"""A signal that ends `perigee click`: what a DriverManager has still to do is done, without
waiting, as in Click: reports at the end are written there."""

import pytest

from helpers.command import PERIGEE, running

CASES = {
    "to the end": ("pause, print 'a', wait 1h, print 'b', pause, print 'c', stop", "abc"),
    "once in a loop": ("wait 1h, print 'a', loop", "a"),
    "once in its own loop": ("label x, wait 1h, print 'a', pause, print 'b', goto x", "ab"),
    "past errors": ("pause, print > none/x 'a', print 'b'", "b"),
}


@pytest.mark.parametrize("script, said", CASES.values(), ids=CASES)
@pytest.mark.parametrize("more", ["", "StaticThreadSched(c 1);"], ids=["one", "threads"])
def test_a_driver_manager_goes_on(script, said, more):
    config = ("RatedSource(RATE 1000) -> c :: Counter -> Discard; " + more
              + " Script(print 'ready'); DriverManager(" + script + ")")
    with running(PERIGEE, "click", "-e", config, "-h", "c.count") as click:
        click.wait_for("ready")
        click.interrupt()
        lines = click.said.split("ready")[1].split("\n")
    assert "".join(line for line in lines if line in ("a", "b", "c")) == said, click.said
    assert any(line.isdigit() for line in lines), click.said  # -h has its say after it


def test_what_is_counted_is_told_in_a_report(tmp_path):
    config = ("InfiniteSource(LIMIT 7) -> c :: Counter -> Discard;"
              " Script(label again, wait 10ms, goto again $(lt $(c.count) 7), print 'ready');"
              " DriverManager(pause, print > report 'it was' $(c.count))")
    with running(PERIGEE, "click", "-e", config, cwd=tmp_path) as click:
        click.wait_for("ready")
        assert click.interrupt() == 0, click.said
    assert (tmp_path / "report").read_text() == "it was 7\n"
