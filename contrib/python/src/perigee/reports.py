# SPDX-License-Identifier: Apache-2.0
"""Reports as dataclasses; doc/reports.schema.json says what each figure is."""

from dataclasses import dataclass, field, fields
from typing import Any, Self


def _known(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    """The values that the dataclass has; a newer Perigee may report more."""
    names = {f.name for f in fields(kind)}
    return {key: value for key, value in values.items() if key in names}


@dataclass(frozen=True)
class Latency:
    """Latencies in nanoseconds."""

    min: float
    mean: float
    median: float
    p90: float
    p99: float
    p999: float
    max: float


@dataclass(frozen=True)
class Sent:
    """What was sent."""

    packets: int
    bytes: int
    seconds: float
    pps: float
    bit_rate: float
    """Bits a second on the wire."""
    numbered: int
    port: str | None = None
    requested_pps: float | None = None
    requested_bit_rate: float | None = None
    kept: float | None = None
    """The share of the rate that was kept."""
    latest_ns: float | None = None
    dropped: int | None = None
    unsent: int | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class Received:
    """What was received."""

    packets: int
    bytes: int
    seconds: float
    pps: float
    bit_rate: float
    lost: int
    duplicates: int
    reordered: int
    numbered: int
    too_late: int
    other: int
    unclear: int
    port: str | None = None
    missed: int | None = None
    latency: Latency | None = None
    latency_count: int | None = None


@dataclass(frozen=True)
class Direction:
    """What was sent and received in one direction, or of one stream."""

    name: str | None = None
    sent: Sent | None = None
    received: Received | None = None
    streams: list["Direction"] = field(default_factory=list)
    removed: bool = False
    """Was the stream removed while it ran?"""

    @classmethod
    def of(cls, report: dict[str, Any]) -> Self:
        """The direction that the report is."""
        sent, received = report.get("sent"), report.get("received")
        if received and "latency_ns" in received:
            received = {**received,
                        "latency": Latency(**_known(Latency, received["latency_ns"]))}
        return cls(report.get("name"), Sent(**_known(Sent, sent)) if sent else None,
                   Received(**_known(Received, received)) if received else None,
                   [cls.of(stream) for stream in report.get("streams", [])],
                   report.get("removed", False))


@dataclass(frozen=True)
class GenerateReport:
    """The results of `perigee generate`: two directions with --both, else one."""

    directions: list[Direction]

    @classmethod
    def of(cls, report: dict[str, Any]) -> Self:
        """The results that the JSON object is."""
        return cls([Direction.of(d) for d in report.get("directions", [report])])

    @property
    def sent(self) -> Sent | None:
        """What was sent in the first direction."""
        return self.directions[0].sent

    @property
    def received(self) -> Received | None:
        """What was received in the first direction."""
        return self.directions[0].received

    @property
    def streams(self) -> list[Direction]:
        """The streams of the first direction; empty if there is one without a name."""
        return self.directions[0].streams


@dataclass(frozen=True)
class Side:
    """What `perigee replay` sent to one of two ports."""

    side: str
    """"client" or "server"."""
    port: str
    packets: int
    bytes: int


@dataclass(frozen=True)
class ReplayReport:
    """The results of `perigee replay`."""

    packets: int
    bytes: int
    bits: int
    """On the wire."""
    seconds: float
    scheduled: float
    """How many seconds it should have taken."""
    unsent: int
    drops: dict[str, int]
    """By name; those that there were."""
    sides: list[Side] = field(default_factory=list)

    @classmethod
    def of(cls, report: dict[str, Any]) -> Self:
        """The results that the JSON object is."""
        values = _known(cls, report["replay"])
        return cls(**{**values,
                      "drops": {d["name"]: d["count"] for d in values["drops"] if d["count"]},
                      "sides": [Side(**_known(Side, s)) for s in values.get("sides", [])]})


@dataclass(frozen=True)
class ConnectSide:
    """What became of the connections of a side."""

    seconds: float
    counts: dict[str, int]
    """Such as "established", "closed", "reset", "timed_out", "retransmits"."""
    balanced: bool
    """Is the sum of the ends what was started?"""
    port: str | None = None
    connect: Latency | None = None
    first_byte: Latency | None = None

    @classmethod
    def of(cls, report: dict[str, Any]) -> Self:
        """The side that the JSON object is."""
        times = {name: Latency(**_known(Latency, report[name + "_ns"]))
                 for name in ("connect", "first_byte") if report.get(name + "_ns")}
        return cls(**{**_known(cls, report), **times})


@dataclass(frozen=True)
class ConnectReport:
    """The results of `perigee connect`."""

    client: ConnectSide | None
    server: ConnectSide | None

    @classmethod
    def of(cls, report: dict[str, Any]) -> Self:
        """The results that the JSON object is."""
        client, server = report.get("client"), report.get("server")
        return cls(ConnectSide.of(client) if client else None,
                   ConnectSide.of(server) if server else None)


@dataclass(frozen=True)
class LimitReport:
    """What `perigee loadtest find-limit` found for a size."""

    size: int | None
    limit: float | None
    """Bits a second on the wire; None: not measurable, by the `reason`."""
    machine: bool
    """Was the limit this machine's?"""
    trials: list[dict[str, Any]]
    reason: str | None = None
    stopped: str | None = None
    """Why it ended early."""

    @classmethod
    def all(cls, report: dict[str, Any]) -> list[Self]:
        """The results of each size that the JSON object has."""
        return [cls(**{"size": None, "limit": None, **_known(cls, r)})
                for r in report["results"]]
