# SPDX-License-Identifier: Apache-2.0
"""Network namespaces joined by veth pairs, and raw frames into and out of them. The
names carry the process's number, so that several runs of the tests don't meet."""

import contextlib
import ctypes
import itertools
import os
import socket
import struct
import time

from helpers.command import check, run, tool

CLONE_NEWNET = 0x40000000  # <linux/sched.h>
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23  # linux/if_packet.h
PACKET_VNET_HDR = 15
AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6
OFFLOADS = ["tx", "tso", "gso", "gro"]

PROBE = b"\xff" * 12 + b"\x88\xb5" + bytes(46)  # of wait_for_echo()

libc = ctypes.CDLL(None, use_errno=True)
serial = itertools.count(1)


class Namespace:
    """A network namespace without IPv6, so that nothing moves unasked."""

    def __init__(self, label):
        self.name = f"perigee{os.getpid()}-{next(serial)}{label}"
        check("ip", "netns", "add", self.name)
        self.sysctl("net.ipv6.conf.all.disable_ipv6=1",
                    "net.ipv6.conf.default.disable_ipv6=1")
        self.ip("link", "set", "lo", "up")

    def command(self, *words):
        """The words of a command that runs `words` in here, with a /sys to match."""
        return [tool("ip"), "netns", "exec", self.name, *words]

    def run(self, *words, **kwargs):
        return run(*self.command(*words), **kwargs)

    def machine(self, *words):
        """The words of a command that runs `words` in here, and takes this namespace for
        the machine's own: it is its first process's, whose number says nothing."""
        return self.command(tool("unshare"), "--pid", "--fork", "--mount-proc", *words)

    def has_default_route_over(self, iface):
        """Give it an interface of that name, whose other end stays in here, for that."""
        self.ip("link", "add", iface, "type", "veth", "peer", "name", f"{iface}-peer")
        for name in (iface, f"{iface}-peer"):
            self.ip("link", "set", name, "up")
        self.ip("route", "add", "default", "dev", iface)

    def check(self, *words, **kwargs):
        return check("ip", "netns", "exec", self.name, tool(words[0]), *words[1:],
                     **kwargs)

    def sysctl(self, *settings):
        """Set them. Containers have a read-only /proc/sys; a proc of our own isn't."""
        self.check("unshare", "--mount", "sh", "-c",
                   '{ [ -w /proc/sys/net ] || mount -t proc proc /proc; } && '
                   'exec sysctl -qw "$@"', "sh", *settings)

    def ip(self, *words):
        return check("ip", "-n", self.name, *words)

    def remove(self):
        check("ip", "netns", "delete", self.name)

    @contextlib.contextmanager
    def entered(self):
        """This thread in the namespace: a socket made here stays in it."""
        with open("/proc/thread-self/ns/net") as home, \
                open(f"/run/netns/{self.name}") as inside:
            assert libc.setns(inside.fileno(), CLONE_NEWNET) == 0, ctypes.get_errno()
            try:
                yield
            finally:
                libc.setns(home.fileno(), CLONE_NEWNET)


def veth(one, iface, other, peer, mtu=1500, offloads=True):
    """Join two namespaces by a pair of interfaces that are up. Without offloads a port
    gets what would be on a wire, with the checksums computed."""
    one.ip("link", "add", iface, "mtu", str(mtu), "type", "veth",
           "peer", "name", peer, "mtu", str(mtu), "netns", other.name)
    for namespace, name in (one, iface), (other, peer):
        if not offloads:
            namespace.check("ethtool", "-K", name,
                            *itertools.chain(*((o, "off") for o in OFFLOADS)))
        namespace.ip("link", "set", name, "up")


class Wire:
    """A raw socket (AF_PACKET) on an interface: whole frames in and out; with `offload`
    a struct virtio_net_hdr in front of each (PACKET_VNET_HDR)."""

    def __init__(self, namespace, iface, offload=False):
        with namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        if offload:
            self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 23)
        self.socket.bind((iface, ETH_P_ALL))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame):
        self.socket.send(frame)

    def receive(self, timeout=5):
        """The next frame, with the VLAN tag that the kernel took out put back in;
        None if none comes in time."""
        self.socket.settimeout(timeout)
        try:
            frame, ancillary, _, _ = self.socket.recvmsg(1 << 16, 256)
        except TimeoutError:
            return None
        for level, kind, data in ancillary:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = AUXDATA.unpack_from(data)
                if status & TP_STATUS_VLAN_VALID:
                    if not status & TP_STATUS_VLAN_TPID_VALID:
                        tpid = 0x8100
                    frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame

    def exchange(self, frames, timeout=5):
        """Send the frames and receive until so many have come back, or no more come;
        those that came back. A window keeps the kernel's queues from overflowing."""
        back, window = [], 64
        for i, frame in enumerate(frames):
            self.send(frame)
            while i - len(back) >= window:
                got = self.receive_but_probes(timeout)
                if got is None:
                    return back
                back.append(got)
        ends = time.monotonic() + timeout
        while len(back) < len(frames) and time.monotonic() < ends:
            got = self.receive_but_probes(ends - time.monotonic())
            if got is not None:
                back.append(got)
        return back

    def receive_but_probes(self, timeout):
        """The same as receive() without copies of PROBE that are late."""
        ends = time.monotonic() + timeout
        while True:
            got = self.receive(max(0.001, ends - time.monotonic()))
            if got != PROBE:
                return got

    def wait_for_echo(self, program, timeout=20):
        """Send a frame over and over until it comes back, from `program` (Running);
        then wait until all of its copies have. How many came back."""
        count = 0
        ends = time.monotonic() + timeout
        while not count:
            assert program.read(), f"ended before it echoed: {program.said}"
            assert time.monotonic() < ends, f"echoes nothing: {program.said}"
            self.send(PROBE)
            while self.receive(0.1):
                count += 1
        return count
