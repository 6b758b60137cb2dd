# SPDX-License-Identifier: Apache-2.0
"""What a running process has counted (doc/control.md, `counters`)."""

from dataclasses import dataclass, field
from typing import Any, Self

from perigee.errors import understanding


@dataclass(frozen=True)
class AppCounters:
    """Of an app."""

    counters: dict[str, int] = field(default_factory=dict)
    drops: dict[str, int] = field(default_factory=dict)
    """Packets, by reason."""


@dataclass(frozen=True)
class Counters:
    """All since the process began."""

    time: float
    """Seconds of the machine's monotonic clock, as time.monotonic()."""
    cpu_seconds: float
    engine: dict[str, int]
    """packets (sent or freed), bytes, bits (on the wire), breaths, configurations,
    sleeps, wakeups."""
    packets: dict[str, int]
    """Where all went: received + allocated = sent + freed + port_drops + in_links +
    in_rings + held."""
    links: dict[str, dict[str, int]]
    """By the link's text: txpackets, txbytes, txdrop, rxpackets, rxbytes."""
    apps: dict[str, AppCounters]
    ports: dict[str, str]
    """The port string of each app that is a port."""
    cpus: dict[int, dict[str, float]]
    """Of workers: packets, breaths, cpu_seconds, sleeps, wakeups."""
    removed: dict[str, dict[str, int]]
    """Drops by reason of apps that are no more."""

    @property
    def drops(self) -> dict[tuple[str, str], int]:
        """Packets that apps dropped, by (app, reason)."""
        return {(name, reason): n for name, app in self.apps.items()
                for reason, n in app.drops.items()}

    def pps(self, since: Self) -> float:
        """Packets a second, sent or freed since those earlier counters."""
        seconds = self.time - since.time
        packets = self.engine["packets"] - since.engine["packets"]
        return packets / seconds if seconds > 0 else 0.0

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Self:
        """From the answer of a control socket."""
        with understanding("what the process has counted"):
            apps = {name: AppCounters(app.get("counters") or {}, app.get("drops") or {})
                    for name, app in answer["apps"].items()}
            cpus = {int(cpu): figures for cpu, figures in answer.get("cpus", {}).items()}
            return cls(answer["time"], answer["cpu_seconds"], answer["engine"],
                       answer["packets"], answer["links"], apps, answer.get("ports", {}),
                       cpus, answer.get("removed", {}))
