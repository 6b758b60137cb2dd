-- SPDX-License-Identifier: Apache-2.0
-- What reads texts that users write: port strings, configuration files. Each has a
-- function start(), which gives texts that are right (`seeds`), `pieces` to put into
-- them, try(text), which raises what is wrong with a text, and stop().

local subjects = {}

local function nothing() end

-- Port strings -------------------------------------------------------------------

local PORT_PIECES = {",", "=", ":", ";", "/", "[", "]", "%", "%s", "%d", "..", ".", " ",
  "\t", "\n", "\0", "\27[2J", "\195\164", "\255", "queue=1", "loop=1", "server=1",
  "role=server", "offload=1", "force=1", "shared=1", "ring=1", "size=60", "id=1", "rx=",
  "tx=", "null", "pcap:", "ring:", "packet:", "xdp:", "netmap:", "tap:", "memif:",
  "vhost:", "virtio-user:", "0000:01:00.0", "lo", "eth0", ("x"):rep(200)}

-- Of every kind: its form, without what may be left out and with all of it.
local function port_strings()
  local kinds, spec = require("lib.port.kinds"), require("lib.port.spec")
  local seeds = {"null:size=60", "pcap:rx=a.pcap,tx=b.pcap,loop=1", "packet:lo,force=1",
    "xdp:lo,queue=3", "netmap:vale0:a", "netmap:a{1", "memif:m.sock,role=server,id=7",
    "vhost:v.sock,client=1", "virtio-user:v.sock,server=1,offload=1", "3", "01:00.0",
    "0000:01:00.0,offload=1"}
  for _, kind in ipairs(kinds.list) do
    local form = spec.form(kind)
    seeds[#seeds + 1] = form:gsub("%[.*", "")
    seeds[#seeds + 1] = form:gsub("[%[%]]", "")
  end
  return seeds
end

-- One that is taken has a canonical text, which names the same. Nothing is opened.
function subjects.ports()
  local check, spec = require("lib.port.check"), require("lib.port.spec")
  return {
    seeds = port_strings(), pieces = PORT_PIECES, stop = nothing,
    try = function (text)
      local port = spec.parse(text)
      local again = spec.parse(port.text)
      assert(again.text == port.text and again.kind == port.kind, port.text)
      check.ready(port)
    end,
  }
end

-- Configuration files ------------------------------------------------------------

-- `read` is given the name of a file with the text.
local function from_file(seeds, pieces, read)
  local path = require("testing.damage").temporary_file()
  return {
    seeds = seeds, pieces = pieces,
    try = function (text)
      local file = assert(io.open(path, "wb"))
      file:write(text)
      file:close()
      read(path)
    end,
    stop = function () os.remove(path) end,
  }
end

local VTEP_PIECES = {"{", "}", "}}", "(", ")", "[", "]", "=", ",", "\"", "'", "[[",
  "]]", "--", "--[[", "\\", "\n", "\0", "\27Lua", "nil", "true", "false",
  "function () end", "while true do end", "return", "return ", "goto x ::x::", "0/0",
  "1/0", "-1/0", "..", "...", "#", "#!", "vnis", "remotes", "static", "address",
  "\"::1/64\"", "\"192.0.2.1\"",
  "\"fe80::1%eth0\"", "\"0.0.0.0/0\"", "\"02:00:00:00:00:01\"", "\"ff:ff:ff:ff:ff:ff\"",
  "setmetatable", "string", "('x')", "{{{{{{{{{{{{{{{{"}

local VTEP_FILES = {[[
return {
  inner = "packet:left", outer = "packet:right",
  address = "192.0.2.1/24", gateway = "192.0.2.254",
  vnis = {[42] = 0, [43] = 10},
  remotes = {"192.0.2.2", {address = "198.51.100.7", vnis = {43}}},
}]], [[
return {
  inner = "null", outer = "null", address = "2001:db8::1/64",
  mac = "02:00:00:00:00:01", vnis = {[7] = 0}, mtu = 1500, ttl = 64, dscp = "copy",
  udp_checksum = true, port = 4789, ageing = 300, capacity = 1000, learn = false,
  strict = true, ping = false, report = 1, duration = 2.5,
  remotes = {{address = "2001:db8::2", mac = "02:00:00:00:00:02"}},
  static = {{vni = 7, mac = "02:00:00:00:00:03", remote = "2001:db8::2"}},
}]], [[
local list = {}
for i = 1, 3 do list[i] = "192.0.2." .. 10 + i end
return {inner = "null", outer = "null", address = "192.0.2.1/24", vnis = {[1] = 0},
        remotes = list, keep_tags = true, flood_control = true}]]}

function subjects.vtep()
  local arguments = require("program.vtep.arguments")
  local cli = require("lib.cli")
  return from_file(VTEP_FILES, VTEP_PIECES, function (path)
    local parsed = cli.parse(arguments.parser(), {"--config", path})
    arguments.check(arguments.options(parsed), parsed)
  end)
end

local MODEL_PIECES = {"{", "}", "[", "]", ":", ",", "\"", "null", "true", "1e999",
  "-1", "{}", "[]", "\\u0000", "\\ud800", "\0", "[[[[[[[[[[[[", "\"per_packet\":",
  "\"model\":", "NaN"}

local MODEL_FILES = {[[
{"core_per_tsc": 1.2, "tsc_hz": 2.1e9, "ports": [
  {"name": "null", "cells": [{"burst": 32, "size": 60, "io": 12.5}],
   "model": {"per_packet": 10, "per_burst": 100, "per_byte": 0.1, "error": 0.01}},
  {"name": "ring", "cells": []}]}]]}

function subjects.model()
  local failure, predict = require("core.failure"), require("program.model.predict")
  return from_file(MODEL_FILES, MODEL_PIECES, function (path)
    local result, problem = predict.read(path)
    if not result then failure.usage("%s", problem) end
    predict.io(result, "null", 32, 60)
    predict.io(result, "null", 1, 1514)
  end)
end

-- start() of each, by its name.
for name, start in pairs(subjects) do subjects[name] = {start = start} end

return subjects
