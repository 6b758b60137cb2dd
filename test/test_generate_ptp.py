# SPDX-License-Identifier: Apache-2.0
"""generate between two machines whose clocks ptp4l keeps: a real one on each side of a
veth pair, with software time stamps, and sockets that are silent or lie."""

import contextlib
import os
import shutil
import socket
import struct
import threading
import time

import pytest

from helpers.command import PERIGEE, perigee, run, running, wait_until
from helpers.network import Namespace, veth
from helpers.schema import valid

COUNT = 200
CONFIGURATION = """[global]
uds_address {socket}
time_stamping software
logSyncInterval -1
logMinDelayReqInterval -3
logAnnounceInterval -1
announceReceiptTimeout 10
priority1 {priority}
"""
# Both ends have this machine's one clock: it isn't for them to set.
WITHOUT_SETTING_CLOCKS = ["setpriv", "--bounding-set=-sys_time", "--inh-caps=-sys_time"]

needs_ptp4l = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("ptp4l") or not shutil.which("setpriv"),
    reason="needs ptp4l (linuxptp), and makes interfaces")


@contextlib.contextmanager
def ptp4l(place, interface, folder, priority):
    """A ptp4l runs there, in software; the path of its socket."""
    path = folder / f"{interface}.ptp"
    text = CONFIGURATION.format(socket=path, priority=priority)
    (folder / f"{interface}.cfg").write_text(text)
    with running(*place.command(*WITHOUT_SETTING_CLOCKS, "ptp4l", "-i", interface, "-m", "-f",
                                folder / f"{interface}.cfg")) as process:
        yield process, path


@needs_ptp4l
def test_ptp4l_tells_how_far_clocks_are_joined(tmp_path):
    here, there = Namespace("a"), Namespace("b")
    try:
        veth(here, "one", there, "two")
        veth(here, "three", there, "four")  # PTP's own packets aren't among the measured
        here.ip("address", "add", "10.41.0.1/24", "dev", "one")
        there.ip("address", "add", "10.41.0.2/24", "dev", "two")
        with ptp4l(here, "one", tmp_path, 100) as (_, master), \
                ptp4l(there, "two", tmp_path, 200) as (process, slave):
            wait_until(lambda: process.read() and "to SLAVE" in process.said, "a slave")
            report = tmp_path / "report"
            with running(*there.command(PERIGEE, "generate", "--receive", "packet:four",
                                        "--count", COUNT, "--ptp", slave, "--json",
                                        report)) as receiver:
                receiver.wait_for_engine()
                sent = run(*here.command(PERIGEE, "generate", "--port", "packet:three",
                                         "--clock", "real", "--ptp", master, "--rate",
                                         "2kpps", "--count", COUNT, "--json", "-"))
                assert sent.returncode == 0, sent.stderr
                assert receiver.finish() == 0
    finally:
        here.remove()
        there.remove()
    clock = valid("generate", sent.stdout)["sent"]["clock"]
    assert clock == {"source": "ptp4l", "error_ns": 0}  # the grandmaster's own
    assert "no bound" not in receiver.said, receiver.said
    assert "says ptp4l" in sent.stderr and "says ptp4l" in receiver.said
    got = valid("generate", report.read_text())["received"]
    o = got["one_way"]
    assert o["receiver_source"] == "ptp4l" and got["packets"] == COUNT
    assert o["error_ns"] == o["receiver_error_ns"] > 0
    assert got["latency_count"] + o["early"] == COUNT


def management(name_id, data, request, **changes):
    """What answers a request, with `data`."""
    header = bytearray(request[:48])
    header[46] = changes.get("action", 2)
    tlv = struct.pack(">HHH", changes.get("kind", 1), len(data) + 2, name_id) + data
    header[2:4] = struct.pack(">H", 48 + len(tlv))
    return bytes(header) + tlv


def truthful(request):
    """A slave that is 1 us ahead, over a path of 2 us."""
    [name_id] = struct.unpack(">H", request[52:54])
    port = b"\1" * 10
    return management(name_id, {
        0xC004: port + b"\x09\0\0",
        0x2004: port + b"\x09" + bytes(15),
        0xC000: struct.pack(">qq", 1000, time.time_ns()) + bytes(22)
        + struct.pack(">I", 1) + bytes(8),
        0x2001: struct.pack(">Hqq", 1, 1000 << 16, 2000 << 16),
    }[name_id], request)


def of_other_bytes(request):
    return os.urandom(60)


def refusing(request):
    return management(2, bytes(6), request, kind=2)


def flooding(request):
    return [truthful(request)[:50]] * 8


def a_slave_without_master(request):
    answer = truthful(request)
    return answer[:92] + bytes(4) + answer[96:] if len(answer) == 104 else answer


@contextlib.contextmanager
def answering(path, answer):
    """A socket that answers requests with answer(request): bytes, a list, or None."""
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    peer.bind(str(path))

    def serve():
        while True:
            request, whom = peer.recvfrom(2000)
            if not request:
                return
            said = answer(request)
            for message in said if isinstance(said, list) else [said] if said else []:
                with contextlib.suppress(OSError):
                    peer.sendto(message, socket.MSG_DONTWAIT, whom)
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(path))
        thread.join()
        peer.close()


def sent_by(path):
    result = perigee("generate", "--port", "null", "--clock", "real", "--ptp", path, "--count",
                     "5", "--json", "-")
    assert result.returncode == 0, result.stderr
    return valid("generate", result.stdout)["sent"]["clock"], result.stderr


def test_the_offset_and_the_delay_of_the_path_add_up(tmp_path):
    with answering(tmp_path / "ptp", truthful):
        clock, said = sent_by(tmp_path / "ptp")
    assert clock["source"] == "ptp4l" and clock["error_ns"] == pytest.approx(3000)
    assert "which may be wrong by 3.000 us, says ptp4l" in said


@pytest.mark.parametrize("answer, sentence", [
    (lambda request: None, "ptp4l doesn't answer at"),
    (of_other_bytes, "what answers at"),
    (lambda request: b"x", "what answers at"),
    (refusing, "ptp4l answers with an error: managementErrorId 0x0002"),
    (flooding, "what answers at"),
    (a_slave_without_master, "it is a slave, and has no master"),
], ids=["silent", "random", "short", "refusing", "flooding", "contradicting"])
def test_a_socket_that_is_silent_or_lies_gives_a_sentence_and_no_figure(tmp_path, answer,
                                                                       sentence):
    with answering(tmp_path / "ptp", answer):
        clock, said = sent_by(tmp_path / "ptp")
    assert clock == {"source": "nobody"}
    assert said.count("no bound of the clock's error: ") == 1
    assert sentence in said and "Traceback" not in said


def test_one_that_cannot_be_asked_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with answering(tmp_path / "other", truthful):
        cases = [("none", "there is no"), ("file", "is no socket")]
        if os.geteuid() == 0:
            os.chown(tmp_path / "other", 65534, 65534)
            cases.append(("other", "belongs to another user"))
        for name, sentence in cases:
            result = perigee("generate", "--port", "null", "--clock", "real", "--ptp",
                             tmp_path / name, "--count", "5")
            assert result.returncode == 1 and sentence in result.stderr, result
