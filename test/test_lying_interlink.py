# SPDX-License-Identifier: Apache-2.0
"""Interlinks whose other side lies: Python attaches to the queue in shared memory and
writes there what it likes. Each lie is counted, and its queue left; a new one is made."""

import contextlib
import mmap
import os
import random
import struct

import pytest

from helpers.command import PERIGEE, running, wait_until

# As in snabb/native/snabb.h.
STATE, RECEIVER, TRANSMITTER, SLOTS = 0, 8, 12, 16
READ, WRITE, RING, SLOT = 64, 128, 192, 2112
RXUP, TXUP, DXUP, DOWN = 3, 4, 5, 6
SIZE, MOST = 8, 10240
COUNT = SIZE + 7  # slots
SEED = 37
VIEWS = {form: struct.calcsize(form) for form in ("<i", "<I", "<Q")}
TOO_FAR = [1 << 32, 1 << 63, (1 << 64) - 100]  # for any cursor here

# The side `...` of the queue; once it has left a liar it begins again.
SCRIPT = """
local basic = require("apps.basic.basic_apps")
local counter = require("core.counter")
local side = ...
local c = config.new()
config.app(c, "queue", require("apps.interlink." .. side), {queue = "/lies", size = 8})
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, side == "receiver" and "queue.output -> sink.input"
  or "source.output -> queue.input")
local ended = false
while not ended do
  engine.configure(c)
  local app = engine.app_table.queue
  local said
  engine.main{no_report = true, done = function ()
    if not said then print("runs") io.flush() end
    said = true
    return not app.interlink
  end}
  ended = app.interlink ~= nil
  print("lies: " .. tostring(counter.read(app.shm.lies)))
  io.flush()
  engine.configure(config.new())
end
"""


class Queue:
    """The queue as the side of it that Perigee isn't."""

    def __init__(self, path, side):
        self.side, self.at = side, 0
        alone = TXUP if side == "receiver" else RXUP
        wait_until(lambda: self.open(path, alone), "a queue")
        self.put("<i", RECEIVER if side == "receiver" else TRANSMITTER, os.getpid())
        self.put("<i", STATE, DXUP)

    def open(self, path, state):
        with contextlib.suppress(OSError, ValueError):
            with open(path, "r+b") as file:
                self.memory = mmap.mmap(file.fileno(), 0)
            self.views = {form: memoryview(self.memory).cast(form[1]) for form in VIEWS}
            return self.get("<i", STATE) == state
        return False

    def get(self, form, place):
        return struct.unpack_from(form, self.memory, place)[0]

    def put(self, form, place, value):
        """By one store: struct.pack_into() writes zeros first, and a cursor of 0 is a lie."""
        self.views[form][place // VIEWS[form]] = value

    def read(self):
        return self.get("<Q", READ)

    def write(self):
        return self.get("<Q", WRITE)

    def send(self, length, slots=1):
        """A packet that says it has so many bytes, and takes so many slots."""
        place = RING + self.at % COUNT * SLOT
        self.put("<I", place, length)
        self.at += slots
        self.put("<Q", WRITE, self.at)

    def is_left(self):
        return self.get("<i", STATE) == DOWN


@contextlib.contextmanager
def attached(tmp_path, side):
    """A process that is `side`, a function that gives its queue, and one that waits until
    it has left that."""
    script = tmp_path / "side.lua"
    script.write_text(SCRIPT)
    path, other = tmp_path / "shm" / "interlink" / "lies.interlink", \
        {"receiver": "transmitter", "transmitter": "receiver"}[side]
    path.parent.mkdir(parents=True)
    with running(PERIGEE, "run", script, side,
                 env={**os.environ, "SNABB_SHM_ROOT": str(tmp_path / "shm")}) as process:
        left = [0]

        def queue():
            process.wait_for("runs", count=left[0] + 1)
            return Queue(path, other)

        def leaves(queue):
            left[0] += 1
            process.wait_for("lies: 1", count=left[0])
            assert queue.is_left(), process.said
        yield process, queue, leaves
        process.wait_for("runs", count=left[0] + 1)
        assert process.interrupt() == 0, process.said
    assert process.said.count(f"the {other} misreports ") == left[0]
    assert "traceback" not in process.said, process.said


def wait_for(process, queue, condition, what):
    """Wait until the queue is as it should be. Nobody has lied yet."""
    def is_met():
        assert process.read() and not queue.is_left(), process.said
        return condition()
    wait_until(is_met, lambda: f"{what}: {process.said}")


def scribble(queue):
    """Write over all that is neither the states and processes nor a cursor in use."""
    for start, end in (SLOTS, READ), (READ + 8, WRITE), (WRITE + 8, RING):
        queue.memory[start:end] = os.urandom(end - start)


def test_transmitters_that_lie(tmp_path):
    with attached(tmp_path, "receiver") as (process, queue, leaves):
        for lie in [
                lambda q: q.send(MOST + 1), lambda q: q.send((1 << 32) - 1),
                lambda q: q.send(SLOT), lambda q: q.send(MOST, slots=4),
                *(lambda q, end=end: q.put("<Q", WRITE, end) for end in TOO_FAR)]:
            transmitter = queue()
            for _ in range(2):
                scribble(transmitter)
                for _ in range(COUNT):
                    transmitter.send(60)
                wait_for(process, transmitter, lambda q=transmitter: q.read() == q.at,
                         "the packets are taken")
            lie(transmitter)
            leaves(transmitter)


def test_receivers_that_lie(tmp_path):
    with attached(tmp_path, "transmitter") as (process, queue, leaves):
        for end in TOO_FAR:
            receiver = queue()
            for at in 0, SIZE - 1, COUNT - 2, COUNT + 5:
                scribble(receiver)
                receiver.put("<Q", READ, at)
                wait_for(process, receiver,
                         lambda q=receiver, at=at: q.write() == at + SIZE - 1,
                         "packets as there is room for")
            receiver.put("<Q", READ, end)
            leaves(receiver)


@pytest.mark.parametrize("side", ["receiver", "transmitter"])
def test_random_lies(tmp_path, side):
    dice = random.Random(SEED)
    with attached(tmp_path, side) as (process, queue, leaves):
        for _ in range(10):
            other = queue()
            own, theirs = (WRITE, READ) if side == "receiver" else (READ, WRITE)
            for _ in range(1000):
                place = RING + dice.randrange(COUNT) * SLOT
                other.put("<I", place, dice.choice([0, 60, MOST, dice.getrandbits(32)]))
                scribble(other)
                near = other.get("<Q", theirs) + dice.randrange(-2, COUNT)
                other.put("<Q", own, dice.choice([max(near, 0)] * 9 + TOO_FAR[:1]))
                assert process.read(), (SEED, process.said)
            other.put("<Q", own, TOO_FAR[-1])
            leaves(other)
