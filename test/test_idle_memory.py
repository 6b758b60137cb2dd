# SPDX-License-Identifier: Apache-2.0
"""The memory of an idle Perigee, as the kernel counts it (proc(5), smaps_rollup): its
share of plain memory (PSS) and the hugepages that it has for itself. Others run beside it,
as on hosts where it matters: what they have in common is divided between them."""

import contextlib
import re

import pytest

from helpers.command import PERIGEE, running
from helpers.network import veth

OTHERS = 4
MOST_MB = 40
XDP_MB = 12     # more for its UMEM, which the kernel takes as a whole

PORTS = {"packet": "packet:port", "tap": "tap:port", "xdp": "xdp:port",
         "memif": "memif:{}/memif,role=server", "vhost": "vhost:{}/vhost"}


def memory(pid):
    """MB of plain memory, and of hugepages."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        kb = {name: int(n) for name, n in re.findall(r"(\w+):\s+(\d+) kB", file.read())}
    return kb["Pss"] / 1024, (kb["Private_Hugetlb"] + kb["Shared_Hugetlb"]) / 1024


@pytest.mark.parametrize("options", [[], ["--eal", "--no-huge"]], ids=["huge", "plain"])
@pytest.mark.parametrize("kind", PORTS)
def test_an_idle_process_is_small(kind, options, namespace, tmp_path):
    near, far = namespace("near"), namespace("far")
    if kind != "tap":
        veth(near, "port", far, "wire", offloads=False)
    ports = [PORTS[kind].format(tmp_path)]
    ports += [f"memif:{tmp_path}/other{i},role=server" for i in range(OTHERS)]
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(running(*near.command(
            PERIGEE, *options, "echo", port, "1"))) for port in ports]
        for program in programs:
            program.wait_for_engine()
        plain, huge = memory(programs[0].pid)
        most = MOST_MB + (kind == "xdp") * XDP_MB
        assert plain + huge <= most, f"{plain:.1f} + {huge:.1f} MB: {programs[0].said}"
