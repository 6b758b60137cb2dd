# SPDX-License-Identifier: Apache-2.0
"""--check finds where apps use packets wrongly: the app, the line, and what happened to
the packet before. And it finds nothing where nothing is wrong."""

import re
import textwrap

import pytest

from helpers.capture import save
from helpers.command import ROOT, perigee
from helpers.misuse import BURST, PROCESS, PROGRAM, PUSH
from helpers.report import account

RECEIVED = (r"app 'bad' received it from the link 'before\.output -> bad\.input' at "
            r"wrong\.lua:9")
SENT = r"app 'bad' sent it to the link 'bad\.output -> after\.input' at wrong\.lua:10"
FREED = (r"the packet has been freed: app 'bad' freed it at wrong\.lua:10 "
         rf"\(before, {RECEIVED}\)")
TO = r"link\.transmit to the link 'bad\.output -> after\.input'"

# What the app does, and what is said of it behind "app 'bad': in push(): wrong.lua:11: ".
PUSHES = [
    ("packet.free(p)\npacket.free(p)", "packet.free: " + FREED),
    ("packet.free(p)\nlocal d = p.data", "p.data: " + FREED),
    ("packet.free(p)\nlocal n = p.length", "p.length: " + FREED),
    ("packet.free(p)\np.length = 7", "p.length = 7: " + FREED),
    ("packet.free(p)\npacket.append(p, 'abc', 3)", "p.length: " + FREED),
    ("packet.free(p)\nlink.transmit(output, p)", TO + ": " + FREED),
    ("packet.free(p)\nlink.transmit(output, packet.clone(p))", "p.length: " + FREED),
    ("link.transmit(output, p)\nlink.transmit(output, p)",
     rf"{TO}: the packet is in the link 'bad\.output -> after\.input': {SENT} "
     rf"\(before, {RECEIVED}\)"),
    ("link.transmit(output, p)\npacket.free(p)",
     rf"packet\.free: the packet is in the link 'bad\.output -> after\.input': {SENT} "
     rf"\(before, {RECEIVED}\)"),
    ("\np.length = 20000", r"p\.length = 20000: a packet holds 0 to 10240 bytes"),
    ("\np.length = -1", r"p\.length = -1: a packet holds 0 to 10240 bytes"),
    ("p.data_off = 10750\nlink.transmit(output, p)",
     TO + r": its 60 bytes from offset 10750 on end beyond its buffer of 10752 bytes; "
     + RECEIVED + ".*"),
    ("p.data[10496] = 1\nlink.transmit(output, p)",
     TO + r": somebody has written beyond its buffer of 10752 bytes; " + RECEIVED + ".*"),
    ("ffi.fill(ffi.cast('char *', p), 60)\nlink.transmit(output, p)",
     TO + r": somebody has written over its header, in front of its buffer; .*"),
    ("packet.free(p)\nfor _ = 1, 1e9 do packet.free(link.receive(input)) end",
     r"link\.receive: the link 'before\.output -> bad\.input' is empty; ask link\.empty or "
     r"link\.nreadable before"),
    ("\nlink.transmit(output, nil)", TO + ": nil isn't a packet"),
    ("\nlink.transmit(output, ffi.cast('struct packet *', nil))",
     TO + ": a NULL pointer isn't a packet"),
    ("\nlink.transmit(output, p.data)", TO + r": ctype<unsigned char \*> isn't a packet"),
    ("\nlink.transmit(output, {p})", TO + ": a table isn't a packet"),
    ("\npacket.free()", "packet.free: nil isn't a packet"),
    ("\npacket.from_pointer(p.data, 10241)",
     "packet.from_pointer: a packet can't hold 10241 bytes: it holds 0 to 10240"),
]

GOT = r"app 'bad' got it in process\(\) at wrong\.lua:6"
PROCESSES = [
    ("packet.free(p)", r"process\(\) returned nothing for a packet that is its own no more: "
     rf"app 'bad' freed it at wrong\.lua:7 \(before, {GOT}\); return nil for a packet that "
     "is to be dropped, without freeing it"),
    ("packet.free(p) return p", r"process\(\) returned it: the packet has been freed: "
     rf"app 'bad' freed it at wrong\.lua:7 \(before, {GOT}\)"),
    ("link.transmit(self.output.output, p) return p", r"process\(\) returned it: the packet "
     r"is in the link 'bad\.output -> after\.input': app 'bad' sent it to .* at "
     r"wrong\.lua:7 .*"),
    ("return ffi.cast('struct packet *', nil)", r"process\(\) returned a NULL packet"),
    ("return 5", r"process\(\) returned it: a number isn't a packet"),
    ("return p, 3", r"process\(\) returned a packet and 3, which is none of its class's "
     "outputs: output, other"),
    ("return nil, 2", r"process\(\) returned nil and 2, which is none of its class's "
     "drops: odd"),
]

