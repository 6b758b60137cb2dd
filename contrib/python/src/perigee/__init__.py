# SPDX-License-Identifier: Apache-2.0
"""Start, steer and read programs of Perigee.

Program runs any program and ends it; Generator, Replay, Connect and LoadTest run those
that measure, and change them while they run; instances() lists what runs on this machine,
and an Instance tells its graph and counters, traces packets and captures them. Handlers
reads and writes those of a Click configuration, and changes it while it runs.
"""

from perigee.click_socket import ClickSocket
from perigee.connections import Connect, connect
from perigee.control import Control
from perigee.counters import AppCounters, Counters
from perigee.errors import PerigeeError
from perigee.generator import Generator, generate
from perigee.handlers import Handler, Handlers
from perigee.instance import Hop, Instance, TracedPacket, instances
from perigee.loadtest import LoadTest, find_limit
from perigee.pcapng import Packet
from perigee.program import Program, run
from perigee.replay import Replay, replay
from perigee.reports import (ConnectReport, ConnectSide, Direction, GenerateReport, Latency,
                             LimitReport, Received, ReplayReport, Sent, Side)
from perigee.stream import Stream

__all__ = ["AppCounters", "ClickSocket", "Connect", "ConnectReport", "ConnectSide",
           "Control", "Counters", "Direction", "GenerateReport", "Generator", "Handler",
           "Handlers", "Hop", "Instance", "Latency", "LimitReport", "LoadTest", "Packet",
           "PerigeeError", "Program", "Received", "Replay", "ReplayReport", "Sent", "Side",
           "Stream", "TracedPacket", "connect", "find_limit", "generate", "instances",
           "replay", "run"]
