# SPDX-License-Identifier: Apache-2.0
"""DNS records read and written by lib.stack, against Scapy."""

import json
import random

from scapy.all import DNS, DNSQR, DNSRR, DNSRRMX, DNSRROPT, DNSRRSOA, DNSRRSRV, raw

from helpers.command import PERIGEE, run

SEED = 20261122
MESSAGES = 200

# A line of standard input is a message in hex; one of output what is in it, and the
# message that is written of that.
SCRIPT = """
local json = require("cjson.safe")
local packet = require("core.packet")
local stack = require("lib.stack")
local as = stack.createStack("eth", "ip4", "udp", "dns")
local ffi = require("ffi")
local START = 42
for line in io.lines() do
  local bytes = line:gsub("%x%x", function (digits)
    return string.char(tonumber(digits, 16))
  end)
  local p = packet.allocate()
  as(p):fill{pktLength = START + #bytes}
  ffi.copy(p.data + START, bytes, #bytes)
  local message, reason = as(p).dns:getRecords(#bytes)
  local answer = {reason = reason, message = message}
  if message then
    local size = as(p).dns:setRecords(message, 4000)
    answer.written = ffi.string(p.data + START, size):gsub(".", function (c)
      return ("%02x"):format(c:byte())
    end)
  end
  print(json.encode(answer))
  packet.free(p)
end
"""


def ask(tmp_path, messages):
    """What Perigee says of the messages."""
    script = tmp_path / "dns.lua"
    script.write_text(SCRIPT)
    lines = "".join(message.hex() + "\n" for message in messages)
    result = run(PERIGEE, "run", script, input=lines)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def random_name(rng):
    """A name that often ends as another one does, so that it is compressed."""
    first = rng.choice(("www", "mail", "a-b", "x" * 63))
    return f"{first}.{rng.choice(('example.org', 'example.net', 'test'))}."


def random_record(rng):
    """A record as Scapy's, and what is to be read of it: type and data."""
    head = {"rrname": random_name(rng), "ttl": rng.getrandbits(31)}
    name, number = random_name(rng), rng.getrandbits(16)
    return rng.choice((
        lambda: (DNSRR(**head, type="A", rdata="192.0.2.7"), "A", "192.0.2.7"),
        lambda: (DNSRR(**head, type="AAAA", rdata="2001:db8::1"), "AAAA",
                 "2001:db8::1"),
        lambda: (DNSRR(**head, type="NS", rdata=name), "NS", name),
        lambda: (DNSRR(**head, type="CNAME", rdata=name), "CNAME", name),
        lambda: (DNSRR(**head, type="PTR", rdata=name), "PTR", name),
        lambda: (DNSRR(**head, type="TXT", rdata=["one", "two"]), "TXT",
                 ["one", "two"]),
        # This Scapy gives MX records the type of SOA.
        lambda: (DNSRRMX(**head, type=15, preference=number, exchange=name), "MX",
                 {"preference": number, "exchange": name}),
        lambda: (DNSRRSRV(**head, priority=1, weight=number, port=3, target=name),
                 "SRV", {"priority": 1, "weight": number, "port": 3, "target": name}),
        lambda: (DNSRRSOA(**head, mname=name, rname="r.test.", serial=number,
                          refresh=2, retry=3, expire=4, minimum=5), "SOA",
                 {"mname": name, "rname": "r.test.", "serial": number, "refresh": 2,
                  "retry": 3, "expire": 4, "minimum": 5}),
        lambda: (DNSRR(**head, type=99, rdata=b"abc"), "TYPE99", "abc"),
    ))()


def section_of(records):
    """The records as Scapy wants them: since 2.6 a list, before a chain of packets."""
    if isinstance(DNS().an, list):
        return records
    joined = None
    for record in records:
        joined = record if joined is None else joined / record
    return joined


