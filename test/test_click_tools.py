# SPDX-License-Identifier: Apache-2.0
"""tools/clicktests, on a small tree laid out like a FastClick checkout with a runner of
its own; and the pages that tools write about Click."""

import socket
import subprocess
import sys

import pytest

from helpers.command import PERIGEE, ROOT, perigee, run

sys.path.insert(0, str(ROOT / "tools/click"))

import patience  # noqa: E402
import programs  # noqa: E402
import reasons  # noqa: E402

# A runner that does what is in the test, and says what FastClick's would.
RUNNER = r"""
my $file = $ARGV[-1];
$ENV{PATH} = "$ARGV[4]:$ENV{PATH}";
my $status = system("sh", $file) >> 8;
print "$file: Running...\n";
print "$file:7: requirement failure at 'x'\n" if $status == 2;
print "$file:3: failure at 'click'\n$file:3:   expected so\n" if $status == 1;
my @said = ("1 success, 0 failures, 0 skipped", "0 successes, 1 failure, 0 skipped",
    "0 successes, 0 failures, 1 skipped");
print "clicktest: $said[$status]\n";
"""
TESTS = {
    "ip/good": "test \"$(click -e 'DriverManager(print \"ok\")')\" = ok",
    "ip/bad": "click -e 'Discard' 2>/dev/null || exit 1",
    "ip/skipped": "click-buildtool provides Discard && "
                  "click-buildtool provides Nonesuch || exit 2",
    "net/nc": "(echo a | nc -l PORT >got) & until echo b | nc localhost PORT >reply; "
              "test -s reply; do :; done; wait; test \"$(cat got reply)\" = 'b\na'",
    "net/not": "not false && click-buildtool provides '!Nonesuch' umultithread",
}
SUMMARY = """\
                passed  failed  skipped
ip                   1       1        1
net                  2       0        0
all                  3       1        1
"""


def free_port():
    """The number of a TCP port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def fastclick(tmp_path):
    port = str(free_port())
    for name, text in TESTS.items():
        text = text.replace("PORT", port)
        path = tmp_path / "test" / f"{name}.clicktest"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("\\n", "\n"))
    (tmp_path / "test/clicktest").write_text(RUNNER)
    return tmp_path


def test_it_counts_by_folder(fastclick):
    result = run(ROOT / "tools/clicktests", fastclick, "ip", "net")
    assert result.stdout == (
        "failed: ip/bad: failure at 'click'; expected so\n" + SUMMARY), result.stderr
    assert result.returncode == 1
    assert "ip/bad fails, and tools/click/reasons.txt doesn't say why" in result.stderr


def test_what_must_pass_must(fastclick):
    (fastclick / "test/ip/bad.clicktest").rename(
        fastclick / "test/ip/IPFilter-01.clicktest")
    result = run(ROOT / "tools/clicktests", fastclick, "ip/IPFilter-01")
    assert result.returncode == 1
    assert "ip/IPFilter-01 must pass: failure at 'click'; expected so" in result.stderr


def test_clicks_own_may_expect_something_else(fastclick):
    (fastclick / "test/standard").mkdir()
    (fastclick / "test/ip/bad.clicktest").rename(
        fastclick / "test/standard/RatedUnqueue-01.clicktest")
    arguments = [ROOT / "tools/clicktests", fastclick, "standard/RatedUnqueue-01"]
    result = run(*arguments)
    assert (result.returncode, "must pass" in result.stderr) == (1, True)
    result = run(*arguments, "--original")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.fast
def test_it_refuses_what_is_no_checkout(fastclick):
    result = run(ROOT / "tools/clicktests", fastclick / "test")
    assert (result.returncode, result.stdout) == (1, "")
    assert "no checkout of FastClick: it has no test/clicktest" in result.stderr
    result = run(ROOT / "tools/clicktests", fastclick, "nowhere")
    assert "there is no test nowhere" in result.stderr


@pytest.mark.fast
def test_reasons_are_neither_stale_nor_missing(tmp_path, monkeypatch):
    file = tmp_path / "reasons.txt"
    file.write_text("# why\na/1: no such element\na/2: slow\nb/3: gone\n")
    monkeypatch.setattr(reasons, "FILE", file)
    results = {"a/1": "fail", "a/2": "pass", "a/4": "fail", "a/5": "skip"}
    assert list(reasons.problems(results)) == [
        "a/2 passes: tools/click/reasons.txt says that it fails",
        "a/4 fails, and tools/click/reasons.txt doesn't say why",
        "tools/click/reasons.txt: there is no test b/3"]
    assert "| a/1 | no such element |\n| a/2 | slow |\n" in reasons.table()
    file.write_text("a/1 no colon\n")
    with pytest.raises(ValueError, match="reasons.txt:1"):
        reasons.read()


@pytest.mark.fast
def test_reasons_of_configurations_are_neither_stale_nor_missing(tmp_path, monkeypatch):
    file = tmp_path / "conf_reasons.txt"
    file.write_text("a/1.click: it has an error\na/2.click: no such element\n")
    monkeypatch.setattr(reasons, "CONF_FILE", file)
    names = ["a/1.click", "a/2.click", "a/3.click", "a/4.click"]
    assert list(reasons.conf_problems({"a/1.click", "a/3.click"}, names)) == [
        "a/2.click runs: tools/click/conf_reasons.txt says that it doesn't",
        "a/3.click doesn't run, and tools/click/conf_reasons.txt doesn't say why"]
    assert "| a/1.click | it has an error |\n" in reasons.conf_table()


@pytest.mark.fast
def test_what_goes_by_the_clock_gets_more_time(tmp_path):
    assert patience.read()["threads/Pipeliner-02"] == ("wait 1.1s", "wait 10s")
    path = tmp_path / "a.clicktest"
    path.write_text("wait 1s, stop\n")
    copies = tmp_path / "copies"
    copies.mkdir()
    assert patience.patient(path, copies, None) == path
    copy = patience.patient(path, copies, ("wait 1s", "wait 9s"))
    assert (copy.parent, copy.name) == (copies, path.name)
    assert copy.read_text() == "wait 9s, stop\n"
    with pytest.raises(SystemExit, match="has no 'wait 2s'"):
        patience.patient(path, copies, ("wait 2s", "wait 9s"))


def test_a_printed_line_is_written_at_once():
    """Lines of several processes stay lines: each is a datagram here."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        result = subprocess.run(
            [PERIGEE, "click", "-e",
             "InfiniteSource(LIMIT 3, STOP true) -> Print(a) -> Discard"],
            stderr=theirs, check=False)
        ours.setblocking(False)
        lines = [ours.recv(4096) for _ in range(3)]
    assert result.returncode == 0
    assert all(line.startswith(b"a: ") and line.endswith(b"\n") for line in lines)


