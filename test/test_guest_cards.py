# SPDX-License-Identifier: Apache-2.0
"""Perigee on PCI devices, by DPDK's drivers for real and for emulated cards, in a virtual
machine (helpers/guest.py). The wire at each card ends in this test."""

import contextlib
import json
import os
import re
import struct
import threading

import pytest

from helpers.capture import load, save
from helpers.command import ROOT, wait_until
from helpers.guest import booted
from helpers.report import account

LONG = bool(os.environ.get("PERIGEE_LONG"))
CARDS = {"e1000": "0000:00:10.0", "e1000e": "0000:01:00.0", "vmxnet3": "0000:02:00.0",
         "virtio-net-pci": "0000:03:00.0"}
KERNEL_DRIVER = {"virtio-net-pci": "virtio-pci"}  # else called as the card
INTERRUPTS = {"vmxnet3"}  # (e1000e: not by DPDK's driver; virtio: no MSI-X in these guests)
SIZES = list(range(60, 1515, 1 if LONG else 13)) * (7 if LONG else 1)
JUMBO = [1515, 1519, 2048, 4096, 8192, 9000, 9216]
RESTARTS = 20
GENERATED = 9_000  # QEMU keeps 10,000 that the wire hasn't taken, and drops others
HOT_PLUGGED = [model for model in CARDS if model != "e1000"]  # that isn't PCI Express

ECHOES = """
local c = config.new()
for i, port in ipairs{...} do
  config.app(c, "p" .. i, require("apps.port.port").Port, port)
  config.link(c, ("p%d.output -> p%d.input"):format(i, i))
end
engine.configure(c)
engine.main()
"""

takes_minutes = pytest.mark.skipif(not LONG, reason="minutes: `make test-guests`")


def frame(number, size):
    """An Ethernet frame of a protocol without a meaning (0x88b5): emulated cards drop
    what calls itself IP and isn't."""
    head = b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb5" + struct.pack("!I", number)
    return head + bytes((number + i) % 256 for i in range(size - len(head)))


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    with booted(tmp_path_factory.mktemp("guest"), cards=CARDS) as running:
        yield running


class Card:
    """A card of the guest, and the wire that the test has in its hands."""

    def __init__(self, guest, model):
        self.guest, self.model, self.address = guest, model, CARDS[model]
        self.number = list(CARDS).index(model)
        self.wire = guest.wires[self.number]

    def owner(self):
        """The kernel's driver of it, as `perigee ports` says."""
        lines = self.guest.perigee("ports").stdout.splitlines()
        return next(line.split()[-1] for line in lines if line[2:].startswith(self.address))

    def bind(self, option):
        said = self.guest.perigee("pci_bind", option, self.address, "--do")
        assert said.returncode == 0, said.stdout

    def link(self, up):
        self.guest.monitor("set_link", name=f"card{self.number}", up=up)

    def is_deleted(self):
        """Has the guest given it back?"""
        self.guest.monitor("query-status")
        return any(event["event"] == "DEVICE_DELETED" and
                   event["data"].get("device") == f"card{self.number}"
                   for event in self.guest.monitor.events)

    def echo(self):
        """A running `perigee echo`, which has echoed."""
        program = self.guest.start("echo", self.address)
        self.wire.wait_for_echo(program, 120)
        return program


@pytest.fixture(scope="module", params=CARDS if LONG else ["e1000e", "virtio-net-pci"])
def card(request, guest):
    """A card that vfio-pci has."""
    card = Card(guest, request.param)
    assert card.owner() == KERNEL_DRIVER.get(card.model, card.model)
    card.bind("-u")
    return card


def test_frames_of_all_sizes_come_back(card):
    """Byte for byte; the report counts them all."""
    program = card.echo()
    frames = [frame(i, size) for i, size in enumerate(SIZES + JUMBO)]
    assert card.wire.exchange(frames, 60) == frames
    second = card.guest.perigee("echo", card.address)
    assert second.returncode == 2
    assert f"perigee (process {program.pid}) has the device" in second.stdout
    assert program.interrupt() == 0, program.said
    counts = account(program.said)
    assert counts["received"] == counts["sent"] > len(frames)


def test_a_card_wakes_the_engine(card):
    """After half a second of silence the first frame comes back, and a burst: by interrupts
    where they come; else the card is looked at, and the report says so."""
    program = card.echo()
    for count in 1, 20, 1, 20, 1, 20:
        card.guest.check("sleep 0.5")
        frames = [frame(i, 100) for i in range(count)]
        assert card.wire.exchange(frames, 60) == frames
    assert program.interrupt() == 0, program.said
    looked_at = "looked at every 100 us" in program.said
    assert looked_at == (card.model not in INTERRUPTS), program.said
    slept = re.search(r"slept [\d,]+ times .* it came ([\d,]+) times", program.said)
    assert looked_at or int(slept[1].replace(",", "")) >= 3, program.said


@takes_minutes
def test_killed_and_started_again_and_the_cable_pulled_out(card):
    """kill -9 and starts one after the other."""
    for _ in range(RESTARTS):
        program = card.echo()
        program.guest.check(f"kill -9 {program.pid}")
        assert program.finish() == 128 + 9
    program = card.echo()
    card.link(False)
    assert card.wire.exchange([frame(1, 100)], 1) == []
    card.link(True)
    card.wire.wait_for_echo(program, 120)
    assert program.interrupt() == 0, program.said


