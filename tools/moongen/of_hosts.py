# SPDX-License-Identifier: Apache-2.0
"""Checks of MoonGen's examples that talk to the kernel."""

import contextlib
import os
import re

from runs import Skipped, expect, test

from helpers.command import running, wait_until
from helpers.network import Namespace, veth


@contextlib.contextmanager
def namespaces(*labels):
    """Network namespaces, removed at the end."""
    if os.geteuid() != 0:
        raise Skipped("makes network namespaces, as root")
    made = []
    try:
        for label in labels:
            made.append(Namespace(label))
        yield made
    finally:
        for namespace in made:
            namespace.remove()


@test
def icmp_arp_responder(run):
    script = run.file("moongen/examples/icmp-arp-responder.lua")
    with namespaces("k", "m") as (kernel, middle):
        veth(middle, "left", kernel, "net")
        kernel.ip("address", "add", "10.0.0.2/24", "dev", "net")
        command = run.command(script, 0, "10.0.0.1", ports=["packet:left"])
        with running(*middle.command(*command), cwd=run.folder) as process:
            wait_until(lambda: process.read(0.1) is not None and " 1 received" in
                       kernel.run("ping", "-c", "1", "-W", "1", "10.0.0.1").stdout,
                       "an answer")
            said = kernel.run("ping", "-c", "20", "-i", "0.05", "-w", "10", "10.0.0.1")
            expect(" 20 received" in said.stdout, said.stdout)
            expect(process.interrupt() == 0, process.said[-400:])


@test
def lacp(run):
    script = run.file("moongen/examples/lacp.lua")
    with namespaces("k", "m") as (kernel, middle):
        bond = kernel.run("ip", "link", "add", "bond0", "type", "bond", "mode", "802.3ad",
                          "lacp_rate", "fast", "miimon", "100")
        if bond.returncode != 0:
            raise Skipped("the kernel can't make a bond")
        for i in 0, 1:
            veth(middle, f"left{i}", kernel, f"right{i}")
            kernel.ip("link", "set", f"right{i}", "down")
            kernel.ip("link", "set", f"right{i}", "master", "bond0")
        kernel.ip("link", "set", "bond0", "up")
        command = run.command(script, 0, 1, 10, ports=["packet:left0", "packet:left1"])
        with running(*middle.command(*command), cwd=run.folder) as process:
            process.wait_for("[Device: id=0] TX")  # load follows when the bond is up
            told = kernel.check("cat", "/proc/net/bonding/bond0")
            partners = re.findall(r"Partner Mac Address: (\S+)", told)
            expect(partners and "00:00:00:00:00:00" not in partners, told)
            expect(process.interrupt() == 0, process.said[-400:])
