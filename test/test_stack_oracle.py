# SPDX-License-Identifier: Apache-2.0
"""lib.stack against Scapy: both build the same random packets, and Perigee finds in
Scapy's what was put there. doc/stack-differences.md lists where the two differ."""

import json
import random

import pytest
from scapy.all import Ether

from helpers.command import PERIGEE, ROOT, run
from helpers.stack_cases import BLOCKS, HEADERS, Case, chain, finish, way_to

SEED = 20261121
STACKS = 1000      # random combinations
PER_BLOCK = 12     # random packets for each block


def ask(cases):
    """Perigee's answers to the cases, from one process."""
    lines = "".join(json.dumps(case.request) + "\n" for case in cases)
    result = run(PERIGEE, "run", ROOT / "test/helpers/stack_oracle.lua", input=lines)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(cases)
    return answers


def difference(expected, found):
    """Where two byte strings (hex) differ, in words; None if they don't."""
    if expected == found:
        return None
    length = min(len(expected), len(found))
    first = next((i for i in range(length) if expected[i] != found[i]), length) // 2
    return (f"from byte {first} of {len(expected) // 2} on:\n  Scapy   {expected}\n"
            f"  Perigee {found}")


def misread(case, headers):
    """What resolving found amiss, in words; None if all is as it was built."""
    if isinstance(headers, dict):
        return headers["error"]
    names = [header["name"] + "." + header["subType"] for header in headers]
    wanted = [header["name"] + "." + header["subType"] for header in case.headers]
    if names != wanted:
        return f"found {names}, not {wanted}"
    for wanted, header in zip(case.headers, headers):
        for field, value in wanted["fields"].items():
            if header["fields"].get(field) != value:
                return (f"{wanted['name']}'s {field} is {header['fields'].get(field)}, "
                        f"not {value}")
        for member, value in wanted.get("variable", {}).items():
            if header.get("variable") != value:
                return (f"{wanted['name']}'s {member} is {header.get('variable')}, "
                        f"not {value}")
    return None


def faults(case, answer):
    """All that is wrong with an answer, in words."""
    if "error" in answer:
        yield "error", answer["error"]
        return
    expected = case.bytes.hex()
    yield "built", difference(expected, answer["bytes"])
    yield "built again", difference(expected, answer["again"])
    yield "check", answer.get("check")
    yield "verify", answer.get("verify")
    if "gtpu" not in str(case):  # its options need one of three flags: a choice
        yield "with defaults alone", answer.get("defaults")
    yield "resolved", misread(case, answer["resolved"])


def judge(cases, answers):
    """Fail with the cases that differ (the first few of them)."""
    wrong = []
    for case, answer in zip(cases, answers):
        found = [f"{what}: {fault}" for what, fault in faults(case, answer) if fault]
        if found:
            wrong.append(f"{case}: " + "; ".join(found))
    assert not wrong, (f"seed {SEED}: {len(wrong)} of {len(cases)} packets:\n"
                       + "\n".join(wrong[:10]))


def cases_of(name):
    """Random packets with this block in each."""
    rng = random.Random(f"{SEED} {name}")
    return [Case(finish(way_to(name, rng), rng), rng) for _ in range(PER_BLOCK)]


@pytest.fixture(scope="module")
def answered():
    """All blocks' cases with Perigee's answers: {name: (cases, answers)}."""
    cases = {name: cases_of(name) for name in BLOCKS}
    answers = iter(ask([case for name in BLOCKS for case in cases[name]]))
    return {name: (cases[name], [next(answers) for _ in cases[name]])
            for name in BLOCKS}


@pytest.fixture(scope="module")
def random_stacks():
    """Random legal combinations of headers."""
    rng = random.Random(SEED)
    print("seed", SEED)
    return [Case(chain(rng, rng.randint(1, HEADERS)), rng) for _ in range(STACKS)]


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_a_protocol(answered, name):
    """Each protocol by itself, on what it goes over."""
    judge(*answered[name])


def test_random_stacks(random_stacks):
    """Stacks of up to eight headers."""
    assert len({str(case) for case in random_stacks}) > STACKS / 2
    assert {len(case.items) for case in random_stacks} == set(range(1, HEADERS + 1))
    judge(random_stacks, ask(random_stacks))


@pytest.mark.parametrize("ip", ["ip4", "ip6"])
def test_a_checksum_that_comes_out_as_zero(ip):
    """UDP sends 0xffff then: the payload is made so that the sum is 0."""
    blocks = [BLOCKS[name] for name in ("eth", ip, "udp")]
    cases = []
    for seed in range(PER_BLOCK):
        trial = Case(blocks, random.Random(seed), b"\0\0")
        sum_without = trial.bytes[trial.length - 4:trial.length - 2]
        case = Case(blocks, random.Random(seed), sum_without)
        assert case.bytes[case.length - 4:case.length - 2] == b"\xff\xff"
        cases.append(case)
    judge(cases, ask(cases))


def test_every_definition_is_compared():
    """No protocol is left out but those that Scapy can't say."""
    compared = {item.partition(".")[0] for block in BLOCKS.values()
                for item in block.items}
    files = (ROOT / "src/lib/stack/proto").rglob("*.lua")
    defined = {path.stem for path in files if not path.stem.endswith("_spec")}
    assert compared == defined


# What Scapy 2.5 doesn't look into, by the layer and the one in front of it ("*": any).
UNREAD = {
    ("PPPoE", "TwoBytePPP"), ("*", "PTP"), ("*", "SlowProtocol"), ("AH", "*"),
    ("*", "L2TPv3"), ("*", "NSH"), ("IP", "IGMP"), ("GRE", "PPPoE"), ("UDP", "SFlow"),
    ("UDP", "BOOTP"), ("UDP", "IPFIX"), ("BFD", "*"), ("DNS", "*"), ("ESP", "*"),
    ("GENEVE", "*"), ("GTP_U_Header", "*"), ("*", "LLDPDUSystemName"),
    ("ICMPv6MLReport2", "*"), ("IP", "IGMPv3"), ("IP", "VRRPv3"), ("LLC", "STP"),
    ("PPPoED", "PPPoETag"), ("UDP", "DHCP6"), ("UDP", "DHCP6_RelayForward"),
}
SAME = {"ICMPv6NDOptDstLLAddr": "ICMPv6NDOptSrcLLAddr", "Padding": "Raw",
        "SystemName": "LLDPDUSystemName"}


def layers(packet):
    """The names of the layers, without bytes behind them."""
    names = []
    while packet:
        names.append(SAME.get(type(packet).__name__, type(packet).__name__))
        packet = packet.payload
    return [name for name in names if name != "Raw"]


def test_scapy_reads_the_same_headers(random_stacks):
    """What announces a header is what Scapy takes for it, too."""
    read = 0
    for case in random_stacks:
        built, found = layers(case.scapy), layers(Ether(case.bytes))
        same = [a == b for a, b in zip(built, found)]
        first = same.index(False) if False in same else min(len(built), len(found))
        if first < len(built):
            pair = (built[first - 1], built[first])
            assert {pair, ("*", pair[1]), (pair[0], "*")} & UNREAD, (
                f"seed {SEED}: {built} is read as {found}")
        read += first
    assert read > 2 * STACKS
