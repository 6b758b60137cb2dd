# SPDX-License-Identifier: Apache-2.0
"""A switch of `perigee nfv`: virtual machines' ends stand for them (nfv_guests.lua)."""

import os
import struct

from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from helpers.capture import load, save
from helpers.command import PERIGEE, ROOT, running, wait_until
from helpers.report import account

GUESTS = ROOT / "test" / "nfv_guests.lua"
A, B, REMOTE = "52:54:00:00:00:00", "52:54:00:00:00:01", "52:54:00:00:00:99"
A6, B6 = "fe80::5054:ff:fe00:0", "fe80::5054:ff:fe00:1"


def frame(layer, n=0, source=A, destination=B, size=0):
    """A frame of IPv6 with the number behind."""
    return bytes(Ether(src=source, dst=destination) / IPv6(src=A6, dst=B6) / layer
                 / (n.to_bytes(4, "big") + bytes(size)))


def udp(n=0, source=A, destination=B, size=0, dport=7):
    return frame(UDP(sport=9, dport=dport), n, source, destination, size)


def stream(count):
    """Numbered frames that differ in nothing else: Scapy takes a millisecond each."""
    one = udp()
    return [one[:62] + n.to_bytes(4, "big") for n in range(count)]


def numbers(packets):
    """Those that frame() has put behind."""
    return [int.from_bytes(data[62:66], "big") for data in packets]


def lua(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {lua(v)}" for k, v in value.items()) + " }"
    return {True: "true", False: "false"}.get(value) or \
        (f'"{value}"' if isinstance(value, str) else str(value))


def config(*ports):
    return "return {\n" + "".join(f"  {lua(port)},\n" for port in ports) + "}\n"


def port(name, **more):
    return {"port_id": name, "mac_address": {"A": A, "B": B}.get(name), **more} \
        if name in "AB" else {"port_id": name, **more}


class Bench:
    """A folder with the configuration, the sockets and the files of the guests."""

    def __init__(self, folder):
        self.folder, self.config = folder, folder / "nfv.cfg"

    def write(self, *ports):
        new = self.folder / "new.cfg"
        new.write_text(config(*ports))
        os.rename(new, self.config)

    def send(self, name, packets):
        save(self.folder / f"{name}.in.pcap", packets)

    def got(self, name):
        """What has come to the guest so far; nothing of a packet being written."""
        path = self.folder / f"{name}.out.pcap"
        try:
            return list(load(path)) if path.exists() else []
        except (AssertionError, struct.error):
            return []

    def command(self, nic, *options):
        return [PERIGEE, "nfv", "traffic", "-l", "0", *options, nic, self.config,
                self.folder / "%s.sock"]

    def nfv(self, nic="soft", *options):
        return running(*self.command(nic, "--server", *options))

    def guests(self, *names, rate=0, role="client"):
        return running(PERIGEE, "run", GUESTS, self.folder, role, rate, *names)

    def wait_for(self, name, count, *processes, timeout=60):
        def came():
            for process in processes:
                assert process.runs_for(0.05), process.said
            return len(self.got(name)) >= count
        wait_until(came, f"{count} packets at {name}", timeout=timeout)
        return self.got(name)

    def exchange(self, count, name="B", ready=None, nic="soft"):
        """Run until so many packets have come to the guest; the packets."""
        with self.nfv(nic) as nfv:
            nfv.wait_for("nfv traffic:")
            if ready:
                nfv.wait_for(*ready)
            with self.guests("A", "B") as guests:
                got = self.wait_for(name, count, nfv, guests)
                assert guests.interrupt() == 0, guests.said
            assert nfv.interrupt() == 0, nfv.said
        self.account = account(nfv.said)
        self.said = nfv.said
        return got
