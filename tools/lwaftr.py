# SPDX-License-Identifier: Apache-2.0
"""The end-to-end cases of a Snabb checkout's lwaftr: configuration and packets in,
packets and counters out, with two interfaces and on a stick (one for both)."""

import pathlib
import shutil
import subprocess

TESTS = "program/lwaftr/tests"
COLUMNS = 7  # of TEST_DATA: name, configuration, in and out of IPv4 and IPv6, counters
# Upstream's script leaves these out on a stick: there is no wrong interface then.
TWO_INTERFACES_ONLY = ("non-ipv6-traffic-to-ipv6-interface.lua",
                       "non-ipv4-traffic-to-ipv4-interface.lua")

# Upstream's own binary sends other packets than those on file here (its solicitation
# goes to a multicast address by now): only the counters are compared.
OUTDATED = ("ndp_ns_and_recap.pcap",)


def cases(src):
    """All cases as (name, on_a_stick, [configuration, in4, in6, out4, out6, counters]),
    file names in the checkout's data folder."""
    folder = pathlib.Path(src) / TESTS / "end-to-end"
    text = subprocess.run(
        ["bash", "-c", "source ./test_env.sh; printf '%s\\n' \"${TEST_DATA[@]}\""],
        cwd=folder, capture_output=True, text=True, check=True).stdout
    lines = text.split("\n")[:-1]
    for i in range(0, len(lines) - COLUMNS + 1, COLUMNS):
        name, conf, *pcaps, counters = lines[i:i + COLUMNS]
        files = [conf, *(pcap or "empty.pcap" for pcap in pcaps),
                 f"counters/{counters}"]
        yield name, False, files
        if counters not in TWO_INTERFACES_ONLY:
            yield name, True, files


def copy_data(src, place):
    """A copy of the data folder in `place`: lwaftr compiles configurations in it."""
    return pathlib.Path(shutil.copytree(
        pathlib.Path(src) / TESTS / "data", pathlib.Path(place) / "data",
        ignore=shutil.ignore_patterns("*.o")))


def run(command, data, on_a_stick, files, seconds=60):
    """What is wrong with a case: None, or a line. `command` runs Snabb's programs,
    `data` is from copy_data."""
    conf, in4, in6, out4, out6, counters = (data / name for name in files)
    made = data / "made4.pcap", data / "made6.pcap"
    for path in made:
        path.unlink(missing_ok=True)
    stick = ["--on-a-stick"] if on_a_stick else []
    try:
        result = subprocess.run(
            [*command, "lwaftr", "check", *stick, conf, in4, in6, *made, counters],
            capture_output=True, text=True, errors="replace", timeout=seconds,
            cwd=data)
    except subprocess.TimeoutExpired:
        return f"no end after {seconds} s"
    if result.returncode != 0:
        lines = (result.stderr + result.stdout).strip().splitlines()
        said = [line for line in lines if line.startswith("perigee: ")]
        return f"exit status {result.returncode}: {(said or lines or ['?'])[-1]}"
    for wanted, path in zip((out4, out6), made):
        if wanted.name in OUTDATED:
            continue
        if wanted.read_bytes() != path.read_bytes():
            return f"what was sent isn't {wanted.name}"
    return None
