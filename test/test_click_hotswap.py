# SPDX-License-Identifier: Apache-2.0
"""Exchanging a router's configuration while packets pass it: test/hot_swap.lua."""

import re

from helpers.command import PERIGEE, ROOT, run

ROUTES, SWAPS = 5000, 4


def test_nothing_is_lost_when_routes_are_exchanged():
    result = run(PERIGEE, "run", ROOT / "test/hot_swap.lua", ROUTES, SWAPS, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    sent, arrived, counted = map(int, re.search(
        r"^sent (\d+), arrived (\d+), counted (\d+)$", result.stdout, re.MULTILINE).groups())
    assert sent == arrived == counted > 0
    assert f"{ROUTES} routes, {SWAPS} exchanges\n" in result.stdout


def test_a_router_goes_on_while_another_is_built(tmp_path):
    """A configuration with many routes is refused: meanwhile packets have passed."""
    routes = ",".join(f"1.{i // 256}.{i % 256}.0/24 0" for i in range(20000))
    (tmp_path / "new.click").write_text(f"Idle -> RadixIPLookup({routes}) -> Nonesuch")
    text = """
        InfiniteSource -> c :: Counter -> Discard;
        in :: FromDPDKDevice("null:size=60") -> d :: Counter -> ToDPDKDevice("null");
        Script(wait 0.2, set n $(d.count), write hotconfig $(cat new.click),
               print $(gt $(sub $(d.count) $n) 100), stop)"""
    result = run(PERIGEE, "click", "-R", "-e", text, cwd=tmp_path, timeout=120)
    assert result.stdout == "true\n", result.stdout + result.stderr
