-- SPDX-License-Identifier: Apache-2.0
-- Wrong arguments of Snabb's libraries and apps: a sentence that names what was given
-- and what would be right; never LuaJIT's own, never a crash.

local arguments = require("core.lib.arguments")
local failure = require("core.failure")
local ffi = require("ffi")
local main = require("core.main")
local wrong = require("testing.wrong_arguments")

local bytes = ffi.new("uint8_t[64]")
wrong.right.pointer = function () return bytes end
wrong.right.mac = wrong.right.pointer
wrong.right.ip6 = wrong.right.pointer
wrong.right.ip4 = wrong.right.pointer
wrong.right.packet = function ()
  return require("core.packet").from_string(("x"):rep(60))
end
wrong.right.file = function () return assert(io.open("/dev/null", "r+")) end
wrong.right.gauge = function ()
  return require("lib.gauge").create("wrong/arguments")
end

-- Methods of the object that make() gives, or functions of a module.
local function methods(name, make, list)
  for method, kinds in pairs(list) do
    it(("%s:%s"):format(name, method), function ()
      local object = make()
      assert.is_true(wrong.try(name .. ":" .. method, function (...)
        return object[method](object, ...)
      end, kinds) >= 5)
    end)
  end
end

local function functions(name, list)
  for f, kinds in pairs(list) do
    it(("%s.%s"):format(name, f), function ()
      assert.is_true(wrong.try(name .. "." .. f, require(name)[f], kinds) >= 8)
    end)
  end
end

local function header(name)
  return function () return require("lib.protocol." .. name):new({}) end
end

describe("wrong arguments of headers:", function ()
  methods("ethernet", header("ethernet"), {
    dst = "mac?", src_eq = "mac", type = "field?", pton = "string", ntop = "mac",
    is_mcast = "mac", is_bcast = "mac", new = "table",
    new_from_mem = "pointer amount",
  })
  methods("ipv4", header("ipv4"), {
    src = "ip4?", dst_eq = "ip4", ttl = "field?", dscp = "field?", id = "field?",
    pton = "string", ntop = "ip4", pton_cidr = "string", new = "table",
    new_from_mem = "pointer amount", pseudo_header = "field field",
  })
  methods("ipv6", header("ipv6"), {
    src = "ip6?", dst_eq = "ip6", hop_limit = "field?", flow_label = "field?",
    pton = "string", ntop = "ip6", solicited_node_mcast = "ip6", new = "table",
  })
  methods("tcp", header("tcp"), {
    src_port = "field?", seq_num = "field?", syn = "field?", new = "table",
  })
  methods("udp", header("udp"), {checksum = "pointer? amount?", new = "table"})
  methods("gre", header("gre"), {new = "table?", protocol = "field?"})
  methods("keyed_ipv6_tunnel", header("keyed_ipv6_tunnel"), {
    new = "table?", new_cookie = "string", session_id = "field?",
  })
  methods("lladdr", function ()
    return require("lib.protocol.icmp.nd.options.lladdr"):new(bytes)
  end, {addr = "mac?", new_from_mem = "pointer amount", new = "mac"})
  methods("datagram", function ()
    return require("lib.protocol.datagram"):new()
  end, {push_raw = "pointer amount", pop_raw = "amount", pop = "amount"})
end)

