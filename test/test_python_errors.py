# SPDX-License-Identifier: Apache-2.0
"""The package of contrib/python where programs fail: each error is a PerigeeError with a
sentence, nothing hangs, and no process is left. The programs are scripts that behave as
badly as needed."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from helpers.command import PERIGEE, ROOT, wait_until

PACKAGE = ROOT / "contrib" / "python" / "src"

# A program with a control socket: it says one of the `answers` to each line, and at the
# first line after them it runs `at_end`.
FAKE = '''#!{python}
import json, os, signal, socket, sys, time
folder = os.path.dirname(os.path.abspath(__file__))
if sys.argv[1] == "ps":
    with open(folder + "/pid") as file:
        pid = int(file.read())
    print(json.dumps([{{"pid": pid, "program": "it", "directory": folder,
                        "control": folder + "/control"}}]))
    sys.exit()
server = socket.socket(socket.AF_UNIX)
server.bind(folder + "/control")
server.listen()
with open(folder + "/pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename(folder + "/pid.new", folder + "/pid")
peer, _ = server.accept()
lines = peer.makefile("rb")
for answer in {answers!r}:
    lines.readline()
    peer.sendall(answer)
lines.readline()
{at_end}
'''


@pytest.fixture
def fake(tmp_path):
    """A function that writes such a program, or the text of a script; its path."""
    def write(answers=(), at_end="time.sleep(1000)", text=None):
        path = tmp_path / "perigee"
        path.write_text(text or FAKE.format(python=sys.executable, answers=list(answers),
                                            at_end=at_end))
        path.chmod(0o700)
        (tmp_path / "pid").write_text("0")
        return path
    return write


def python(source, perigee, *arguments):
    """Run the source; its standard output. Whatever it raises is a fault."""
    preamble = '''
        import sys
        import perigee

        def sentence(act):
            try:
                print("no error:", act())
            except perigee.PerigeeError as error:
                print(error)
        '''
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(preamble) + textwrap.dedent(source),
         *map(str, arguments)], text=True, capture_output=True, timeout=300, check=False,
        env={**os.environ, "PERIGEE": str(perigee), "PYTHONPATH": str(PACKAGE)})
    assert result.returncode == 0, result.stderr
    return result.stdout


ASK = '''
    with perigee.Generator(port="null") as run:
        sentence(run.statistics)
    '''


@pytest.mark.parametrize("answer, said", [
    (b"HTTP/1.1 400 Bad Request\r\n", "the process said 'HTTP/1.1 400 Bad Request"),
    (b"\xff\xfe\n", "which isn't a JSON object"),
    (b"[" * 5000 + b"\n", "which isn't a JSON object"),
    (b"7\n", "the process said '7\\n', which isn't a JSON object"),
    (b"{}\n", "the process's answer isn't understood (KeyError: 'answer')"),
    (b'{"error": {"of": 1}}\n', "{'of': 1}")], ids=range(6))
def test_garbage_on_the_socket(fake, answer, said):
    assert said in python(ASK, fake([answer], at_end="sys.exit()"))


def test_what_has_another_form(fake):
    path = fake([b'{"answer": {"apps": 7}}\n'], at_end="sys.exit()")
    said = python('''
        with perigee.Program("it") as run:
            sentence(run.instance().counters)
        ''', path)
    assert "what the process has counted isn't understood" in said


def test_a_packet_of_another_form(fake):
    path = fake([b'{"answer": {}}\n{"packet": {}}\n'], at_end="sys.exit()")
    said = python('''
        with perigee.Program("it") as run:
            sentence(lambda: list(run.instance().trace()))
        ''', path)
    assert "the way of a packet isn't understood (KeyError: 'end')" in said


@pytest.mark.parametrize("script, said", [
    ("echo '{\"results\": 7'", "what perigee ps says isn't understood"),
    ("echo '[{}]'", "what perigee ps says isn't understood (KeyError: 'pid')"),
    ("echo 'perigee: no' >&2; exit 3", "no\n"),
    ("exit 3", "perigee has ended with status 3"),
    ("kill -9 $$", "perigee was ended by signal SIGKILL\n"),
    ("kill -40 $$", "perigee was ended by signal 40\n"),
    ("echo 'perigee: a pool grew' >&2; kill -11 $$",
     "perigee was ended by signal SIGSEGV; it had said: a pool grew\n")])
def test_a_program_that_ends_badly(fake, script, said):
    path = fake(text=f"#!/bin/sh\n{script}\n")
    assert python("sentence(perigee.instances)", path).startswith(said)


@pytest.mark.parametrize("words, said", [
    ("'generate', port='null'", "the report isn't understood"),
    ("'connect', 'both'", "the report isn't understood")],
                         ids=["generate", "connect"])
def test_a_report_that_is_cut(fake, words, said):
    path = fake(text='#!/bin/sh\nfor last; do :; done\nprintf \'{"packets": 1\' > "$last"\n')
    name, _, rest = words.replace("'", "", 2).partition(", ")
    assert said in python(f"sentence(lambda: perigee.{name}({rest}))", path)


def test_the_sentence_of_a_program_that_ends_while_it_is_asked(fake):
    said = python('''
        with perigee.Generator(port="null") as run:
            sentence(lambda: run.wait_for(lambda s: s["sent"]))
            sentence(run.statistics)
        print(run.errors, end="")
        ''', fake([b'{"answer": {"sent": 0}}\n'], at_end='''
print("perigee: the port has gone", file=sys.stderr)
sys.exit(1)'''))
    assert said.splitlines() == ["the port has gone", "the port has gone",
                                 "perigee: the port has gone"]


def test_output_and_report_stay_after_the_end():
    said = python('''
        with perigee.Generator(port="ring:a", receive="ring:a", count=10) as run:
            run.wait()
        print(run.report().received.packets, run.errors == "", len(run.output) > 10)
        ''', PERIGEE)
    assert said.split() == ["10", "True", "True"]


def test_no_process_is_left_without_a_with(fake):
    path = fake(text='''#!/bin/sh
trap 'echo told > "$0.told"; exit 0' INT
echo $$ > "$0.pid"
while :; do sleep 0.05; done
''')
    python('''
        import pathlib, time
        run = perigee.Program("it")
        while not pathlib.Path(sys.argv[1] + ".pid").exists():
            time.sleep(0.01)
        ''', path, path)
    assert path.with_name("perigee.told").exists()


def test_ctrl_c_ends_a_program_that_does_not_care(fake, tmp_path):
    """Ctrl-C again while the `with` waits for a program's end kills the program."""
    path = fake(text='''#!/bin/sh
trap 'echo told > "$0.told"' INT
echo $$ > "$0.pid"
while :; do sleep 0.05; done
''')
    source = f'''
import signal, time, pathlib, perigee
signal.signal(signal.SIGINT, signal.default_int_handler)
with perigee.Program("it", perigee="{path}") as run:
    while not pathlib.Path("{path}.pid").exists():
        time.sleep(0.01)
'''
    process = subprocess.Popen([sys.executable, "-c", source], stderr=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": str(PACKAGE)}, text=True)
    wait_until(path.with_name("perigee.told").exists, "SIGINT to the program")
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    pid = path.with_name("perigee.pid").read_text().strip()
    assert not os.path.exists(f"/proc/{pid}")
