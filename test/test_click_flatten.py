# SPDX-License-Identifier: Apache-2.0
"""`click-flatten` and `click -qo-`, called by those names."""

import re
import subprocess
from xml.etree import ElementTree

import pytest

from helpers.command import PERIGEE

ROUTER = """elementclass Hop { $color | input -> Paint($color) -> output }
define($n 7)
Idle -> Hop($n) -> { -> Discard };
"""

FLAT = """Idle@1 :: Idle;
Hop@2/Paint@1 :: Paint(7);
@3/Discard@1 :: Discard;

Idle@1 -> Hop@2/Paint@1
    -> @3/Discard@1;
"""

WITH_LINES = """define($n 7);

# 3 "r.click"
Idle@1 :: Idle;
# 1 "r.click"
Hop@2/Paint@1 :: Paint($n);
# 3 "r.click"
@3/Discard@1 :: Discard;
# 10 ""
Idle@1 -> Hop@2/Paint@1
    -> @3/Discard@1;
"""


@pytest.fixture
def run(tmp_path):
    """Runs a link to perigee in a folder with r.click."""
    (tmp_path / "r.click").write_text(ROUTER)

    def run(name, *args, stdin=""):
        link = tmp_path / name
        if not link.exists():
            link.symlink_to(PERIGEE)
        return subprocess.run([f"./{name}", *args], input=stdin, cwd=tmp_path, text=True,
                              capture_output=True, timeout=60, check=False)
    return run


@pytest.mark.fast
def test_it_flattens(run):
    result = run("click-flatten", "r.click")
    assert (result.stdout, result.stderr, result.returncode) == (WITH_LINES, "", 0)
    assert run("perigee", "click-flatten", "r.click").stdout == WITH_LINES
    flat = run("click", "-qo-", stdin=run("click-flatten", "-fr.click").stdout).stdout
    assert flat == FLAT


@pytest.mark.fast
def test_it_lists(run):
    assert run("click-flatten", "-c", "r.click").stdout == "Discard\nIdle\nPaint\n"
    assert run("click-flatten", "--names", "r.click").stdout == (
        "@3/Discard@1\nHop@2/Paint@1\nIdle@1\n")
    assert run("click-flatten", "-d", "-e", "a :: B(c)").stdout == "a :: B\n"


@pytest.mark.fast
def test_variables_come_from_the_command_line(run, tmp_path):
    result = run("click-flatten", "--expand-vars", "n=8", "r.click", "-o", "out")
    assert (result.stdout, result.returncode) == ("", 0)
    assert "Paint(8)" in (tmp_path / "out").read_text()
    assert "Paint(9)" in run("click", "n=9", "-qo-", "r.click").stdout


@pytest.mark.fast
@pytest.mark.parametrize("args, error", [
    (["-e", "a -> ;\nb :: ;"], "config:1: syntax error near ';'\n"
     "config:2: missing element type in declaration\n"),
    (["none.click"], "none.click: No such file or directory\n"),
    (["-o", "no/where", "-e", "A"], "no/where: No such file or directory\n"),
    (["-o", "/dev/full", "-e", "A"], "/dev/full: No space left on device\n"),
    (["-z"], "click-flatten: unrecognized option '-z'\n"
     "Usage: click-flatten [OPTION]... [VAR=VALUE]... [FILE]\n"
     "Try 'click-flatten --help' for more information.\n"),
])
def test_it_says_what_is_wrong(run, args, error):
    result = run("click-flatten", *args)
    assert (result.stdout, result.stderr, result.returncode) == ("", error, 1)


# Click's other tools ---------------------------------------------------------------

@pytest.mark.fast
def test_an_option_of_running_graphs_is_refused(run):
    for name in ("click-flatten", "click-check", "click-undead", "click-align",
                 "click-xform", "click-pretty"):
        for option in "--check", "--no-fuse", "--nonsense":
            result = run(name, option, "-e", "Idle -> Discard")
            assert result.returncode == 1 and result.stdout == ""
            assert f"{name}: unrecognized option '{option}'\n" in result.stderr
    result = run("perigee", "click-flatten", "--check", "-e", "Idle -> Discard")
    assert result.returncode == 1 and "unrecognized option '--check'" in result.stderr


