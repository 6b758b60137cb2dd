# SPDX-License-Identifier: Apache-2.0
"""Handlers of a Click configuration that runs, through its process's control socket."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from perigee.control import Control


@dataclass(frozen=True)
class Handler:
    """A handler, and what it can do."""

    name: str
    read: bool
    write: bool
    argument: bool
    """Does it take an argument when it is read?"""


class Handlers:
    """Handlers of the elements of `perigee click`, by a connection to its control socket,
    which is closed with the `with`."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def read(self, handler: str, argument: str | None = None) -> str:
        """What the handler, such as "counter.count", says.

        Raises PerigeeError with a sentence if there is none such.
        """
        return self._control.ask("read", handler=handler, argument=argument)["value"]

    def write(self, handler: str, value: str | int | float = "") -> None:
        """Write the value, which may be several lines, to the handler."""
        self._control.ask("write", handler=handler, value=str(value))

    def elements(self) -> dict[str, str]:
        """The classes of the elements, by their names."""
        told: list[dict[str, Any]] = self._control.ask("handlers").get("elements", [])
        return {e["name"]: e["class"] for e in told}

    def of(self, element: str) -> list[Handler]:
        """The handlers of an element; of "": the router's own."""
        told = self._control.ask("handlers", element=element).get("handlers", [])
        return [Handler(**h) for h in told]

    def configuration(self) -> str:
        """The configuration that runs."""
        return self.read("config")

    def reconfigure(self, text: str) -> None:
        """Let another configuration take the place of the one that runs; elements of the
        same name and class keep their state. The router must allow it (`click -R`), and
        goes on as it was if the text is wrong: PerigeeError says why.
        """
        self._control.ask("reconfigure", text=text)

    def close(self) -> None:
        """Close the connection."""
        self._control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
