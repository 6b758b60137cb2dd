# SPDX-License-Identifier: Apache-2.0
"""Streams of `perigee generate`, to be added while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self


def parts_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a stream has, as the control socket takes it."""
    parts = dict(options)
    if isinstance(values := parts.pop("fields", None), Mapping):
        parts["set"] = [f"{label}={value}" for label, value in values.items()]
    elif "fields" in options:
        parts["set"] = None
    if isinstance(payload := parts.get("payload"), bytes):
        parts["payload"] = "hex:" + payload.hex()
    elif isinstance(payload, str):
        parts["payload"] = "text:" + payload
    if isinstance(latency := parts.get("latency"), bool):
        parts["latency"] = "on" if latency else "off"
    return parts


@dataclass
class Stream:
    """Packets of one kind, at a rate. What is None, the options of the run say for all."""

    name: str | None = None
    stack: str | None = None
    """The headers, outermost first: "eth,ip4,udp"."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """Values by label: {"udpDst": 53, "ip4Src": "10.0.0.1..10.0.0.99"}."""
    size: int | str | None = None
    """Bytes of a packet, "64..1514", "imix", "60:7,590:4"."""
    payload: str | bytes | None = None
    rate: str | None = None
    """Such as "10kpps" or "1Gbit"."""
    arrivals: str | None = None
    count: int | None = None
    flows: int | None = None
    seed: int | None = None
    latency: bool | None = None
    """False: its packets bear no number and time, and aren't measured."""
    held: bool = False
    """Nothing is sent before go()."""
    removed: bool = False
    """Of those that are told: it has been removed, and its counts are kept."""

    def parts(self) -> dict[str, Any]:
        """It as the control socket takes it."""
        values = {f.name: getattr(self, f.name) for f in fields(self)
                  if f.name not in ("held", "removed")}
        if not values["fields"]:
            del values["fields"]
        return {key: value for key, value in parts_of(values).items() if value is not None}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """The stream that the control socket tells of."""
        known = {f.name for f in fields(cls)}
        values = {key: value for key, value in told.items() if key in known}
        if payload := values.get("payload"):
            values["payload"] = bytes.fromhex(payload.removeprefix("hex:"))
        if latency := values.get("latency"):
            values["latency"] = latency == "on"
        pairs = [text.partition("=") for text in told.get("set", [])]
        return cls(**values, fields={label: value for label, _, value in pairs})
