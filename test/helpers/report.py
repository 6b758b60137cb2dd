# SPDX-License-Identifier: Apache-2.0
"""Reading the report that a run prints at its end."""

import re

TERMS = ["received", "allocated", "sent", "freed", "dropped by ports", "in links",
         "between CPUs", "held by apps"]
SUM = (r"^packets: received (N) \+ allocated (N) = sent (N) \+ freed (N) "
       r"\+ dropped by ports (N) \+ in links (N)(?: \+ between CPUs (N))? "
       r"\+ held by apps (N)$"
       .replace("N", r"-?[\d,]+"))


def numbers(pattern, text):
    """The groups of every match of the pattern, as numbers without their commas; 0 of one
    that isn't there."""
    return [tuple(int((group or "0").replace(",", "")) for group in match.groups())
            for match in re.finditer(pattern, text, re.MULTILINE)]


def number(pattern, text):
    """The first one that the pattern matches, without its commas."""
    return numbers(pattern, text)[0][0]


def accounts(said):
    """Every conservation sum of the output, checked: dicts by the sum's terms."""
    found = [dict(zip(TERMS, row)) for row in numbers(SUM, said)]
    assert found, f"no 'packets:' line in: {said}"
    for a in found:
        assert min(a.values()) >= 0, a
        assert a["received"] + a["allocated"] == sum(a[name] for name in TERMS[2:]), a
    return found


def account(said):
    """The last conservation sum of the output."""
    return accounts(said)[-1]


def port_statistics(said):
    """DPDK's statistics of the ports in the output: port string -> dict."""
    pattern = r"^  port (\S+) \(.*\)\n  (ipackets .*)$"
    return {port: {name: int(value.replace(",", ""))
                   for name, value in re.findall(r"(\w+) ([\d,]+)", line)}
            for port, line in re.findall(pattern, said, re.MULTILINE)}


def drops(said):
    """The named drops in the output: name -> packets."""
    found = re.findall(r"^ +([\d,]+) dropped: (\w+)", said, re.MULTILINE)
    return {name: int(count.replace(",", "")) for count, name in found}
