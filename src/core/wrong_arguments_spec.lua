-- SPDX-License-Identifier: Apache-2.0
-- Wrong arguments of the functions that programs call (Snabb's API): each position in
-- turn gets values of other types, nothing, NaN, negative and huge numbers. The answer
-- is a sentence that names the function and the value, never LuaJIT's own, and never
-- one that was taken silently.

local ffi = require("ffi")
local counter = require("core.counter")
local histogram = require("core.histogram")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local shm = require("core.shm")
local timer = require("core.timer")
local wrong = require("testing.wrong_arguments")
local testing = require("testing.support")

local data = ffi.new("uint8_t[64]")
local A = {new = function (self) return setmetatable({}, self) end}
A.__index = A

-- `list`: the kinds of each function's arguments (testing.wrong_arguments).
local function calls(name, module, list)
  for f, kinds in pairs(list) do
    it(("%s.%s"):format(name, f), function ()
      assert.is_true(wrong.try(name .. "." .. f, module[f], kinds) >= 8)
    end)
  end
end

describe("wrong arguments are answered by a sentence:", function ()
  wrong.kept.link = link.new("wrong_arguments")
  wrong.kept.counter = counter.create("wrong_arguments.counter")
  wrong.kept.histogram = histogram.new(1, 2)
  teardown(function ()
    link.free(wrong.kept.link, "wrong_arguments")
    counter.delete("wrong_arguments.counter")
  end)
  wrong.right.packet = function () return packet.from_string(("x"):rep(60)) end
  wrong.right.class = function () return A end
  wrong.right.pointer = function () return data end

  calls("link", link, {
    receive = "link", transmit = "link packet", nreadable = "link", front = "link",
    empty = "link", full = "link", nwritable = "link", stats = "link", sync = "link",
    new = "string", free = "link string",
  })
  calls("packet", packet, {
    free = "packet", clone = "packet", from_pointer = "pointer size",
    from_string = "string", append = "packet pointer size",
    prepend = "packet pointer size", shiftleft = "packet size",
    shiftright = "packet size", resize = "packet size",
  })
  calls("counter", counter, {
    create = "string number?", open = "string", delete = "string",
    set = "counter amount", add = "counter amount?", read = "counter",
  })
  calls("histogram", histogram, {
    new = "number number", create = "string number number", open = "string",
    add = "histogram amount", iterate = "histogram", clear = "histogram",
    snapshot = "histogram", summarize = "histogram",
  })
  calls("shm", shm, {
    create = "string ctype", open = "string ctype", exists = "string",
    unlink = "string",
    children = "string", mkdir = "string", alias = "string string", unmap = "pointer",
    create_frame = "string table", open_frame = "string",
  })
  calls("timer", timer, {
    new = "any? function number", activate = "table", cancel = "table",
    run_to_time = "number",
  })
  calls("config", config, {
    app = "configuration string class", link = "configuration string",
    cpu = "configuration string number", copy = "configuration",
    graphviz = "configuration", parse_link = "string",
    on_error = "configuration string string", parse_app_arg = "any? table",
    replicate = "configuration table table",
  })
  calls("engine", engine, {
    configure = "configuration", main = "table?", report = "table?",
    claim_name = "string",
  })
  calls("lib", lib, {
    align = "amount amount", bits = "table", bitset = "amount amount",
    htons = "amount", htonl = "amount", ntohs = "amount", ntohl = "amount",
    bounds_checked = "ctype pointer number size", csum = "pointer size",
    update_csum = "pointer size amount?", finish_csum = "amount",
    can_open = "string", can_read = "string", can_write = "string",
    readcmd = "string", readfile = "string", writefile = "string text",
    firstline = "string", readlink = "string", is_iface = "string",
    load_conf = "string", load_string = "string", store_conf = "string any",
    hexdump = "string", hexundump = "string size", split = "string string",
    throttle = "number", timeout = "number", waitfor = "function",
    waitfor2 = "text function size number", random_bytes = "size",
    random_data = "size", random_printable_string = "number?",
    have_module = "string", getenv = "string", execv = "string table?",
    dogetopt = "table table string table?", array_copy = "table",
    parse = "table? table", malloc = "ctype",
  })
end)

-- How many instructions LuaJIT compiles of a loop over `text`.
local function compiled(text, ...)
  local loop = loadstring("local link, packet, counter, l, p, c = ... "
    .. "return function (n) for i = 1, n do " .. text .. " end end")(...)
  return (select(2, testing.machine_code(loop)))
end

-- The same functions, without the tests of arguments.
local function copy_without_tests(name)
  local path = debug.getinfo(require("core." .. name)[name == "counter" and "add"
    or name == "link" and "nreadable" or "clone"], "S").source:sub(2)
  local lines, skipped = {}, 0
  for line in io.lines(path) do
    local test = line:match("^  if .*istype%(.*then no_%l+%(.* end$")
      or line:match("^  if .*type%(value%).*check_value%(.* end$")
      or line:match("^  check_source%(")
    skipped = skipped + (test and 1 or 0)
    lines[#lines + 1] = test and "" or line
  end
  assert.is_true(skipped >= 5, skipped)
  return (table.concat(lines, "\n"):gsub("shm%.register%b()", "'counter'"))
end

describe("the tests of arguments", function ()
  -- Metatables and registrations are the first module's.
  local function untested(name)
    local metatype = ffi.metatype
    ffi.metatype = function (what) return ffi.typeof(what) end -- luacheck: ignore 122
    local ok, module = pcall(assert(loadstring(copy_without_tests(name))))
    ffi.metatype = metatype -- luacheck: ignore 122
    assert.is_true(ok, module)
    return module
  end

  for what, text in pairs{
    ["of links"] = "link.transmit(l, link.front(l) or p) link.receive(l)",
    ["of packets"] = "packet.shiftleft(packet.prepend(p, p.data, 4), 4)",
    ["of counters"] = "counter.add(c, i)",
  } do
    it(what .. " are no code of compiled loops", function ()
      local l, p = link.new("compiled"), packet.from_string(("x"):rep(60))
      local c = counter.create("compiled.counter")
      local with = compiled(text, link, packet, counter, l, p, c)
      local without = compiled(text, untested("link"), untested("packet"),
        untested("counter"), l, p, c)
      assert.is_number(with)
      assert.equal(without, with)
      link.free(l, "compiled")
      counter.delete("compiled.counter")
      packet.free(p)
    end)
  end
end)
