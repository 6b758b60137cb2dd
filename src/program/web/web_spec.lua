-- SPDX-License-Identifier: Apache-2.0

local access = require("program.web.access")
local blocks = require("lib.pcap.blocks")
local expected = require("program.web.expected")
local lib = require("core.lib")

local TOKEN = "0123456789abcdef"

local function refused(method, headers, token, hosts)
  return access.refusal({method = method, headers = headers},
    {hosts = hosts or {}, token = token})
end

describe("Access to the page", function ()
  it("is by numbers, localhost and allowed names only", function ()
    for _, host in ipairs{"127.0.0.1", "127.0.0.1:80", "[::1]:80", "localhost:8080",
        "LOCALHOST", "10.1.2.3", "box.example:1"} do
      assert.is_nil(refused("GET", {host = host}, TOKEN, {["box.example"] = true}))
    end
    for _, host in ipairs{"", "evil.example", "127.0.0.1.evil.example", "localhost.x",
        "[::1].evil", "x@127.0.0.1", "127.0.0.1, evil", "1.2.3"} do
      assert.matches("isn't allowed", refused("GET", {host = host}), 1, true)
    end
    assert.matches("isn't allowed", refused("GET", {}), 1, true)
  end)

  it("to what it asks for needs its header, and the token", function ()
    local function post(authorization, own)
      return refused("POST", {host = "localhost", authorization = authorization,
        ["x-perigee"] = own or "1"}, TOKEN)
    end
    assert.is_nil(post("Bearer " .. TOKEN))
    for _, wrong in ipairs{"", "Bearer", "Bearer ", "bearer " .. TOKEN, TOKEN,
        "Bearer " .. TOKEN .. "0", "Bearer " .. TOKEN:sub(2), "Bearer 0" .. TOKEN:sub(2)
        .. "x", "Bearer " .. TOKEN .. TOKEN} do
      assert.matches("token", post(wrong), 1, true)
    end
    assert.matches("isn't asked by the page", post("Bearer " .. TOKEN, "0"), 1, true)
    assert.is_nil(refused("POST", {host = "localhost", ["x-perigee"] = "1"}))
  end)

  it("has tokens of 128 bits, which are compared whole", function ()
    local a, b = access.new_token(), access.new_token()
    assert.matches("^%x+$", a)
    assert.equal(32, #a)
    assert.are_not.equal(a, b)
    assert.is_true(access.same(a, a))
    assert.is_false(access.same("", a))
    assert.is_false(access.same(a .. a, a))
    assert.is_true(access.same("", ""))
  end)
end)

describe("What the model expects", function ()
  local now = {
    tsc_hz = 2e9, engine = {burst = 32}, apps = {
      a = {counters = {{name = "rxpackets", pps = 1000},
                       {name = "rxbytes", pps = 60000}}},
      b = {counters = {{name = "txpackets", pps = 500},
                       {name = "txbytes", pps = 30000}}}},
    cycles = {
      {name = "receive", cycles = 30}, {name = "send", cycles = 10},
      {name = "engine", cycles = 5}, {name = "sleep", cycles = 7000},
      {name = "empty", cycles = 100}, {name = "x+3", app = "x", cycles = 55},
    }}
  local graph = {apps = {{name = "a", port = "null"}, {name = "b", port = "null"},
    {name = "x"}}}

  it("is what the measured cycles allow", function ()
    local e = expected.of(now, graph, "/no/such/file")
    assert.same({receive = 30, send = 10, engine = 5, task = 55, cycles = 100},
      e.measured)
    assert.equal(2e7, e.allowed)
    assert.matches("no file /no/such/file", e.why, 1, true)
    assert.is_nil(expected.of({cycles = {{name = "receive"}}}, graph, ""))
    assert.is_nil(expected.of({}, graph, ""))
  end)

  it("is what ports of that kind take, by the table", function ()
    local path = os.tmpname()
    lib.writefile(path, [[{"core_per_tsc": 1, "tsc_hz": 2e9, "ports": [{"name": "null",
      "cells": [{"burst": 32, "size": 64, "io": 33, "receive": 20, "send": 12}]}]}]])
    local e = expected.of(now, graph, path)
    os.remove(path)
    assert.same({receive = 20, send = 6, task = 55, engine = 5, cycles = 86},
      e.predicted)
  end)
end)

describe("A packet's block", function ()
  it("is read whatever its lengths say", function ()
    local ffi = require("ffi")
    local comment = blocks.comment("dropped by a: b")
    local total = blocks.packet_bytes(5, #comment)
    local buffer = ffi.new("uint8_t[?]", total)
    blocks.write_packet(buffer, total, 0, "hello", 5, 60, 1ULL)
    ffi.copy(buffer + total - 4 - #comment, comment, #comment)
    local bytes = ffi.string(buffer, total)
    assert.same({data = "hello", length = 60, comment = "dropped by a: b"},
      blocks.read_packet(bytes))
    for n = 0, total - 1 do assert.is_table(blocks.read_packet(bytes:sub(1, n))) end
    local lying = bytes:sub(1, 20) .. ("\255"):rep(4) .. bytes:sub(25)
    assert.is_true(#blocks.read_packet(lying).data < total)
  end)
end)