def random_message(rng):
    """A message of Scapy's, and what is to be read of it."""
    question = random_name(rng)
    sections, expected = {}, {"questions": [
        {"name": question, "type": "MX", "class": "IN"}]}
    for section, key in (("an", "answers"), ("ns", "authorities"),
                         ("ar", "additionals")):
        chosen = [random_record(rng) for _ in range(rng.randint(0, 3))]
        expected[key] = [
            {"name": record.rrname.decode(), "ttl": record.ttl, "class": "IN",
             "type": kind, "data": data} for record, kind, data in chosen]
        sections[section] = section_of([record for record, _, _ in chosen])
    return DNS(id=7, qr=1, qd=DNSQR(qname=question, qtype="MX"), **sections), expected


def comparable(message):
    """Perigee's message, where an empty list is an empty object of JSON."""
    return {key: value or [] for key, value in message.items()}


def is_whole(message):
    """Did Scapy compress it right? A name that ends as two others do, it garbles."""
    return b"\xc0" not in b"".join(name + b"." for name in names_of(DNS(message)))


def records_of(section):
    """The same back, as a list."""
    if isinstance(section, list):
        return section
    records = []
    while section:
        records.append(section)
        section = section.payload
    return records


def names_of(message):
    """All names in Scapy's message."""
    for section in (message.an, message.ns, message.ar):
        for record in records_of(section):
            yield record.rrname
            for attribute in ("rdata", "exchange", "target", "mname", "rname"):
                value = getattr(record, attribute, b"")
                if isinstance(value, bytes):
                    yield value


def test_records_are_those_of_scapy(tmp_path):
    """Read, compressed or not; written, and read by Scapy again."""
    rng = random.Random(SEED)
    messages = [random_message(rng) for _ in range(MESSAGES)]
    plain = [raw(message) for message, _ in messages]
    both = [*zip(plain, plain, messages)]
    for bytes_of, (message, expected) in zip(plain, messages):
        small = raw(message.compress())
        if len(small) < len(bytes_of) and is_whole(small):
            both.append((small, bytes_of, (message, expected)))
    assert len(both) > 1.3 * MESSAGES
    answers = ask(tmp_path, [sent for sent, _, _ in both])
    for answer, (_, _, (_, expected)) in zip(answers, both):
        assert "message" in answer, answer["reason"]
        assert comparable(answer["message"]) == expected
    for answer, (_, bytes_of, _) in zip(answers, both):
        written = bytes.fromhex(answer["written"])
        assert written[4:] == bytes_of[4:]


def test_other_types_are_kept(tmp_path):
    """EDNS's OPT record, whose class is a size."""
    message = raw(DNS(qd=None, ar=DNSRROPT(rclass=1232)))
    answer, = ask(tmp_path, [message])
    record, = answer["message"]["additionals"]
    assert (record["type"], record["class"]) == ("OPT", "CLASS1232")
    assert record["name"] == "."
    assert answer["written"] == message.hex()[:4] + answer["written"][4:]
    assert answer["written"][8:] == message.hex()[8:]


def test_broken_messages_are_told(tmp_path):
    """Cut short anywhere, pointing to themselves or forwards, labels of other types."""
    whole = raw(DNS(qr=1, qd=DNSQR(qname="www.example.org"),
                    an=DNSRR(rrname="www.example.org", rdata="192.0.2.1")).compress())
    cut = [whole[:n] for n in range(12, len(whole))]
    header = bytes.fromhex("000700000001000000000000")
    bent = [header + name + bytes.fromhex("00010001") for name in
            (b"\xc0\x0c", b"\xc0\x40", b"\xc0\x00", b"\x01a\xc0\x0c",
             b"\x41" + b"a" * 65, b"\x05abc", (b"\x3f" + b"a" * 63) * 5 + b"\0")]
    loop = header + b"\x01a\xc0\x0c" + bytes(4)
    for answer in ask(tmp_path, cut + bent + [loop]):
        assert answer["reason"] and "message" not in answer
