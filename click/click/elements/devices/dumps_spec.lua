-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local click_router = require("testing.click_router")
local link_layers = require("click.devices.link_layers")
local note = require("click.note")
local reader = require("lib.pcap.reader")
local writer = require("lib.pcap.writer")
local ffi = require("ffi")

local path

-- Write the file: packets are {bytes, seconds since 1970, bytes on the wire}.
local function save(packets, options)
  local file = writer.open(path, options)
  for _, p in ipairs(packets) do
    local ns = ffi.cast("int64_t", p[2] * 1000) * 1000000LL
    file:write(p[1], #p[1], p[3] or #p[1], ns)
  end
  file:close()
end

-- What the file holds, in the same form.
local function load(name)
  local file, packets = reader.open(name or path, {any_link = true}), {}
  while true do
    local data, captured, wire, time = file:next()
    if not data then break end
    packets[#packets + 1] = {ffi.string(data, captured), tonumber(time) / 1e9, wire}
  end
  file:close()
  return packets, file.linktype
end

local FIVE = {{"a", 100}, {"b", 101}, {"c", 102.5}, {"d", 104}, {"e", 105}}

-- The configuration with the paths of FILE and COPY.
local function filled(config)
  return (config:gsub("FILE", path):gsub("COPY", path .. ".copy"))
end

local function caught(config, options)
  local r = click_router.run(filled(config), options)
  return table.concat(r.caught), r
end

before_each(function () path = os.tmpname() end)
after_each(function () os.remove(path) end)

describe("FromDump", function ()
  it("gives what the file holds, and stops", function ()
    save({{"abc", 100.5, 7}, {"de", 200}})
    local seen = {}
    local text, r = caught("FromDump(FILE, STOP true) -> Catch", {look = function (p)
      seen[#seen + 1] = {note.time(p), p.note32[note.EXTRA_LENGTH],
        p.note16[note.MAC_HEADER] - p.data_off}
    end})
    assert.equal("abcde", text)
    assert.same({{100.5, 4, 0}, {200, 0, 0}}, seen)
    assert.is_true(r.ended)
  end)

  it("is pulled from", function ()
    save(FIVE)
    assert.equal("abcde", (caught("FromDump(FILE, STOP true) -> Unqueue -> Catch")))
  end)

  it("keeps to a part of the time", function ()
    save(FIVE)
    for arguments, text in pairs {
      ["START 101"] = "bcde", ["START_AFTER 2"] = "cde", ["END 104"] = "abc",
      ["END_AFTER 5"] = "abcd", ["INTERVAL 2"] = "ab", ["START 101, INTERVAL 2"] = "bc",
      ["START_AFTER 1, END_AFTER 4"] = "bc",
    } do
      assert.equal(text, (caught("FromDump(FILE, " .. arguments .. ") -> Catch")),
        arguments)
    end
  end)

  it("calls a handler at the end, which may extend the interval", function ()
    save(FIVE)
    local text, r = caught("f :: FromDump(FILE, INTERVAL 2, END_CALL s.run) -> Catch;"
      .. "s :: Script(TYPE PASSIVE, init n 0, set n $(add $n 1),"
      .. " goto x $(gt $n 1), write f.extend_interval 2.5, end, label x,"
      .. " write f.active false)")
    assert.equal("abcd", text)
    assert.equal("2", r:handler_read("s.get n"))
  end)

  it("keeps to the packets' times, faster if that is wanted", function ()
    save(FIVE)
    for arguments, factor in pairs {["TIMING true"] = 1,
        ["TIMING true, ACCELERATION 200"] = 2,
        ["TIMING true, TIMING_FNT '400'"] = 4} do
      local times = {}
      local text = caught("FromDump(FILE, STOP true, " .. arguments .. ") -> Catch",
        {look = function (_, catch) times[#times + 1] = catch.router:now() end})
      assert.equal("abcde", text)
      for i, p in ipairs(FIVE) do
        assert.is_true(math.abs((times[i] - times[1]) * factor - (p[2] - 100)) < 0.01,
          arguments)
      end
    end
  end)

  it("keeps to them when it is pulled from", function ()
    save(FIVE)
    local last
    caught("FromDump(FILE, STOP true, TIMING true) -> Unqueue -> Catch",
      {look = function (_, catch) last = catch.router:now() end})
    assert.is_true(math.abs(last - 1e9 - 5) < 0.01)
  end)

  it("takes a sample", function ()
    save(FIVE)
    assert.equal("", (caught("FromDump(FILE, STOP true, SAMPLE 0) -> Catch")))
  end)

  local IP = "\69\0\0\20" .. ("\0"):rep(16)
  local ETHERNET = ("\0"):rep(12)

  it("gives only sound IP packets, if that is wanted", function ()
    save({{ETHERNET .. "\8\0" .. IP, 1}, {ETHERNET .. "\8\6" .. IP, 1},
      {ETHERNET .. "\129\0\0\1\8\0" .. IP, 1},
      {ETHERNET .. "\136\168\0\1\8\0" .. IP, 1},
      {ETHERNET .. "\136\168\0\1\129\0\0\2\8\0" .. IP, 1},
      {ETHERNET .. "\136\168\0\1\129\0", 1},
      {ETHERNET .. "\8\0" .. IP:sub(1, 19), 1}})
    local seen = {}
    caught("f :: FromDump(FILE, STOP true, FORCE_IP true) -> a :: Catch;"
      .. "f [1] -> b :: Catch", {look = function (p, catch)
        seen[#seen + 1] = catch.name .. math.max(-1, p.note16[note.NETWORK_HEADER]
          - p.data_off)
      end})
    assert.same({"a14", "b-1", "a18", "a18", "a22", "b-1", "b-1"}, seen)
  end)

  it("makes packets as long as they were, or of one length", function ()
    local long = ETHERNET .. "\8\0\69\0\0\100" .. ("\0"):rep(16)
    save({{long, 1, 114}})
    local text = caught("FromDump(FILE, STOP true, FORCE_LEN 0) -> Catch")
    assert.equal(114, #text)
    text = caught("FromDump(FILE, STOP true, FORCE_LEN 80) -> Catch")
    assert.equal(80, #text)
    assert.equal("\0\66", text:sub(17, 18))
    assert.equal("\186\189", text:sub(25, 26))
  end)

  it("tells of its file", function ()
    save(FIVE, {linktype = 101})
    local _, r = caught("f :: FromDump(FILE, ACTIVE false) -> Catch")
    local file = assert(click_router.make(
      filled("f :: FromDump(FILE, ACTIVE false) -> Catch")))
    assert.equal("IP", file:handler_read("f.encap"))
    assert.equal(path, file:handler_read("f.filename"))
    assert.equal("109", file:handler_read("f.filesize"))
    file:handler_write("f.active", "true")
    click_router.turn(file, 1)
    assert.equal("5", file:handler_read("f.count"))
    file:close()
    assert.same({}, r.caught)
  end)

  it("reads compressed files", function ()
    save(FIVE)
    os.execute("gzip -c " .. path .. " > " .. path .. ".gz")
    assert.equal("abcde", (caught("FromDump(FILE.gz, STOP true) -> Catch")))
    os.remove(path .. ".gz")
  end)

  it("says what is wrong with files and arguments", function ()
    local function problem(arguments)
      local _, text = click_router.make(
        filled("FromDump(" .. arguments .. ") -> Catch"))
      return text:match("\n  (.-)\n")
    end
    assert.equal("/nowhere/x: No such file or directory", problem("/nowhere/x"))
    save(FIVE)
    assert.equal("START and START_AFTER are mutually exclusive",
      problem("FILE, START 1, START_AFTER 1"))
    assert.equal("END_CALL and STOP are mutually exclusive",
      problem("FILE, STOP true, END_CALL stop"))
    assert.equal("FORCE_LEN requires a valid frame size", problem("FILE, FORCE_LEN 5"))
    local file = io.open(path, "w")
    file:write("not a capture file")
    file:close()
    assert.truthy(problem("FILE"):find("neither a pcap nor a pcapng file", 1, true))
  end)

  it("stops at a damaged packet", function ()
    save(FIVE)
    local file = io.open(path, "a")
    file:write("half")
    file:close()
    local text, r = caught("FromDump(FILE, STOP true) -> Catch")
    assert.equal("abcde", text)
    assert.truthy(r.said[1]:find("middle of packet 6", 1, true))
  end)
end)

describe("ToDump", function ()
  it("writes what FromDump reads", function ()
    save({{"abc", 100.5, 7}, {"de", 200}})
    local copy = path .. ".copy"
    for _, pulled in ipairs {"", "-> Queue"} do
      caught(("FromDump(FILE, STOP true) %s -> ToDump(COPY); DriverManager(pause,"
        .. " wait 1s)"):format(pulled))
      assert.same({{"abc", 100.5, 7}, {"de", 200, 2}}, (load(copy)))
    end
    os.remove(copy)
  end)

  it("cuts packets, leaves out the extra length, and passes packets on", function ()
    save({{"abcdef", 100.5, 70}})
    local copy = path .. ".copy"
    local text, r = caught("FromDump(FILE, STOP true) -> d :: ToDump(COPY, 4, IP,"
      .. " EXTRA_LENGTH false) -> Catch")
    assert.equal("abcdef", text)
    assert.equal("1", r:handler_read("d.count"))
    local packets, link = load(copy)
    assert.same({{"abcd", 100.5, 6}}, packets)
    assert.equal(101, link)
    os.remove(copy)
  end)

  it("takes the link layer of others", function ()
    save(FIVE, {linktype = 113})
    local copy = path .. ".copy"
    caught("f :: FromDump(FILE, STOP true) -> ToDump(COPY, USE_ENCAP_FROM f)")
    assert.equal(113, (select(2, load(copy))))
    os.remove(copy)
  end)

  it("says what is wrong", function ()
    for arguments, text in pairs {
      ["/nowhere/x"] = "can't write /nowhere/x: No such file or directory",
      ["FILE, ENCAP X"] = "bad encapsulation type",
      ["FILE, ENCAP IP, USE_ENCAP_FROM i"] =
        "specify at most one of 'ENCAP' and 'USE_ENCAP_FROM'",
      ["FILE, USE_ENCAP_FROM i"] = "'i :: Idle' has no 'encap' read handler",
    } do
      local _, problem = click_router.make(
        filled("i :: Idle -> ToDump(" .. arguments .. ")"))
      assert.equal(text, problem:match("\n  (.-)\n"))
    end
  end)
end)

describe("click.devices.link_layers", function ()
  it("finds IP in frames", function ()
    local packet = require("core.packet")
    local IP = "\69\0\0\20" .. ("\0"):rep(16)
    local IP6 = "\96" .. ("\0"):rep(39)
    for _, case in ipairs {
      {"IP", IP, 0}, {"IP", IP6, 0}, {"IP", IP:sub(1, 19)}, {"IP", "\0" .. IP},
      {"IP", "\79" .. IP:sub(2)}, {"NULL", "\2\0\0\0" .. IP, 4},
      {"ETHER", ("\0"):rep(12) .. "\134\221" .. IP6, 14}, {"ETHER", "short"},
      {"SLL", ("\0"):rep(14) .. "\8\0" .. IP, 16}, {"HDLC", "\15\0\8\0" .. IP, 4},
      {"PPP", "\255\3\0\33" .. IP, 4}, {"PPP", "\33" .. IP, 1},
      {"PPP", "\0\33" .. IP, 2},
      {"PPP_HDLC", "\255\3\0\33" .. IP, 4}, {"PPP_HDLC", "\15\0\8\0" .. IP, 4},
      {"PPP_HDLC", ""}, {"PPP", "\255\3"}, {"FDDI", IP},
    } do
      local p = packet.from_string(case[2])
      note.clear(p)
      local found = link_layers.find_ip(p, link_layers.number(case[1]))
      assert.equal(case[3] ~= nil, found, case[1])
      if found then
        assert.equal(case[3], p.note16[note.NETWORK_HEADER] - p.data_off)
      end
      packet.free(p)
    end
  end)
end)

describe("FromDump in front of a queue", function ()
  it("loses none with BURST 1, as Click's", function ()
    local name = os.tmpname()
    click.run(([[InfiniteSource(LIMIT 3000, BURST 3, STOP true)
      -> ToDump(%s, ENCAP IP)]]):format(name)):close()
    local r = click.run(([[FromDump(%s, STOP true, BURST 1) -> q :: Queue(100)
      -> Unqueue -> c :: Counter -> Discard]]):format(name))
    assert.same({"3000", "0"}, {tostring(r:handler_read("c.count")),
      tostring(r:handler_read("q.drops"))})
    r:close()
    os.remove(name)
  end)
end)
