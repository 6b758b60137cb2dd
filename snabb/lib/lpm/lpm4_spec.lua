-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local ip4 = require("lib.lpm.ip4")
local ip6 = require("lib.lpm.ip6").IP6

-- Kind -> what new() is given; keys up to `most`.
local KINDS = {
  {name = "LPM4_trie", most = 2^31 - 1}, {name = "LPM4_poptrie", most = 65535},
  {name = "LPM4_248", most = 32767}, {name = "LPM4_dxr", most = 65535},
  {name = "LPM4_248", most = 2^31 - 1, config = {keybits = 31}},
}

local function random_ip()
  local ip = 0
  for _ = 1, 4 do
    ip = ip * 256 + math.random(0, math.random() < 0.5 and 2 or 255)
  end
  return ip
end

-- The key of the longest prefix by a look at each.
local function expected(prefixes, ip)
  local longest, key = -1, 0
  for _, p in pairs(prefixes) do
    local size = 2^(32 - p.length)
    if p.length > longest and ip >= p.ip and ip < p.ip + size then
      longest, key = p.length, p.key
    end
  end
  return key
end

local function compare(object, prefixes)
  local addresses = {0, 2^32 - 1}
  for _, p in pairs(prefixes) do
    local last = p.ip + 2^(32 - p.length) - 1
    for _, ip in ipairs{p.ip, last, (p.ip - 1) % 2^32, (last + 1) % 2^32} do
      addresses[#addresses + 1] = ip
    end
  end
  for _ = 1, 200 do addresses[#addresses + 1] = random_ip() end
  for _, ip in ipairs(addresses) do
    local key = expected(prefixes, ip)
    assert.equal(key, object:search(ip) or 0)
    assert.equal(key, object:search_string(ip4.tostring(ip)) or 0)
    local bytes = ffi.new("uint8_t[4]", math.floor(ip / 2^24),
      math.floor(ip / 2^16) % 256, math.floor(ip / 256) % 256, ip % 256)
    assert.equal(key, object:search_bytes(bytes) or 0)
    local entry = object:search_entry(ip)
    assert.equal(key, entry and entry.key or 0)
  end
end

for _, kind in ipairs(KINDS) do
  describe("lib.lpm." .. kind.name .. " up to " .. kind.most, function ()
    local class = require("lib.lpm." .. kind.name:lower())[kind.name]

    it("finds what a look at each prefix does, through changes #slow", function ()
      math.randomseed(31)
      local object, prefixes = class:new(kind.config), {}
      for round = 1, 6 do
        for _ = 1, 60 do
          local length = math.random(round == 4 and 0 or 1, 32)
          local ip, key = random_ip(), math.random(1, kind.most)
          object:add(ip, length, key)
          ip = ip4.masked(ip, length)
          prefixes[ip * 64 + length] = {ip = ip, length = length, key = key}
        end
        for name, p in pairs(prefixes) do
          if math.random() < 0.3 then
            prefixes[name] = nil
            object:remove(p.ip, p.length)
          end
        end
        object:build()
        compare(object, prefixes)
      end
      local count, before = 0, -1
      for e in object:entries() do
        local name = e.ip * 64 + e.length
        assert.is_true(name > before)
        assert.equal(prefixes[name].key, e.key)
        count, before = count + 1, name
      end
      for _ in pairs(prefixes) do count = count - 1 end
      assert.equal(0, count)
      local memory = ffi.new("uint8_t[?]", 2^16)
      object:alloc_store(memory)
      local other = class:new(kind.config)
      other:add_string("9.9.9.9/32", 1) -- which goes
      other:alloc_load(memory)
      compare(other, prefixes)
    end)

    it("is empty at first #slow", function ()
      local object = class:new(kind.config)
      compare(object, {})
    end)
  end)
end

describe("lib.lpm's addresses", function ()
  it("are refused where they are none", function ()
    for _, text in ipairs{"", "1.2.3", "1.2.3.256", "1x2.3.4", "1.2.3.4.5"} do
      assert.has_error(function () ip4.parse(text) end)
    end
    for _, text in ipairs{"1.2.3.4", "1.2.3.4/33", "1.2.3.4/", "/8"} do
      assert.has_error(function () ip4.parse_cidr(text) end)
    end
    for _, text in ipairs{"", ":", "1", ":::", "1::2::3", "1:2:3:4:5:6:7:8::", "g::",
      ":1:2:3:4:5:6:7", "12345::"} do
      assert.has_error(function () ip6.parse(text) end)
    end
  end)

  it("of version 6 are written as RFC 5952 has them", function ()
    for given, written in pairs{["2001:db8:0:0:1:0:0:1"] = "2001:db8::1:0:0:1",
      ["0:0:0:0:0:0:0:0"] = "::", ["::01"] = "::1", ["FE80::"] = "fe80::",
      ["1:2:3:0:5:6:7:8"] = "1:2:3:0:5:6:7:8"} do
      assert.equal(written, tostring(ip6.parse(given)))
    end
  end)
end)
