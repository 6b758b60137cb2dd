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

    @classmethod
    def of(cls, report: dict[str, Any]) -> Self:
        """The direction that the report is."""
        sent, received = report.get("sent"), report.get("received")
        if received and "latency_ns" in received:
            received = {**received,
                        "latency": Latency(**_known(Latency, received["latency_ns"]))}
        return cls(report.get("name"), Sent(**_known(Sent, sent)) if sent else None,
                   Received(**_known(Received, received)) if received else None,
                   [cls.of(stream) for stream in report.get("streams", [])])


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