@pytest.mark.fast
def test_the_helpers_know_what_there_is(tmp_path):
    words = programs.words(ROOT, tmp_path).split()
    assert {"Discard", "CounterMP", "userlevel", "flow"} <= set(words)
    assert "dpdk" not in words
    elements = tmp_path / "elements"
    elements.mkdir()
    (elements / "one.cc").write_text("EXPORT_ELEMENT(OneTest)\nELEMENT_REQUIRES(userlevel)")
    (elements / "two.cc").write_text("ELEMENT_REQUIRES(batch dpdk)\nEXPORT_ELEMENT(TwoTest)")
    words = programs.words(ROOT, tmp_path).split()
    assert "OneTest" in words and "TwoTest" not in words


# Pages --------------------------------------------------------------------------


@pytest.mark.fast
def test_the_page_of_tests_has_the_reasons():
    assert (ROOT / "doc/click-tests.md").read_text() == reasons.page(), \
        "tools/clicktests --page FASTCLICK writes it anew"


@pytest.mark.fast
def test_the_page_of_elements_is_up_to_date():
    result = perigee("run", ROOT / "tools/click/elements.lua")
    assert result.returncode == 0, result.stderr
    assert result.stdout == (ROOT / "doc/click-elements.md").read_text(), \
        "`make clickelements` writes it anew"


@pytest.mark.fast
def test_elements_are_explained():
    result = perigee("click", "--explain", "Strip")
    assert result.returncode == 0
    assert result.stdout.startswith("Strip: removes bytes from the front of packets\n")
    assert "\nstandard\n" in perigee("click", "--explain").stdout
    result = perigee("click", "--explain=Strp")
    assert (result.returncode, result.stderr) == (
        1, "click: there is no element class 'Strp'; is 'Strip' meant?\n")


@pytest.mark.fast
def test_a_configuration_is_drawn(tmp_path):
    out = tmp_path / "a.dot"
    result = perigee("click", "--dot", "-o", out, "-e", "Idle -> Discard")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert '"Idle@1" -> "Discard@2";' in out.read_text()
    result = perigee("click", "--dot", "-e", "Idle -> Discrd")
    assert result.returncode == 1
    assert "did you mean 'Discard'?" in result.stderr
