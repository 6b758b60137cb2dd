# SPDX-License-Identifier: Apache-2.0
"""An XDP program that isn't Perigee's: passes all frames, and stays on its interface
without any process (bpf(2), IFLA_XDP of rtnetlink(7))."""

import ctypes
import os
import socket
import struct

SYS_BPF, BPF_PROG_LOAD, BPF_PROG_TYPE_XDP = 321, 5, 6  # x86-64
PASS = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)  # r0 = XDP_PASS; exit
RTM_SETLINK, NLM_F_REQUEST, NLM_F_ACK = 19, 1, 4
IFLA_XDP, IFLA_XDP_FD, NLA_F_NESTED = 43, 1, 0x8000

libc = ctypes.CDLL(None, use_errno=True)


def load():
    """A descriptor of the program."""
    code, licence = ctypes.create_string_buffer(PASS), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("=IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code),
                             ctypes.addressof(licence)).ljust(128, b"\0")
    fd = libc.syscall(SYS_BPF, BPF_PROG_LOAD, attributes, len(attributes))
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd


def attach(namespace, iface):
    """Attach it to the interface, where it stays."""
    program = load()
    with namespace.entered():
        index = socket.if_nametoindex(iface)
        netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0)
    body += struct.pack("=HHHHi", 12, IFLA_XDP | NLA_F_NESTED, 8, IFLA_XDP_FD, program)
    netlink.send(struct.pack("=IHHII", 16 + len(body), RTM_SETLINK,
                             NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
    error, = struct.unpack_from("=i", netlink.recv(4096), 16)
    netlink.close()
    os.close(program)
    assert error == 0, os.strerror(-error)
