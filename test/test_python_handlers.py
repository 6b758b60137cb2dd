# SPDX-License-Identifier: Apache-2.0
"""Handlers of a Click configuration, from Python (contrib/python)."""

from helpers.python_package import execute


def test_handlers_of_a_click_configuration(environment):
    source = '''
import contextlib, socket, threading
import perigee

text = """TimedSource(0.001, "x") -> c :: Counter -> s :: Switch(0) -> Discard;
s[1] -> Discard;"""

def refused(act, *words):
    try:
        act(*words)
    except perigee.PerigeeError as error:
        return print("refused:", error)
    raise SystemExit(f"{words} was accepted")

with perigee.Program("click", "-R", "-e", text) as program:
    with program.handlers() as handlers:
        assert handlers.elements()["s"] == "Switch"
        assert perigee.Handler("switch", True, True, False) in handlers.of("s")
        assert "hotconfig" in [h.name for h in handlers.of("")]
        while int(handlers.read("c.count")) < 2:
            pass
        handlers.write("s.switch", 1)
        assert handlers.read("s.switch") == "1"
        for words in [("none.count",), ("c.none",), ("c.reset",)]:
            refused(handlers.read, *words)
        refused(handlers.write, "s.switch", "a word")
        before = int(handlers.read("c.count"))
        refused(handlers.reconfigure, "c :: Cuonter")
        handlers.reconfigure(text + " d :: Idle -> Discard;")
        assert int(handlers.read("c.count")) >= before and "d" in handlers.elements()
        assert "d :: Idle" in handlers.configuration()
        program.instance().reconfigure(text)
        assert "d" not in handlers.elements()

with perigee.Program("click", "-R", "-u", "router", "-e", text) as program:
    with program.click_socket("router") as handlers:
        assert {"c", "s"} <= set(handlers.elements())
        while int(handlers.read("c.count")) < 2:
            pass
        handlers.write("s.switch", 1)
        assert handlers.read("s.switch").strip() == "1"
        for words in [("nothing.count",), ("c.nothing",), ("c.reset",), ("a b",), ("",)]:
            refused(handlers.read, *words)
        refused(handlers.write, "s.switch", "many\\nlines")
        before = int(handlers.read("c.count"))
        refused(handlers.reconfigure, "c :: Cuonter")
        assert int(handlers.read("c.count")) >= before
        handlers.reconfigure(text + " d :: Idle -> Discard;")
        assert int(handlers.read("c.count")) >= before and "d" in handlers.elements()
        assert "d :: Idle" in handlers.configuration()
    with perigee.ClickSocket("router") as handlers:
        program.stop()
        refused(handlers.read, "c.count")
refused(perigee.ClickSocket, "router")
refused(perigee.ClickSocket, 1)
with perigee.Program("click", "-u", "router", "-e", "c :: Cuonter") as program:
    refused(program.click_socket, "router")

# What says anything is not believed.
for said in [b"", b"SSH-2.0\\r\\n", b"Click::ControlSocket/1.3\\r\\n",
             b"Click::ControlSocket/1.3\\r\\n200 OK\\r\\nDATA 99999999999\\r\\n",
             b"Click::ControlSocket/1.3\\r\\n200 OK\\r\\nDATA 5\\r\\nab",
             b"Click::ControlSocket/1.3\\r\\nabc\\r\\n",
             b"Click::ControlSocket/1.3\\r\\n" + b"2" * 100000,
             b"Click::ControlSocket/1.3\\r\\n510-one\\r\\n510 two\\r\\n"]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        def lie():
            connection, _ = server.accept()
            with connection, contextlib.suppress(ConnectionResetError):
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1000):
                    pass
        thread = threading.Thread(target=lie)
        thread.start()
        def ask():
            with perigee.ClickSocket(server.getsockname()[1]) as handlers:
                handlers.read("c.count")
        refused(ask)
        thread.join()
'''
    result = execute(environment, source)
    assert result.returncode == 0, result.stderr
    said = result.stdout
    for sentence in ("there is no element 'none'", "there is no handler 'c.none'",
                     "handler 'c.reset' can't be read", "handler 's.switch': Switch output",
                     "No element named 'nothing'", "No handler named 'c.nothing'",
                     "'a b' isn't the name of a handler", "Cuonter", "the router has ended",
                     "can't connect to router: ", "isn't a ControlSocket", "one\ntwo",
                     "in the place of DATA", "a line of over 65536 bytes came"):
        assert sentence in said, (sentence, said)


def test_what_dies_and_what_is_not_utf_8(environment):
    source = '''
import os, socket, threading
import perigee
from perigee.control import Control

def sentence(f, *arguments, **keywords):
    try:
        result = f(*arguments, **keywords)
    except perigee.PerigeeError as error:
        return str(error)
    raise AssertionError(result)

assert sentence(perigee.run, "ps", perigee="/no/such") == \
    "/no/such can't be started: No such file or directory"
assert sentence(perigee.Program, "ps", perigee="/no/such") == \
    "/no/such can't be started: No such file or directory"
assert sentence(perigee.run, "echo", "null", timeout=0.5) == \
    "perigee echo null hasn't ended within 0.5 s"
assert "\\udcff" in sentence(perigee.run, "proto", "eth\\udcff")
with perigee.Program("proto", "eth") as program:
    program.wait()
    assert sentence(program.instance) == "it has ended"

for what in "capture", "trace":
    with perigee.Program("echo", "null") as program:
        packets = {"capture": lambda i: i.capture(app="fwd1"),
                   "trace": lambda i: i.trace(count=10**6)}[what](program.instance())
        control = program.control
        next(packets)
        os.kill(program.pid, 9)
        said = sentence(list, packets)
        assert "ha" in said and "ended" in said or "within a block" in said, said
        assert sentence(program.wait) == "perigee was ended by signal SIGKILL"
        assert sentence(control.ask, "info") == "the process has ended"

with perigee.Program("click", "-e", "Idle -> Discard // \\udcff") as program:
    assert program.instance() in perigee.instances()
with perigee.Generator(port="null", rate="1kpps") as generator:
    assert "there is no stream 'n\\udcff'" in sentence(generator.hold, stream="n\\udcff")

# Who answers, but has no packet for longer than an answer may take.
path = os.path.join(os.environ["FOLDER"], "control")
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen()
def serve():
    client, _ = listening.accept()
    client.recv(1000)
    client.sendall(b\'{"answer":{}}\\n\')
    client.settimeout(0.5)
    try:
        client.recv(1)
    except TimeoutError:
        client.sendall(b\'{"end":{}}\\n\')
threading.Thread(target=serve).start()
instance = perigee.Instance(1, "x", None, "", path)
type(instance).connect = lambda self: Control(self.control, timeout=0.1)
assert list(instance.trace()) == []
'''
    result = execute(environment, source)
    assert result.returncode == 0, result.stderr