describe("wrong arguments of libraries:", function ()
  -- Of a receiver, that is attached for as long as it is tried.
  for _, f in ipairs{"full", "empty", "extract", "push", "pull", "insert"} do
    it("lib.interlink." .. f, function ()
      local interlink = require("lib.interlink")
      local side = interlink.attach_receiver("wrong/arguments.interlink", 16)
      wrong.right.side = function () return side end
      local ok, fault = pcall(wrong.try, "interlink." .. f, function (...)
        if (...) ~= side then return interlink[f](...) end
        error("right", 0)
      end, "side")
      interlink.detach_receiver(side, "wrong/arguments.interlink")
      assert.is_true(ok, fault)
    end)
  end
  functions("lib.ipsec.aes_gcm_avx", {
    aes_keyexp_128_enc_avx = "pointer pointer",
    aesni_encrypt_256_single_block = "pointer pointer",
    aad_prehash = "pointer pointer pointer size",
  })
  functions("core.lib.getopt", {get_opts = "table string table",
    get_ordered_opts = "table string table"})
  functions("lib.lpm.ip4", {masked = "amount amount", commonlength = "amount amount",
    tostring = "amount", parse = "string"})
  it("lib.macaddress", function ()
    local mac = require("lib.macaddress"):new("02:00:00:00:00:01")
    assert.is_true(wrong.try("mac:subbits", function (...)
      return mac:subbits(...)
    end, "size size") >= 8)
  end)
  functions("lib.checksum", {
    ipsum = "pointer amount amount", finish_packet = "pointer amount amount",
    verify_packet = "pointer amount", prepare_packet4 = "pointer amount",
    prepare_packet6 = "pointer amount",
  })
  functions("lib.gauge", {create = "string number?", open = "string", read = "gauge",
    set = "gauge amount"})
  functions("apps.rss.metadata", {add = "packet", get = "packet"})
  functions("lib.json", {decode = "string number?"})
  functions("lib.pcap.pcap", {records = "string", readc = "file ctype",
    write_record_header = "file size", write_record = "file pointer size"})
  functions("lib.pmu", {measure = "function", report = "table table?",
    to_table = "table", profile = "function"})

  it("a hash table's types", function ()
    local ctable = require("lib.ctable")
    for _, value in ipairs{5, "nonsense", {}, print} do
      assert.error_matches(function ()
        ctable.new{key_type = value, value_type = "int"}
      end, "ctable.new: key_type is .*; it takes a C type")
    end
    local t = ctable.new{key_type = "uint32_t", value_type = "int"}
    assert.equal(1, t:add(5, 1).value)
  end)

  it("numbers as text are taken as numbers", function ()
    local lib = require("core.lib")
    assert.equal(4, ffi.sizeof(lib.random_bytes("4")))
    assert.equal(4, #lib.random_data("4"))
  end)
end)

-- Arguments of apps --------------------------------------------------------------

local VALUES = {
  5, -1, 0 / 0, 2 ^ 53, "x", "4", true, {}, {1}, {{}}, print, 5ULL,
  ffi.new("struct { int a; }"),
}

local RAW = {"attempt to ", "cannot convert", "bad argument", "has no member named",
  "cannot be indexed", "traceback"}

-- A text is a file's name for them.
local WRITERS = {["apps.pcap.pcap.PcapWriter"] = true, ["apps.pcap.tap.Tap"] = true}

local function try_app(name, class, value, failures)
  if WRITERS[name] and type(value) == "string" then return end
  local ok, problem = pcall(function ()
    local c = config.new()
    config.app(c, "app", class, value)
    engine.configure(c)
  end)
  if ok then return engine.configure(config.new()) end
  for _, words in ipairs(RAW) do
    if tostring(problem):find(words, 1, true) then
      failures[#failures + 1] = ("%s of %s: %s"):format(name, arguments.shown(value),
        tostring(problem):match("^[^\n]*"))
    end
  end
end

-- The classes of the list of apps, MODULE and CLASS.
local function listed()
  local list = {}
  local text = assert(io.open(main.root .. "/doc/app-list.md")):read("*a")
  for module, class in text:gmatch("`(apps%.[%w_.]+)%.([%w_]+)`") do
    local ok, found = pcall(require, module)
    if ok and type(found[class]) == "table" then
      list[module .. "." .. class] = found[class]
    end
  end
  return list
end

-- Of an app that needs some keys, what is right but for one.
local NEEDED = {address = "10.0.0.1", clients = "10.0.0.1", servers = "10.0.0.2"}

describe("wrong arguments of apps", function ()
  it("are answered by a sentence #slow", function ()
    local failures, tried = {}, 0
    for name, class in pairs(listed()) do
      for _, value in ipairs(VALUES) do
        try_app(name, class, value, failures)
        tried = tried + 1
      end
      for key in pairs(class.config or {}) do
        for _, value in ipairs(VALUES) do
          local arg = {}
          for other, entry in pairs(class.config) do
            if entry.required or NEEDED[other] then arg[other] = NEEDED[other] or 1 end
          end
          arg[key] = value
          try_app(name .. "'s " .. key, class, arg, failures)
          tried = tried + 1
        end
      end
    end
    assert.equal("", table.concat(failures, "\n"))
    assert.truthy(tried > 1000)
  end)

  it("name the app, what is wrong, and what would be right", function ()
    local c = config.new()
    local _, problem = pcall(config.app, c, "ping",
      require("apps.ipv4.echo").ICMPEcho, 5)
    assert.is_true(failure.is(problem))
    assert.equal("app 'ping': its argument is 5; it takes a table", tostring(problem))
    _, problem = pcall(config.app, c, "bridge", require("apps.bridge.learning").bridge,
      {ports = "x"})
    assert.equal("app 'bridge': ports is 'x'; it takes a table", tostring(problem))
  end)
end)
