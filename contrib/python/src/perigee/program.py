# SPDX-License-Identifier: Apache-2.0
"""Programs of Perigee as processes."""

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any, Self

from perigee.click_socket import ClickSocket
from perigee.control import Control
from perigee.errors import ConnectionEnded, PerigeeError, understanding
from perigee.handlers import Handlers
from perigee.instance import Instance, instances

LOOK_SECONDS = 0.05
QUERY_SECONDS = 60.0
END_SECONDS = 5.0

# What programs write is UTF-8 where the names that they are given are.
TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}


def executable(given: str | None = None) -> str:
    """The program perigee: the one given, that of $PERIGEE, or that of $PATH."""
    found = given or os.environ.get("PERIGEE") or shutil.which("perigee")
    if not found:
        raise PerigeeError("there is no perigee on the PATH; set PERIGEE to its path")
    return found


def run(*words: object, perigee: str | None = None, timeout: float | None = None) -> str:
    """Run a program to its end; what it wrote to standard output.

    Raises PerigeeError with its sentence on standard error if its status isn't 0, or if
    it takes longer than `timeout` seconds.
    """
    command = [executable(perigee), *map(str, words)]
    try:
        result = subprocess.run(command, capture_output=True, timeout=timeout, check=False,
                                **TEXT)
    except subprocess.TimeoutExpired:
        raise PerigeeError(f"perigee {' '.join(command[1:])} hasn't ended within "
                           f"{timeout:g} s") from None
    except OSError as error:
        raise _not_started(command, error) from error
    _check(result.returncode, result.stderr)
    return result.stdout


def run_json(*words: object, perigee: str | None = None) -> Any:
    """Run a program that soon ends, and read the JSON that it writes."""
    with understanding(f"what perigee {words[0]} says"):
        return json.loads(run(*words, perigee=perigee, timeout=QUERY_SECONDS))


def _not_started(command: list[str], error: OSError) -> PerigeeError:
    return PerigeeError(f"{command[0]} can't be started: {error.strerror}")


def _check(status: int, said: str) -> None:
    sentence = said.rpartition("perigee: ")[2].strip()
    if status < 0:
        name = str(-status)
        with contextlib.suppress(ValueError):
            name = signal.Signals(-status).name
        raise PerigeeError(f"perigee was ended by signal {name}"
                           + (f"; it had said: {sentence}" if sentence else ""))
    if status > 0:
        raise PerigeeError(sentence or f"perigee has ended with status {status}")


class Program:
    """A program that runs, until the `with` or this Python ends: `words` as on the command
    line.

    A program still running then is stopped with SIGINT, on which all of them let packets
    run out and report; one that doesn't end within `patience` seconds is killed.
    """

    def __init__(self, *words: object, perigee: str | None = None,
                 patience: float = 30.0) -> None:
        self._perigee = executable(perigee)
        self._words = [str(word) for word in words]
        self._patience = patience
        self._control: Control | None = None
        self._said: dict[Any, str] = {}
        self._output = tempfile.TemporaryFile("w+", **TEXT)
        self._errors = tempfile.TemporaryFile("w+", **TEXT)
        command = [self._perigee, *self._words]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                             stdout=self._output, stderr=self._errors)
        except OSError as error:
            self._output.close()
            self._errors.close()
            raise _not_started(command, error) from error
        atexit.register(self.close)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def running(self) -> bool:
        """Hasn't it ended?"""
        return self._process.poll() is None

    def _text(self, file: Any) -> str:
        if file in self._said:
            return self._said[file]
        file.seek(0)
        return file.read()

    @property
    def output(self) -> str:
        """What it has written to standard output so far."""
        return self._text(self._output)

    @property
    def errors(self) -> str:
        """What it has written to standard error so far."""
        return self._text(self._errors)

    def instance(self, timeout: float = 60.0) -> Instance:
        """The instance that it is, once it runs.

        Raises PerigeeError if it ends before, or takes longer than `timeout` seconds.
        """
        ends = time.monotonic() + timeout
        while self.running():
            for found in instances(perigee=self._perigee):
                if found.pid == self.pid and found.control:
                    return found
            if time.monotonic() > ends:
                raise PerigeeError(f"perigee {' '.join(self._words)} doesn't run yet")
            time.sleep(LOOK_SECONDS)
        _check(self._process.returncode, self.errors)
        raise PerigeeError("it has ended")

    @property
    def control(self) -> Control:
        """Its control socket; waits until it is there."""
        if not self._control:
            self._control = self.instance().connect()
        return self._control

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """The answer of its control socket to the request `do`, as Control.ask's.

        Raises PerigeeError with what it said at its end if it ends instead.
        """
        try:
            return self.control.ask(do, **arguments)
        except PerigeeError as error:
            if isinstance(error, ConnectionEnded):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_SECONDS)
            if not self.running():
                _check(self._process.returncode, self.errors)
            raise

    def handlers(self, timeout: float = 60.0) -> Handlers:
        """Handlers of the Click configuration that it runs, once it runs.

        Raises PerigeeError if it ends before, or takes longer than `timeout` seconds.
        """
        return self.instance(timeout).handlers()

    def click_socket(self, address: str | int | tuple[str, int],
                     timeout: float = 60.0) -> ClickSocket:
        """The same by its ControlSocket, once it listens at the address. Errors as above."""
        ends = time.monotonic() + timeout
        while self.running():
            try:
                return ClickSocket(address)
            except PerigeeError:
                if time.monotonic() > ends:
                    raise
            time.sleep(LOOK_SECONDS)
        _check(self._process.returncode, self.errors)
        raise PerigeeError("it has ended")

    def wait(self, timeout: float | None = None) -> str:
        """Wait for its end; what it wrote to standard output. Errors as run's."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise PerigeeError(f"perigee {' '.join(self._words)} hasn't ended within "
                               f"{timeout:g} s") from None
        _check(self._process.returncode, self.errors)
        return self.output

    def stop(self) -> str:
        """Let it end, as Ctrl-C does; what it wrote to standard output. Errors as run's."""
        if self.running():
            self._process.send_signal(signal.SIGINT)
        return self.wait_for_end()

    def wait_for_end(self) -> str:
        """Wait for the end that it was asked for, up to `patience` seconds; as wait()."""
        return self.wait(self._patience)

    def close(self) -> None:
        """End it, however it takes that."""
        if self._control:
            self._control.close()
            self._control = None
        if self.running():
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(self._patience)
            except subprocess.TimeoutExpired:
                pass
            finally:  # also where Ctrl-C ends the wait
                self._process.kill()
                self._process.wait()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
        for file in self._output, self._errors:
            self._said[file] = self._text(file)
            file.close()