BURSTS = [
    ("packets[3] = nil", r"process_burst\(\) put a NULL pointer in the place of packet 3 of "
     r"\d+; it was: app 'bad' got it in process_burst\(\) at wrong\.lua:6 .*"),
    ("packets[0], packets[1] = packets[1], packets[0]",
     r"process_burst\(\) put another packet in the place of packet 0 of \d+, which it may "
     "not"),
    ("packet.free(packets[2])", r"packet 2 of \d+ isn't here any more after "
     r"process_burst\(\), which may not free, send or keep packets: app 'bad' freed it at "
     r"wrong\.lua:7 .*"),
    ("route[4] = 7", r"process_burst\(\) set route\[4\] to 7: it is 1 to 2 for the outputs "
     r"\(output, other\), 0 to drop the packet, or -1 to -1 for the drops \(odd\)"),
    ("route[4] = -2", r"process_burst\(\) set route\[4\] to -2: it is 1 to 2 .*"),
]


EMITTED = (r"the packet has been emitted: app 'bad' emitted it at wrong\.lua:7 "
           r"\(before, app 'after' passed it on in process\(\) at wrong\.lua:\d+\)")

# Behind "app 'bad': in process(): wrong.lua:8: ".
EMISSIONS = [
    ("self.emit(1, p)\nself.emit(1, p)\nreturn false", "emit: " + EMITTED),
    ("self.emit(1, p)\npacket.free(p)\nreturn false", "packet.free: " + EMITTED),
    ("\nself.emit(4, p)\nreturn false",
     r"emit\(4, p\): that is none of its class's outputs: output, other"),
    ("\nself.emit(1, nil)\nreturn false", "emit: nil isn't a packet"),
]


@pytest.fixture
def program(tmp_path):
    """A function that runs PROGRAM with a class of this form, which does that."""
    def run_it(form, does, *options, more=""):
        lines = textwrap.indent(does, " " * (4 if form is PUSH else 2)).lstrip(" ")
        (tmp_path / "wrong.lua").write_text(PROGRAM % {"class": form % lines,
                                                       "more": more})
        return perigee("--eal", "--no-huge", "run", "wrong.lua", "--check", *options,
                       cwd=tmp_path)
    return run_it


def assert_found(result, method, line, pattern):
    assert result.returncode == 1, result.stderr
    assert re.search(rf"^perigee: app 'bad': in {method}\(\): wrong\.lua:{line}: "
                     rf"{pattern}\n$", result.stderr, re.M), result.stderr
    if "to hold" not in result.stderr: # a packet put into a link that is fused is lost
        assert result.stderr.count("\n") == 1, result.stderr
    account(result.stdout)


@pytest.mark.parametrize("does, pattern", PUSHES, ids=range(len(PUSHES)))
def test_in_push(program, does, pattern):
    assert_found(program(PUSH, does), "push", 11, pattern)


@pytest.mark.parametrize("fused", ["", "engine.fuse = false"])
@pytest.mark.parametrize("does, pattern", PROCESSES, ids=range(len(PROCESSES)))
def test_in_process(program, does, pattern, fused):
    assert_found(program(PROCESS, does, more=fused), "process", 6, pattern)


@pytest.mark.parametrize("does, pattern", BURSTS, ids=range(len(BURSTS)))
def test_in_process_burst(program, does, pattern):
    assert_found(program(BURST, does), "process_burst", 6, pattern)


@pytest.mark.parametrize("does, pattern", EMISSIONS, ids=range(len(EMISSIONS)))
def test_what_is_emitted(program, does, pattern):
    assert_found(program(PROCESS, does, more="Bad.emits = true"), "process", 8, pattern)


def test_what_is_emitted_and_returned(program):
    assert_found(program(PROCESS, "self.emit(1, p)\nreturn p", more="Bad.emits = true"),
                 "process", 6, r"process\(\) returned it: " + EMITTED)


def test_what_is_kept_and_emitted_later(program):
    result = program(PROCESS, """\
local old = self.old
self.old = p
if old then self.emit(1, old) end
self.emit(1, packet.clone(p))
return false""", more="Bad.emits = true function Bad:stop() packet.free(self.old) end")
    assert result.returncode == 0, result.stderr
    assert account(result.stdout)["held by apps"] == 2


def test_a_length_set_in_a_burst(program):
    assert_found(program(BURST, "packets[1].length = 10241"), "process_burst", 7,
                 r"p\.length = 10241: a packet holds 0 to 10240 bytes")


@pytest.mark.parametrize("more", ["", "engine.main{duration = 1, no_report = true}"])
def test_a_pointer_that_was_kept(program, more):
    """Found when packets have been freed after it, or at the end."""
    configured = "engine.configure(c)\n" + more if more else ""
    result = program(PUSH, "local d = p.data\npacket.free(p)\nd[3] = 0x42",
                     more=configured)
    assert result.returncode == 1
    assert re.search(r"^perigee: wrong\.lua:11: somebody wrote to a packet after it was "
                     r"freed here: byte 259 of its buffer is 0x42 now; app 'bad' freed it at "
                     rf"wrong\.lua:11 \(before, {RECEIVED}\)$", result.stderr, re.M)
    assert result.stderr.count("perigee:") == 1