@pytest.mark.fast
def test_check(run):
    assert run("click-check", "r.click").stderr == "configuration OK\n"
    result = run("click-check", "-p", "-e", "a :: Idle -> b :: Discard")
    assert result.stdout.endswith("\na -> b;\n") and result.stderr == ""
    for config, error in [
            ("Idle -> Foo", "config:1: unknown element class 'Foo'"),
            ("Idle -> [1] Discard", "'Discard@2 :: Discard' has no input 1"),
            ("InfiniteSource -> Queue -> Queue -> Discard", "connected to")]:
        result = run("click-check", "-e", config)
        assert result.returncode == 1 and error in result.stderr, result.stderr
        assert result.stdout == ""


@pytest.mark.fast
def test_undead(run):
    result = run("click-undead", "-V", "-e", "i :: InfiniteSource -> d :: Discard;"
                 "Idle -> c :: Counter -> d")
    assert result.stdout.endswith("\ni -> d;\n") and "Counter" not in result.stdout
    assert "config:1: removing 'c :: Counter'\n" in result.stderr
    result = run("click-undead", "-e", "Idle -> Discard")
    assert (result.returncode, result.stdout, result.stderr) == (
        1, "", "warning: no live elements in configuration\n")


@pytest.mark.fast
def test_combine_and_uncombine(run):
    joined = run("click-combine", "-n", "A", "-e", "x :: FromDump(a) -> y :: ToDevice(eth1)",
                 "-n", "B", "-e", "x :: FromDevice(eth0) -> y :: Discard", "A.eth1=B.eth0")
    assert joined.returncode == 0 and joined.stdout.startswith("!<arch>\n")
    one = run("click-uncombine", "-", "A", stdin=joined.stdout).stdout
    assert one.endswith("\nx -> y;\n") and "y :: ToDevice(eth1);" in one
    for args, error in [
            (["-", "C"], "no 'C' component\n"), (["-"], "no component name specified\n")]:
        result = run("click-uncombine", *args, stdin=joined.stdout)
        assert (result.returncode, result.stderr) == (1, error)
    result = run("click-combine", "A=r.click", "A=r.click")
    assert (result.returncode, result.stderr) == (
        1, "warning: no links between routers\ntwo routers named 'A'\n")
    assert run("click-combine").stderr == "no routers specified\n"


@pytest.mark.fast
def test_xform(run, tmp_path):
    (tmp_path / "p").write_text(
        "elementclass P { input -> Strip($n) -> c :: Counter -> output }\n"
        "elementclass P_Replacement { input -> c :: Null($n) -> output }\n")
    config = ("-e", "define($a 1) i :: Idle -> Strip(14) -> x :: Counter -> d :: Discard")
    there = run("click-xform", "-p", "p", *config)
    assert there.stderr == "" and there.stdout.endswith("i -> x\n    -> d;\n")
    assert "define($a 1);" in there.stdout and "x :: Null(14);" in there.stdout
    back = run("click-xform", "-r", "-", "p", stdin=there.stdout)
    assert back.stdout.endswith("i -> P@1/Strip@1\n    -> x\n    -> d;\n")
    for args, error in [
            (["-p", "none", *config], "none: No such file or directory\n"),
            (["-e", "Idle -> Discard", *config], "router configuration specified twice\n"),
            (["-p", "p", "-e", "Idle ->"], "config:1: syntax error near end of file\n")]:
        result = run("click-xform", *args)
        assert (result.stdout, result.stderr, result.returncode) == ("", error, 1)
    assert run("click-xform", "-e", "").stderr == (
        "config: warning: empty configuration\nwarning: no patterns read\n")


@pytest.mark.fast
def test_pretty(run):
    result = run("click-pretty", "-u", "http://x/%s.html", "-e", "Idle -> Nonesuch")
    assert result.stderr == "config:1: warning: unknown element class 'Nonesuch'\n"
    assert 'href="http://x/Idle.html">Idle</a> -&gt; ' in result.stdout
    assert run("click-pretty", "-o", "out.html", "r.click").stdout == ""
    assert run("click-pretty", "--dot", "r.click").stdout.startswith("// Push")
    result = run("click-pretty", "-e", "Idle ->")
    assert result.returncode == 1 and result.stdout == ""


