-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local C = require("core.native")
local link = require("core.link")
local packet = require("core.packet")
local reader = require("lib.pcap.reader")
local Recorder = require("apps.record.recorder").Recorder

local MIB = 1024 * 1024

describe("Recorder", function ()
  local folder, recorder, links

  before_each(function ()
    folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
  end)
  after_each(function ()
    if recorder then recorder:stop() end
    recorder = nil
    os.execute("rm -r " .. folder)
  end)

  local function start(arg)
    arg.folder, arg.inputs = folder, arg.inputs or {"a"}
    arg.name, arg.snaplen, arg.after = "r", arg.snaplen or 262144, arg.after or 0
    arg.memory, arg.files = arg.memory or MIB, arg.files or math.huge
    recorder, links = Recorder:new(arg), {}
    for _, name in ipairs(arg.inputs) do
      links[name] = link.new("recorder_spec_" .. name)
    end
    recorder.input = links
    recorder:link()
    return recorder
  end

  -- Packets with a number, of lengths that vary.
  local function send(from, to, name)
    for i = from, to do
      local p = packet.from_string(("%08d"):format(i) .. ("x"):rep(i * 7 % 600))
      link.transmit(links[name or "a"], p)
      if link.nreadable(links[name or "a"]) == 64 or i == to then recorder:push() end
    end
  end

  -- The numbers of a file's packets.
  local function numbers(path)
    local file, list = reader.open(path), {}
    while true do
      local data, length = file:next()
      if not data then break end
      local text = ffi.string(data, length)
      local i = tonumber(text:sub(1, 8))
      assert.equal(("x"):rep(i * 7 % 600), text:sub(9))
      list[#list + 1] = i
    end
    file:close()
    return list
  end

  it("keeps the last packets, in order, over many turns of the ring", function ()
    start{}
    local sent = 0
    for _, more in ipairs{10, 4000, 1, 9000, 64, 3333} do
      send(sent + 1, sent + more)
      sent = sent + more
      local path = recorder:trigger("test")
      recorder:finish()
      local got = numbers(path)
      assert.equal(sent, got[#got])
      for i = 2, #got do assert.equal(got[i - 1] + 1, got[i]) end
      assert.equal(tonumber(recorder.ring.packets - recorder.ring.overwritten), #got)
      assert.is_true(#got == sent or #got > 2000)
      assert.equal(#got, recorder.results[#recorder.results].packets)
      assert.equal(0, recorder.results[#recorder.results].overwritten)
    end
  end)

  it("counts what is overwritten before it was written", function ()
    start{}
    send(1, 5000)
    local before = tonumber(recorder.ring.packets - recorder.ring.overwritten)
    local path = recorder:trigger("test", nil, 1000)
    send(5001, 20000)
    recorder:finish()
    local result, got = recorder.results[1], numbers(path)
    assert.equal(#got, result.packets)
    assert.equal(before + 15000, result.packets + result.overwritten)
    assert.is_true(result.overwritten > 10000)
  end)

  it("begins a file when the filter accepts, one for each window", function ()
    start{filter = "ether[7] = 0x37 and ether[6] = 0x37", after = 0} -- ends with 77
    send(1, 64)
    assert.is_true(recorder:work())
    send(65, 80)
    while recorder.ring.jobs > 0 do recorder:work() end
    send(81, 150)
    send(151, 200)
    while recorder.ring.jobs > 0 do recorder:work() end
    assert.equal(2, #recorder.results)
    assert.equal(2, tonumber(recorder.ring.matches))
    local got = numbers(recorder.results[1].file)
    assert.equal(80, got[#got])
    assert.equal("filter", recorder.results[1].by)
  end)

  it("joins packets accepted while a file is open, and limits files", function ()
    start{filter = "len > 0", after = 1000, files = 1}
    send(1, 100)
    recorder:work()
    send(101, 200)
    assert.is_nil(recorder:trigger("test"))
    recorder:finish()
    assert.equal(1, #recorder.results)
    assert.equal(200, recorder.results[1].packets)
    assert.equal(199, tonumber(recorder.ring.within))
    assert.equal(1, tonumber(recorder.ring.refused))
  end)

  it("tells its inputs apart, cuts packets, and says what was lost", function ()
    local asked = {}
    start{inputs = {"a", "b"}, titles = {"packet:x", "packet:y"}, snaplen = 20,
          missed = function (name)
      asked[#asked + 1] = name
      return 7
    end}
    send(1, 3, "b")
    send(4, 4, "a")
    local path = recorder:trigger("test")
    recorder:finish()
    local f = assert(io.popen("tshark -r " .. path .. " -T fields "
      .. "-e frame.interface_name -e frame.cap_len -e frame.len 2>/dev/null"))
    local text = f:read("*a")
    f:close()
    assert.equal("packet:y\t15\t15\npacket:y\t20\t22\npacket:y\t20\t29\n"
      .. "packet:x\t20\t36\n", text)
    assert.same({"a", "b"}, asked)
    local bytes = io.open(path, "rb"):read("*a")
    assert.truthy(bytes:find("0 overwritten before they were written; 7 missed", 1,
      true))
  end)

  it("leaves nothing under the name of a file that can't be written", function ()
    start{}
    send(1, 10)
    recorder.folder = folder .. "/none"
    local path = recorder:trigger("test")
    recorder:finish()
    assert.is_nil(io.open(path))
    assert.equal(10, recorder.results[1].not_written)
    local why = recorder.results[1].failure
    assert.truthy(why:find("No such file or directory", 1, true))
  end)

  it("writes no half file: its name is .part until it is whole", function ()
    start{}
    send(1, 10)
    local path = recorder:trigger("test", nil, 1000)
    recorder:work()
    assert.is_nil(io.open(path))
    assert.equal(10, #numbers(path .. ".part"))
    send(11, 12)
    recorder:finish()
    assert.is_nil(io.open(path .. ".part"))
    assert.equal(12, #numbers(path))
  end)

  it("takes only the time before the trigger that it is asked for", function ()
    start{}
    local function later(than)
      while C.pg_real_ns() <= than + 1000 do end
    end
    send(1, 10)
    local between = recorder.ring.newest
    later(between)
    send(11, 20)
    local path = recorder:trigger("test", 1000)
    recorder:finish()
    assert.equal(20, #numbers(path))
    later(recorder.ring.newest)
    path = recorder:trigger("test", 0)
    recorder:finish()
    assert.equal(0, #numbers(path))
    path = recorder:trigger("test", 1000)
    recorder.open[1].job.from = between + 1
    recorder:finish()
    assert.equal(10, #numbers(path))
  end)

  it("refuses what can't be", function ()
    local function refused(arg, why)
      local ok, problem = pcall(start, arg)
      assert.is_false(ok)
      assert.truthy(tostring(problem):find(why, 1, true), tostring(problem))
    end
    refused({memory = 1000}, "a Recorder's memory is at least 1 MiB, not '1000'")
    refused({memory = 2 ^ 50}, "a ring of 1073741824 MiB doesn't fit: ")
    refused({inputs = {}}, "a list of 1 to 16 names of links")
    refused({before = -1}, "`before` is a number of seconds from 0 on, not '-1'")
    refused({filter = "no such"}, "'no such' is no packet filter")
    recorder = nil
  end)
end)
