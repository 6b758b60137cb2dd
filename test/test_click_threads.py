# SPDX-License-Identifier: Apache-2.0
"""StaticThreadSched: a Click configuration in parts, each on the thread that it names."""

import json

import pytest

from helpers.capture import save
from helpers.command import PERIGEE, ROOT, perigee, run, running, wait_until

# Nothing is lost where packets pass from thread to thread: they are fewer than the
# links between hold.
PARTS = """
    s :: InfiniteSource(LIMIT 1000, BURST 10) -> c :: Counter -> q :: Queue(2000)
      -> u :: Unqueue -> Strip(2) -> d :: Counter -> p :: Pipeliner -> z :: Counter
      -> Discard;
    elementclass Lane { InfiniteSource(LIMIT 500) -> e :: Counter -> Discard };
    lane :: Lane; AddressInfo(a 1.0.0.1);
    StaticThreadSched(u 1, p 2, lane 2);
"""


def test_packets_pass_from_thread_to_thread_and_handlers_are_found():
    script = """
        DriverManager(label again, goto again $(lt $(add $(z.count) $(lane/e.count)) 1500),
          print "$(c.count) $(d.count) $(s.home_thread) $(u.home_thread) $(z.home_thread)",
          write d.reset, print $(d.count), stop);"""
    result = run(PERIGEE, "click", "-h", "z.count", "-h", "lane/e.count", "-e",
                 PARTS + script.replace("label again, goto", "label again, wait 0.01, goto"),
                 timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout == ("1000 1000 0 1 2\n0\n"
                             "z.count:\n1000\n\nlane/e.count:\n500\n\n")
    assert result.stderr == ""


@pytest.mark.parametrize("source", [
    "InfiniteSource(LIMIT 20000, BURST 32)", "FromDump({file}, BURST 32)",
    "FromDPDKDevice(\"pcap:rx={file}\")"])
def test_a_source_waits_for_a_slow_thread(tmp_path, source):
    """The second thread takes three packets in a breath."""
    file = tmp_path / "in.pcap"
    save(file, [b"%060d" % i for i in range(20000)])
    text = source.format(file=file) + """ -> Null -> p :: Pipeliner -> Perigee(
        testing.flows.Slow, {packets = 3});
        StaticThreadSched(p 1); DriverManager(label again, wait 0.01,
          goto again $(lt $(p.count) 20000), print $(p.count), stop);"""
    result = run(PERIGEE, "-p", ROOT / "test/lua", "click", "-j", "2", "-e", text,
                 timeout=60)
    assert (result.stdout, result.returncode) == ("20000\n", 0), result.stderr


def test_each_part_is_on_its_thread():
    text = ('in :: FromDPDKDevice("null:size=60") -> c :: Counter -> q :: Queue(500)'
            ' -> u :: Unqueue -> d :: Counter -> Discard; StaticThreadSched(in 1, u 2)')
    with running(PERIGEE, "click", "-e", text) as click:
        click.wait_for_engine()

        def busy():
            result = perigee("top", "--once", "--json", "-i", "300ms", click.pid)
            apps = json.loads(result.stdout)[0]["apps"] if result.returncode == 0 else []
            return {app["name"] for app in apps if app["output"] > 0}
        wait_until(lambda: {"click_1/c", "click_2/d"} <= busy(), "both parts")
        assert click.interrupt() == 0


def test_a_wrong_handler_is_told_with_its_name():
    """Also before the other threads have begun."""
    result = run(PERIGEE, "click", "-h", "d.nonesuch", "-e",
                 PARTS + "Script(print $(z.nope), stop)", timeout=60)
    assert result.returncode == 1
    assert "no 'z.nope' read handler" in result.stderr
    assert "no 'd.nonesuch' handler" in result.stderr


@pytest.mark.parametrize("options, said", [
    (("-j", "1"), "s: StaticThreadSched wants thread 1, but there are 1; it runs on "
                  "thread 0"),
    (("-R",), "StaticThreadSched has no effect: -R needs one router"),
    (("--simtime",), "StaticThreadSched has no effect: --simtime needs one router"),
], ids=["j", "reconfigure", "simtime"])
def test_where_it_has_no_effect_a_sentence_says_why(options, said):
    text = ("s :: InfiniteSource(LIMIT 1) -> d :: Counter -> Discard;"
            "StaticThreadSched(s 1); DriverManager(wait 0.01, print $(d.count), stop)")
    result = run(PERIGEE, "click", *options, "-e", text)
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr
    assert f"warning: {said}\n" in result.stderr
    assert "warning" not in run(PERIGEE, "click", "-w", *options, "-e", text).stderr


@pytest.mark.parametrize("front", [[], ["--log-level", "error"]], ids=["alone", "behind"])
def test_words_for_dpdk_are_not_our_options(front):
    """Perigee has a --log-level, too, which takes no numbers."""
    result = run(PERIGEE, "click", *front, "--dpdk", "--log-level=1", "-n", "4", "--",
                 "--log-level", "error", "-e", "Script(print \"here\", stop)")
    assert (result.returncode, result.stdout) == (0, "here\n"), result.stderr
    result = run(PERIGEE, "click", "-e", "Script(stop)", "--log-level", "1")
    assert result.returncode == 2 and "give one of error, info, warning" in result.stderr


@pytest.mark.parametrize("more, printed", [
    ("DriverManager(wait, wait, print $(c.count)/$(d.count), stop)", "30/50\n"),
    ("", ""),
], ids=["DriverManager", "nobody"])
def test_what_stops_on_other_threads_is_told_to_the_driver_manager(more, printed):
    text = ("a :: RatedSource(RATE 1000, LIMIT 30, STOP true) -> c :: Counter -> Discard;"
            "b :: RatedSource(RATE 1000, LIMIT 50, STOP true) -> d :: Counter -> Discard;"
            "StaticThreadSched(a 1, b 2);" + more)
    result = run(PERIGEE, "click", "-j", "3", "-e", text)
    assert (result.returncode, result.stdout) == (0, printed), result.stderr


@pytest.mark.parametrize("command", [["click", "-j", "3"], ["--no-fuse", "click"]],
                         ids=["threads", "links"])
@pytest.mark.parametrize("source", [
    "RatedSource(LENGTH 60, RATE 10000000, LIMIT 30000, STOP true)",
    "InfiniteSource(LENGTH 60, BURST 32, LIMIT 30000, STOP true)"], ids=["rated", "infinite"])
def test_sources_wait_where_links_are_full(command, source):
    """Beside another thread, and where apps have links between them."""
    text = (f"a :: {source} -> c :: Counter; b :: {source} -> c; c -> d :: Counter -> Discard;"
            "StaticThreadSched(a 1, b 2);"
            "DriverManager(wait, wait, wait 100ms, print $(c.count)/$(d.count), stop)")
    result = run(PERIGEE, *command, "-w", "-e", text)
    assert (result.returncode, result.stdout) == (0, "60000/60000\n"), result.stderr


def test_elements_that_need_each_other_stay_together():
    """An ARPQuerier finds no table that another thread has."""
    text = ("t :: ARPTable; s :: InfiniteSource(LIMIT 1)"
            "-> arp :: ARPQuerier(1.0.0.1, 2:0:0:0:0:1, TABLE t) -> Discard;"
            "Idle -> [1] arp; StaticThreadSched(s 1);"
            "DriverManager(wait 0.01, print $(arp.class), stop)")
    result = run(PERIGEE, "click", "-e", text)
    assert (result.returncode, result.stdout) == (0, "ARPQuerier\n"), result.stderr
    assert "warning: StaticThreadSched has no effect: " in result.stderr


def test_a_thread_that_passes_on_what_others_send_loses_nothing():
    """Seven threads to a second one, whose packets go on to a third, by full rings."""
    sources = "".join(f"s{i} :: RatedSource(LENGTH 4, RATE 1000000, LIMIT 10000, STOP true)"
                      f" -> c; StaticThreadSched(s{i} {i});" for i in range(1, 8))
    text = ("c :: Counter -> p :: Pipeliner(BLOCKING true) -> d :: Counter -> Discard;"
            + sources + "DriverManager(" + "wait, " * 7 + "print $(c.count)/$(d.count), stop)")
    result = run(PERIGEE, "click", "-w", "-j", "8", "-e", text, timeout=60)
    assert (result.returncode, result.stdout) == (0, "70000/70000\n"), result.stderr


def test_packets_know_the_thread_that_they_come_from(tmp_path):
    """And are there before the stop that their source asked for is heeded."""
    lines = tmp_path / "in.txt"
    lines.write_text("!data src dst\n" + "1.0.0.1 2.0.0.2\n" * 3)
    text = (f"in :: Counter -> q :: CPUSwitch; t :: ToIPSummaryDump({tmp_path}/out,"
            " FIELDS thread src, HEADER false); m :: Null; q[0] -> m; q[1] -> m -> t;"
            f"a :: FromIPSummaryDump({lines}, STOP true) -> in;"
            f"b :: FromIPSummaryDump({lines}, STOP true, ACTIVE false) -> in;"
            f"c :: FromIPSummaryDump({lines}, STOP true, ACTIVE false) -> u :: Queue"
            " -> z :: Unqueue -> in;"
            "StaticThreadSched(a 0, b 1, c 1, z 0);"
            "DriverManager(pause, write b.active true, pause, write c.active true, pause,"
            "  wait 10ms, read in.passing_threads, read q.passing_threads)")
    result = run(PERIGEE, "click", "-w", "-j", "2", "-e", text, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stderr.split() == ["in.passing_threads:", "0-1", "q.passing_threads:", "0-1"]
    got = (tmp_path / "out").read_text().splitlines()
    assert got[:6] == ["0 1.0.0.1"] * 3 + ["1 1.0.0.1"] * 3
    assert set(got[6:]) <= {"0 1.0.0.1"}  # thread 0 pulled them


def test_each_thread_has_its_output_of_a_switch():
    text = ("s :: ExactCPUSwitch; s[0] -> x :: Counter -> Discard;"
            "s[1] -> y :: Counter -> Discard;"
            "a :: InfiniteSource(LIMIT 100, STOP true) -> s;"
            "b :: InfiniteSource(LIMIT 200, STOP true) -> s; StaticThreadSched(a 1, b 3);"
            "DriverManager(wait, wait, print $(x.count) $(y.count), read y.passing_threads)")
    result = run(PERIGEE, "click", "-j", "4", "-e", text, timeout=60)
    assert (result.returncode, result.stdout) == (0, "100 200\n"), result.stderr
    assert result.stderr == "y.passing_threads:\n3\n"  # and no warning
