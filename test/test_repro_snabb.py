# SPDX-License-Identifier: Apache-2.0
"""Small programs in Snabb's form, each the least that failed of one of others' that was
run on Perigee, with what is right."""

import pytest

from helpers.command import PERIGEE, perigee


def snabb(tmp_path, text, *arguments, before=()):
    """Run a script of Snabb's; its standard output."""
    file = tmp_path / "script.lua"
    file.write_text(text)
    result = perigee(*before, "snsh", file, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("option", ["--snabb", "-p"])
def test_a_tree_with_a_link_to_itself(tmp_path, option):
    (tmp_path / "tree/core").mkdir(parents=True)
    (tmp_path / "tree/core/app.lua").touch()
    deep = tmp_path / "tree/program/x/env"
    deep.mkdir(parents=True)
    for name in "a", "b", "c":
        (deep / name).symlink_to("../../../")
    assert snabb(tmp_path, "print('began')", before=(option, tmp_path / "tree")) == "began\n"


# An IPv4 echo request to no Ethernet address; the kernel answers what is sent to it.
TAP = """
local Tap, ffi = require("apps.tap.tap").Tap, require("ffi")
local checksum = require("lib.checksum")
local Ping = {}; Ping.__index = Ping
function Ping:new() return setmetatable({answered = 0}, self) end
function Ping:pull()
  local p = packet.from_string(("\\0"):rep(6) .. "\\2\\0\\0\\0\\0\\9\\8\\0"
    .. "\\69\\0\\0\\28\\0\\1\\0\\0\\64\\1\\0\\0\\10\\9\\0\\2\\10\\9\\0\\1"
    .. "\\8\\0\\0\\0\\0\\1\\0\\1")
  for _, part in ipairs{{14, 20, 24}, {34, 8, 36}} do
    local sum = checksum.ipsum(p.data + part[1], part[2], 0)
    p.data[part[3]], p.data[part[3] + 1] = bit.rshift(sum, 8), bit.band(sum, 255)
  end
  link.transmit(self.output.output, p)
end
function Ping:push()
  while not link.empty(self.input.input) do
    local p = link.receive(self.input.input)
    if p.data[12] == 8 and p.data[13] == 0 and p.data[34] == 0 then
      self.answered = self.answered + 1
    end
    packet.free(p)
  end
end
local c = config.new()
config.app(c, "ping", Ping)
config.app(c, "tap", Tap, {name = "reproT", overwrite_dst_mac = main.parameters[1] == "on"})
config.link(c, "ping.output -> tap.input")
config.link(c, "tap.output -> ping.input")
engine.configure(c)
os.execute("ip addr add 10.9.0.1/24 dev reproT && "
  .. "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:09 dev reproT")
local ping = engine.app_table.ping
local sent = engine.app_table.tap.input.input
local function seen()
  return ping.answered > 0 or main.parameters[1] ~= "on"
    and link.stats(sent).rxpackets > 200
end
engine.main{done = seen, no_report = true}
print(ping.answered > 0)
"""


def test_a_tap_that_writes_the_address_it_has(tmp_path, namespace):
    there = namespace("tap")
    file = tmp_path / "tap.lua"
    file.write_text(TAP)
    for option, answered in ("on", "true"), ("off", "false"):
        result = there.run(PERIGEE, "snsh", file, option)
        assert (result.returncode, result.stdout) == (0, f"{answered}\n"), result.stderr


def test_values_that_are_asserted_and_used_at_once(tmp_path):
    assert snabb(tmp_path, """
local ffi, list = require("ffi"), {}
table.insert(list, assert("x"))
print(select("#", assert(1)), select("#", assert(1, "m", nil)), #list)
print(ffi.sizeof(ffi.new("uint8_t[?]", assert(3))), string.char(assert(66)))
print(pcall(assert, false, "no"))
print(select(2, pcall(assert, nil)))
""") == "1\t3\t1\n3\tB\nfalse\tno\nassertion failed!\n"


def test_a_list_that_grows_between_its_look_up_and_its_use(tmp_path):
    """list.t is the array before list.t_new() replaces it by a larger one."""
    assert snabb(tmp_path, """
local ffi, LPM = require("ffi"), require("lib.lpm.lpm").LPM
for round = 1, 400 do
  local list = LPM:new()
  for bits = 8, 64, 8 do
    if bits == 8 or bits == 16 or bits == 32 or bits == 64 then
      local name = "uint" .. bits .. "_t"
      list:alloc(name, ffi.typeof(name), 8)
      for i = 1, 100 do list[name][list[name .. "_new"]()] = i end
    end
  end
end
collectgarbage()
print("whole")
""") == "whole\n"


def test_a_module_beside_a_script(tmp_path):
    (tmp_path / "beside.lua").write_text("return {word = 'found'}")
    (tmp_path / "it.lua").write_text("print(require('beside').word)")
    assert perigee("run", tmp_path / "it.lua").stdout == "found\n"