def test_leaks(program):
    result = program(PUSH, """\
self.n = (self.n or 0) + 1
if self.n % 100 == 0 then self[self.n] = p
elseif self.n % 100 == 1 then self[self.n] = packet.from_string("abc") packet.free(p)
else link.transmit(output, p) end""")
    assert result.returncode == 1
    held = account(result.stdout)["held by apps"]
    bad, source = re.findall(r"^  app '(?:bad|source)' holds (\d+) packets?: ",
                             result.stdout, re.M)
    assert source == "1" and int(bad) == held - 1 > 5
    assert re.fullmatch(
        rf"perigee: leak: app 'bad' has kept {bad} packets: \d+: allocated it at "
        r"wrong\.lua:12; \d+: received it from the link 'before\.output -> bad\.input' at "
        r"wrong\.lua:9\n", result.stderr), result.stderr


def test_what_apps_give_back_is_no_leak(program):
    result = program(PUSH, """\
self.all = self.all or {}
table.insert(self.all, p)""", more="""
function Bad:stop() for _, p in ipairs(self.all) do packet.free(p) end end""")
    assert result.returncode == 0, result.stderr
    assert "app 'bad' holds " in result.stdout


def test_what_an_app_catches_itself(program):
    result = program(PUSH, """\
packet.free(p)
pcall(packet.free, p)""")
    assert result.returncode == 1
    assert re.fullmatch(r"perigee: --check found \d+ errors that the program has caught; the "
                        rf"first: wrong\.lua:11: packet\.free: {FREED}\n", result.stderr)


def test_policies_apply(program):
    result = program(PUSH, "packet.free(p)\npacket.free(p)", "--on-error", "drop")
    assert result.returncode == 0, result.stderr
    assert "app 'bad' is stopped: packets for it are dropped" in result.stderr
    assert re.search(r"^  1 error: in push\(\): wrong.lua:11: packet.free: ", result.stdout,
                     re.M)
    account(result.stdout)


def test_an_error_that_is_no_misuse_has_its_traceback(program):
    result = program(PUSH, "\nerror('else')")
    assert re.match(r"perigee: app 'bad': in push\(\): wrong.lua:11: else\nstack traceback:\n",
                    result.stderr)


def test_on_a_worker(tmp_path):
    (tmp_path / "wrong.lua").write_text("""
local Wrong = {new = function (self) return setmetatable({}, {__index = self}) end}
function Wrong:push()
  local input = self.input.input
  for _ = 1, link.nreadable(input) do
    local p = link.receive(input)
    packet.free(p)
    if self.twice then packet.free(p) end
    self.twice = true
  end
end
return {Wrong = Wrong}""")
    (tmp_path / "script.lua").write_text("""
package.path = "?.lua;" .. package.path
local c = config.new()
config.app(c, "source", require("apps.basic.basic_apps").Source)
config.app(c, "wrong", require("wrong").Wrong)
config.link(c, "source.output -> wrong.input")
config.cpu(c, "wrong", 0)
engine.configure(c)
engine.main{duration = 1}""")
    result = perigee("--eal", "--no-huge", "--check", "run", "script.lua", cwd=tmp_path)
    assert result.returncode == 1
    assert re.search(r"^perigee: the worker on CPU 0 has stopped: app 'wrong': in push\(\): "
                     r"wrong.lua:8: packet.free: the packet has been freed: app 'wrong' "
                     r"freed it at wrong.lua:7 ", result.stderr, re.M), result.stderr


def test_workers_that_do_nothing_wrong(tmp_path):
    result = perigee("-p", ROOT / "test/lua", "--eal", "--no-huge", "--check", "run",
                     ROOT / "test/many_cores.lua", "two", 20000, 100)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[0] == "20000" and result.stdout.split()[-1] == "0"


# Nothing is found where nothing is wrong -------------------------------------------


@pytest.mark.parametrize("arguments", [
    ["echo", "null", 3, 0.2], ["generate", "--port", "null", "--count", 3000],
    ["echo", "pcap:rx=in.pcap,tx=out.pcap", 2], ["capture", "pcap:rx=in.pcap", "out.pcap", "--limit", 50],
    ["replay", "in.pcap", "null"],
])
def test_programs_pass(tmp_path, arguments):
    save(tmp_path / "in.pcap", [bytes([n]) * (60 + n) for n in range(100)])
    result = perigee("--eal", "--no-huge", *arguments, "--check", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "perigee:" not in result.stderr


@pytest.mark.parametrize("spec", ["core/engine/account_spec.lua", "apps/ip/dec_ttl",
                                  "core/engine/apply_spec.lua", "apps/basic",
                                  "core/fuse/region_changes_spec.lua"])
def test_specs_pass(spec):
    """Those of account count held packets one by one."""
    result = perigee("--eal", "--no-huge", "--check", "test", ROOT / "src" / spec)
    assert re.search(r"^\d+ successes / 0 failures / 0 errors", result.stdout, re.M), \
        result.stdout
    assert "leak" not in result.stderr