@takes_minutes
def test_replay_and_generate_lose_nothing(card, guest):
    """A file replayed comes out in order; what is generated comes back from the wire."""
    frames = [frame(i, size) for i, size in enumerate(SIZES)]
    save(guest.folder / "in.pcap", frames)
    program = guest.start("replay", "--topspeed", guest.folder / "in.pcap", card.address)
    assert [card.wire.receive(120) for _ in frames] == frames
    assert program.finish() == 0, program.said

    ended = threading.Event()

    def return_all():
        while not ended.is_set():
            data = card.wire.receive(0.2)
            if data:
                card.wire.send(data)

    back = threading.Thread(target=return_all)
    back.start()
    try:
        said = guest.perigee("generate", "--port", card.address, "--receive", card.address,
                             "--count", GENERATED, "--rate", "5kpps", "--idle", "20s",
                             "--json", guest.folder / "json", timeout=300)
    finally:
        ended.set()
        back.join()
    assert said.returncode == 0, said.stdout
    figures = json.loads((guest.folder / "json").read_text())
    assert figures["sent"]["packets"] == figures["received"]["numbered"] == GENERATED
    assert figures["received"]["lost"] == figures["received"]["reordered"] == 0


@takes_minutes
def test_capture_has_what_came(card, guest):
    """From the packet on with which it began."""
    file = guest.folder / f"{card.model}.pcap"
    program = guest.start("capture", "--limit", 100, card.address, file)
    frames = [frame(i, 60 + 9 * i) for i in range(100)]
    sent = 0
    while program.runs():
        with contextlib.suppress(TimeoutError):  # the card doesn't receive yet, or any more
            for _ in frames:
                card.wire.send(frames[sent % len(frames)], timeout=1)
                sent += 1
    assert program.finish() == 0, program.said
    captured = list(load(file))
    first = frames.index(captured[0])
    assert captured == frames[first:] + frames[:first]


OTHER, ADDED = b"\2\0\0\0\0\x99", b"\2\0\0\0\0\x77"
BROADCAST, MULTICAST = b"\xff" * 6, b"\1\0\x5e\0\0\1"


def test_mac_filter_and_statistics(card, guest):
    """What comes to whom while a card receives all, its own, and one address more (which
    vmxnet3's driver can't). DPDK's statistics count just these frames, from the first
    on that is answered."""
    own = bytes.fromhex(f"5254000000{card.number:02x}")
    phases = [("promiscuous", [OTHER, ADDED, own, BROADCAST, MULTICAST]),
              ("filtering", [own, BROADCAST])]
    if card.model != "vmxnet3":
        phases.append(("one more", [ADDED, own, BROADCAST]))

    def send(address, command=0):
        card.wire.send(address + own + b"\x88\xb5" + bytes([command]) + bytes(85))

    program = guest.start("moongen", "--port", f"0={card.address}",
                          ROOT / "test" / "moongen" / "mac_filter.lua")
    program.wait_for("up\n")
    for number, (name, _) in enumerate(phases, 1):
        send(own, number)
        program.wait_for(f"begins: {name}\n")
        for address in OTHER, ADDED, own, BROADCAST, MULTICAST:
            send(address)
    send(own, len(phases) + 1)
    if card.model == "vmxnet3":
        assert program.finish() == 1
        assert f"{card.address} can't receive for a second MAC address" in program.said
        return
    assert program.finish() == 0, program.said
    for name, wanted in phases:
        came = " ".join(str(address[5]) for address in wanted)
        assert f"phase {name}: {came}.\n" in program.said
    packets = len(phases) + sum(len(wanted) for _, wanted in phases)
    checksum = 4 if card.model.startswith("e1000") else 0  # these count it, too
    assert f"rx_good_packets = {packets}\n" in program.said
    assert f"rx_good_bytes = {packets * (100 + checksum)}\n" in program.said
    assert "rx_errors = 0\n" in program.said


def test_back_to_the_kernel(card, guest):
    """The kernel's driver carries packets again."""
    card.bind("-b")
    assert card.owner() == KERNEL_DRIVER.get(card.model, card.model)
    names = guest.check(f"ls /sys/bus/pci/devices/{card.address}/net "
                        f"/sys/bus/pci/devices/{card.address}/virtio*/net 2>/dev/null; true")
    name = names.split()[-1]

    def received():
        return int(guest.check("cat", f"/sys/class/net/{name}/statistics/rx_packets"))

    guest.check("ip", "link", "set", name, "up")
    assert card.wire.receive(60)  # the kernel speaks, of IPv6
    before = received()
    card.wire.send(b"\xff" * 6 + frame(1, 100)[6:])
    wait_until(lambda: received() > before, "the frame")
    guest.check("ip", "link", "set", name, "down")


def test_cards_are_unplugged_one_after_the_other(guest):
    """Each with a sentence, while the others go on; with the last the program ends."""
    cards = [Card(guest, model) for model in (HOT_PLUGGED if LONG else HOT_PLUGGED[-2:])]
    for card in cards:
        if card.owner() != "vfio-pci":
            card.bind("-u")
    (guest.folder / "echoes.lua").write_text(ECHOES)
    program = guest.start("run", guest.folder / "echoes.lua", *(c.address for c in cards))
    for card in cards:
        card.wire.wait_for_echo(program, 120)
    for i, card in enumerate(cards):
        guest.monitor("device_del", id=f"card{card.number}")
        wait_until(lambda gone=card: gone.is_deleted(), "its end", timeout=60)
        for other in cards[i + 1:]:
            assert other.wire.exchange([frame(1, 100)], 60) == [frame(1, 100)]
    assert program.finish() == 1
    for card in cards[:-1]:
        assert f"port '{card.address}': the card was unplugged; the others go on" \
            in program.said
    assert program.said.endswith(f"port '{cards[-1].address}': the card was unplugged\n")
    assert f"port {cards[0].address} (unplugged" in program.said
