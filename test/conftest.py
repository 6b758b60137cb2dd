# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests."""

import os
import pathlib
import tempfile

import pytest

from helpers import apart
from helpers.command import readable_copy
from helpers.network import Namespace, veth
from helpers.python_package import new_environment


def pytest_configure(config):
    config.addinivalue_line("markers", "fast: run by `make check` too")
    if hasattr(config, "workerinput"):  # one of several processes (pytest-xdist)
        apart.leave()


@pytest.fixture(scope="session", autouse=True)
def state_folder():
    """What programs keep beyond their end (ESP's count of IVs) goes with the tests."""
    with tempfile.TemporaryDirectory(prefix="perigee-test-", dir="/tmp") as directory:
        os.environ["PERIGEE_STATE"] = directory
        yield


@pytest.fixture(autouse=True)
def all_cpus():
    """A test that keeps itself to some CPUs, as benchmarks do, leaves the others to the
    next."""
    cpus = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, cpus)


@pytest.fixture
def scratch():
    """A directory for large files, removed at the end (pytest keeps tmp_path), that can be
    opened for other users."""
    with tempfile.TemporaryDirectory(prefix="perigee-test-", dir="/tmp") as directory:
        yield pathlib.Path(directory)


@pytest.fixture(scope="session")
def readable():
    """A perigee that all users can run: the checkout may be in a folder that is closed to
    them, such as /root."""
    with tempfile.TemporaryDirectory(prefix="perigee-test-", dir="/tmp") as directory:
        yield readable_copy(pathlib.Path(directory))


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """The Python of an environment that has the package of contrib/python."""
    return new_environment(tmp_path_factory.mktemp("python"))


@pytest.fixture
def namespace():
    """A function that makes a network namespace, given a label for its name. All are
    removed at the end, and the interfaces in them."""
    if os.geteuid() != 0:
        pytest.skip("makes network namespaces, as root")
    made = []

    def make(label=""):
        made.append(Namespace(label))
        return made[-1]

    yield make
    for namespace in made:
        namespace.remove()


@pytest.fixture
def pair(namespace):
    """Two namespaces joined by `left` and `right`, whose offloads are on."""
    here, there = namespace("h"), namespace("t")
    veth(here, "left", there, "right")
    return here, there