@pytest.mark.fast
def test_pretty_fills_in_templates(run, tmp_path):
    template = tmp_path / "list.txt"
    template.write_text('<~elements entry="<~mark><~name>" sep=",">\n')
    text = "i :: Idle -> d :: Discard"
    result = run("click-pretty", "-t", str(template), "-d", "mark=* ", "-e", text)
    assert (result.stdout, result.stderr) == ("* d,* i\n", "")
    result = run("click-pretty", "--dot", "-T", "<~name> of <~type>", "-e", text)
    assert '"i" [label="{i of Idle}"];' in result.stdout
    result = run("click-pretty", "--write-template", "-e", text)
    assert "<~config>" in result.stdout and "Idle" not in result.stdout
    again = run("click-pretty", "-T", result.stdout, "-e", text)
    assert again.stdout == run("click-pretty", "-e", text).stdout
    for option, value, message in (
            ("-d", "mark", "-d takes NAME=TEXT, not 'mark'"),
            ("-t", "/nonesuch", "/nonesuch: No such file or directory"),
            ("-t", "/tmp", "/tmp: Is a directory")):
        result = run("click-pretty", option, value, "-e", text)
        assert (result.stdout, result.stderr, result.returncode) == (
            "", message + "\n", 1)


GRAPH = 's :: InfiniteSource("<x>", LIMIT 3) -> t :: Tee -> Queue -> u :: Unqueue -> ' \
    'Discard; t[1] -> c :: { input -> Counter -> output } -> d :: Discard'


@pytest.mark.fast
def test_pretty_writes_graphml(run):
    result = run("click-pretty", "--graphml", "-e", GRAPH)
    assert (result.stderr, result.returncode) == ("", 0)
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    root = ElementTree.fromstring(result.stdout.encode())
    nodes = {node.get("id"): node for node in root.findall(".//g:node", space)}
    names = {key: node.find("g:data[@key='kn']", space).text
             for key, node in nodes.items()}
    edges = {f"{names[edge.get('source')]} {edge.get('sourceport')} "
             f"{names[edge.get('target')]} {edge.get('targetport')}"
             for edge in root.findall(".//g:edge", space)}
    assert edges == {
        "s o0 t i0", "t o0 Queue@3 i0", "Queue@3 o0 u i0", "u o0 Discard@5 i0",
        "t o1 c/Counter@1 i0", "c/Counter@1 o0 d i0"}
    kinds = {names[key]: "".join(port.find("g:data", space).text
                                 for port in node.findall("g:port", space))
             for key, node in nodes.items()}
    assert kinds == {"s": "h", "t": "hhh", "Queue@3": "hl", "u": "lh", "Discard@5": "h",
                     "c/Counter@1": "hh", "d": "h"}
    result = run("click-pretty", "--graphml", "-e", "Idle -> Nonesuch")
    assert result.stderr == "config:1: warning: unknown element class 'Nonesuch'\n"
    assert result.stdout.count('<data key="kp">a</data>') == 2


@pytest.mark.fast
def test_pretty_writes_gml(run):
    result = run("click-pretty", "--gml", "-e", GRAPH)
    assert (result.stderr, result.returncode) == ("", 0)
    labels = re.findall(r'id \d+\n    label "(.*)"', result.stdout)
    assert labels == ["s :: InfiniteSource", "t :: Tee", "Queue", "u :: Unqueue",
                      "Discard", "d :: Discard", "c/Counter@1 :: Counter"]
    edges = re.findall(r"source (\d+)\n +target (\d+)\n.*\n.*xSource (\S+)",
                       result.stdout)
    assert sorted(edges) == [
        ("0", "1", "0.000000"), ("1", "2", "-0.500000"), ("1", "6", "0.500000"),
        ("2", "3", "0.000000"), ("3", "4", "0.000000"), ("6", "5", "0.000000")]
    assert result.stdout.count("[") == result.stdout.count("]")


@pytest.mark.fast
@pytest.mark.parametrize("name", ["align", "devirtualize", "fastclassifier"])
def test_what_has_nothing_to_do_says_so_and_writes_the_configuration(run, name):
    result = run(f"click-{name}", "r.click")
    assert result.returncode == 0 and result.stdout == WITH_LINES
    assert len(result.stderr.splitlines()) == 1 and "Perigee" in result.stderr
