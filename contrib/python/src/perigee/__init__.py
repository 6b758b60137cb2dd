# SPDX-License-Identifier: Apache-2.0
"""Start, steer and read programs of Perigee.

Program runs any program and ends it; Generator runs `perigee generate` and changes it
while it sends; instances() lists what runs on this machine, and an Instance tells its
graph and counters, traces packets and captures them.
"""

from perigee.control import Control
from perigee.errors import PerigeeError
from perigee.generator import Generator, generate
from perigee.instance import Hop, Instance, TracedPacket, instances
from perigee.pcapng import Packet
from perigee.program import Program, run
from perigee.reports import Direction, GenerateReport, Latency, Received, Sent

__all__ = ["Control", "Direction", "GenerateReport", "Generator", "Hop", "Instance",
           "Latency", "Packet", "PerigeeError", "Program", "Received", "Sent",
           "TracedPacket", "generate", "instances", "run"]
