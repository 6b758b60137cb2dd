# SPDX-License-Identifier: Apache-2.0
"""A B4 (RFC 6333) by the kernel: IPv4 packets of an interface through a tunnel to the
lwAFTR. By ip6tnl where the kernel has it. Else this program is the interface (TUN), and
puts what it carries into IPv6: addresses, neighbours, fragments, reassembly and all that
is in the tunnel remain the kernel's.

    b4.py IFACE LOCAL REMOTE
"""

import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000  # <linux/if_tun.h>
IPPROTO_IPIP = 4


def open_tun(iface):
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF,
                struct.pack("16sH22x", iface.encode(), IFF_TUN | IFF_NO_PI))
    return tun


def main(iface, local, remote):
    tun = open_tun(iface)
    tunnel = socket.socket(socket.AF_INET6, socket.SOCK_RAW, IPPROTO_IPIP)
    tunnel.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    tunnel.bind((local, 0))
    print("ready", flush=True)
    while True:
        for ready in select.select([tun, tunnel], [], [])[0]:
            if ready == tun:
                packet = os.read(tun, 65535)
                if packet[0] >> 4 == 4:
                    tunnel.sendto(packet, (remote, 0))
            else:
                packet, sender = tunnel.recvfrom(65535)
                if sender[0] == remote:
                    os.write(tun, packet)


if __name__ == "__main__":
    main(*sys.argv[1:])
