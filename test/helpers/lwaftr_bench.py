# SPDX-License-Identifier: Apache-2.0
"""An lwAFTR that carries packets from files, without interfaces."""

import contextlib

from scapy.all import UDP, Ether, IP, wrpcap

from helpers.command import PERIGEE, perigee, running, wait_until


@contextlib.contextmanager
def lwaftr_bench(name, conf, folder, *is_ready):
    """`perigee lwaftr bench` of that name and configuration (text), with its files in the
    folder, once `perigee IS_READY...` succeeds."""
    file, packets = folder / "a.conf", folder / "in.pcap"
    file.write_text(conf)
    wrpcap(str(packets), [Ether(dst="02:aa:aa:aa:aa:01", src="02:99:99:99:99:04") /
                          IP(src="198.51.100.7", dst="192.0.2.1") / UDP(dport=1024)])
    with running(PERIGEE, "lwaftr", "bench", "-n", name, "-b", folder / "rates", file,
                 packets, packets) as process:
        wait_until(lambda: process.read() and perigee(*is_ready).returncode == 0,
                   "the lwAFTR")
        yield process
