# SPDX-License-Identifier: Apache-2.0
"""What became of the tests of a part of a run, as it was written while they ran (`perigee
test --outcomes`, recorder.py)."""

import collections
import json
import os

FAILED = "failure", "error"


class Outcomes:
    """The statuses of tests, by (file, name); what hasn't run; how long files took."""

    def __init__(self, records=()):
        self.tests, self.ended = {}, False
        self.wanted, self.begun, self.done = None, [], set()
        self.wall, self.cpu = collections.Counter(), collections.Counter()
        for record in records:
            self.take(record)

    def take(self, record):
        if "test" in record:
            key = here(record["file"]), here(record["test"])
            # Two specs of a file may have one name: none may hide that the other failed.
            while key in self.tests:
                key = *key[:2], len(key) > 2 and key[2] + 1 or 2
            self.tests[key] = record["status"]
        elif "done" in record:
            self.done.add(record["done"])
            file = here(record["done"].partition("::")[0])
            self.wall[file] += record["wall"]
            self.cpu[file] += record["cpu"]
        elif "begin" in record:
            self.begun.append(record["begin"])
        elif "ended" in record:
            self.ended = True
        else:
            self.wanted = record.get("files") or record.get("tests") or []

    def count(self, *statuses):
        return sum(status in statuses for status in self.tests.values())

    @property
    def failed(self):
        return [test for test, status in self.tests.items() if status in FAILED]

    @property
    def not_run(self):
        """Files of specs, or tests of pytest's, that weren't run to their end. Where none was
        begun it isn't known which there are."""
        if self.wanted is None:
            return [] if self.ended else ["all"]
        return [name for name in self.wanted if name not in self.done]

    @property
    def at_work(self):
        """Those of them that had begun."""
        return [here(name) for name in self.begun if name not in self.done]


def divide(shared):
    """Of processes that shared what there is to run: each was to run what it has begun, and
    what none has begun counts for the first."""
    named = [found for found in shared if found.wanted is not None]
    begun = {name for found in named for name in found.begun}
    for found in named:
        left = found.wanted if found is named[0] else []
        found.wanted = [*found.begun, *(name for name in left if name not in begun)]


def here(path):
    """The path as seen from the tree."""
    return path.removeprefix(os.getcwd() + "/")


def read(path):
    """What the file tells."""
    return Outcomes(records_of(path))


def records_of(path):
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:  # it died while it wrote this line
                    return
    except FileNotFoundError:
        return


def title(test):
    """A test's name for people: with its file, which pytest's own have in them."""
    file, name = test[:2]
    return name if name.startswith(file) else f"{file}: {name}"
