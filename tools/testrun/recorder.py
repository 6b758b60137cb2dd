# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: --outcomes=FILE writes what becomes of each test, as it happens, one
JSON object a line, with the fields of `perigee test --outcomes` (test/lua/testing/output.lua)
but {"tests": [ID, ...]} for all that will be run."""

import json
import os
import pathlib

import pytest

ORDER = ["success", "pending", "error", "failure"]  # of a test's phases the last counts


def pytest_addoption(parser):
    parser.addoption("--outcomes")


def pytest_configure(config):
    path = config.getoption("--outcomes")
    if not path:
        return
    begun = pathlib.Path(path + ".begun")
    if hasattr(config, "workerinput"):  # a process of pytest-xdist; it reports to the first
        config.pluginmanager.register(Once(begun))
    else:
        begun.unlink(missing_ok=True)
        config.pluginmanager.register(Recorder(path))


def cpu_seconds():
    return sum(os.times()[:4])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    item.cpu_before = cpu_seconds()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    report.cpu = cpu_seconds() - item.cpu_before


def file_of(nodeid):
    return nodeid.partition("::")[0]


class Once:
    """No test is begun twice: pytest-xdist gives one that has ended its process to the next
    process, and to the next."""

    def __init__(self, begun):
        self.begun = begun
        begun.touch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        test = item.nodeid
        if test not in self.begun.read_text(encoding="utf-8").splitlines():
            with self.begun.open("a", encoding="utf-8") as out:
                out.write(test + "\n")
            return None
        item.ihook.pytest_runtest_logreport(report=pytest.TestReport(
            test, item.location, {}, "failed", "it has ended its process", "setup"))
        return True


class Recorder:
    def __init__(self, path):
        self.out = open(path, "w", buffering=1, encoding="utf-8")
        self.told = set()  # of files that can't be collected
        self.collected = False
        self.status, self.wall = {}, {}

    def write(self, **record):
        self.out.write(json.dumps(record) + "\n")

    def all(self, ids):
        if not self.collected:
            self.collected = True
            self.write(tests=list(ids))

    # Without pytest-xdist the first is called, with it the second, once for each process.
    def pytest_collection_finish(self, session):
        if session.items:
            self.all(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.all(ids)

    def pytest_collectreport(self, report):
        if not report.passed and report.nodeid not in self.told:
            self.told.add(report.nodeid)
            self.write(test=report.nodeid, file=file_of(report.nodeid),
                       status="error" if report.failed else "pending")

    def pytest_runtest_logstart(self, nodeid):
        self.write(begin=nodeid)

    def pytest_runtest_logreport(self, report):
        test = report.nodeid
        status = {"passed": "success", "skipped": "pending"}.get(
            report.outcome, "failure" if report.when == "call" else "error")
        self.status[test] = max(self.status.get(test, "success"), status, key=ORDER.index)
        self.wall[test] = self.wall.get(test, 0) + report.duration
        # A process that dies says so by a report of its own kind ("???").
        if report.when not in ("setup", "call"):
            self.write(test=test, file=file_of(test), status=self.status[test])
            self.write(done=test, wall=self.wall[test], cpu=getattr(report, "cpu", 0))

    def pytest_sessionfinish(self):
        self.write(ended=True)
