-- SPDX-License-Identifier: Apache-2.0
-- Arguments of Snabb's driver apps: doc/snabb.md has a table of them. Where SNABB names
-- a checkout of Snabb, it must have each that the checkout's classes take.

local failure = require("core.failure")
local files = require("core.lib.files")
local main = require("core.main")

local function contents(path) return files.readfile(path, "*a") end

-- The rows of the page's table: {class =, module =, honoured, refused and idle = sets}.
local function rows()
  local text = contents(main.root .. "/doc/snabb.md")
  local part = text:match("<!%-%- arguments: begin %-%->(.-)<!%-%- arguments: end")
  local list = {}
  for line in part:gmatch("[^\n]+") do
    local module, class = line:match("^| `([%w_.]+)%.([%w_]+)` |")
    if module then
      local row, cells = {module = module, class = class, all = {}}, {}
      for cell in line:gsub("^|.-|", ""):gmatch("([^|]*)|") do
        local set = {}
        for key in cell:gmatch("`([%w_]+)`") do set[key], row.all[key] = true, true end
        cells[#cells + 1] = set
      end
      row.honoured, row.refused, row.idle = cells[1], cells[2], cells[3]
      list[#list + 1] = row
    end
  end
  return list
end

-- Arguments with which the class of the row takes what it needs.
local NEEDED = {pciaddr = "null", pciaddress = "null", queue = "q", ifname = "nosuch0",
  queues = {{id = "q"}}, socket_path = "/nosuch/socket", name = "nosuch0"}

describe("Arguments of driver apps", function ()
  it("are in the page, with what they do", function ()
    local list = rows()
    assert.equal(12, #list)
    for _, row in ipairs(list) do
      local class = require(row.module)[row.class]
      for key in pairs(class.config or {}) do
        assert.is_true(row.all[key] or key == "ndesc" or key == "rsskey",
          ("%s.%s: %s"):format(row.module, row.class, key))
      end
    end
  end)

  it("are refused by name where the page says so", function ()
    for _, row in ipairs(rows()) do
      local class = require(row.module)[row.class]
      for key in pairs(row.refused) do
        local arg = {}
        for name in pairs(row.all) do arg[name] = NEEDED[name] end
        arg[key] = key == "priority" and 0.5 or true
        local ok, err = pcall(class.check_arg, arg)
        assert.is_false(ok, key)
        assert.is_true(failure.is(err), tostring(err))
        assert.matches(("'%s' isn't there: "):format(key), tostring(err), 1, true)
        arg[key] = key == "priority" and 1 or nil
        ok, err = pcall(class.check_arg, arg)
        local said = ok and "" or tostring(err)
        assert.is_nil(said:find("isn't there: ", 1, true), said)
      end
    end
  end)

  it("may ask for a VLAN or an address of a virtual function or a Solarflare card",
    function ()
      local Avf = require("apps.intel_avf.intel_avf").Intel_avf
      local Nic = require("apps.solarflare.solarflare").SolarFlareNic
      local mac = "02:00:00:00:00:01"
      for class, arg in pairs{[Avf] = {pciaddr = "null", vlan = 7},
                              [Nic] = {pciaddr = "null", vlan = 7, macaddr = mac}} do
        local card = class.shares(arg)
        local part = class.expand_together({{name = "nic", class = class, arg = arg}},
          card)
        local port = part.apps[card .. "/switch"].arg.ports[1]
        assert.same({7, class == Nic and mac or nil}, {port.vlan, port.mac})
        assert.is_nil(class.shares{pciaddr = "null"})
      end
    end)

  local snabb = os.getenv("SNABB")
  if not snabb then
    pending("are those of Snabb's classes (SNABB names no checkout)")
    return
  end

  -- The keys of the class in the checkout's file: those of its `config`, or what its
  -- functions read of their argument.
  local function keys_of(row)
    local text = contents(("%s/src/%s.lua"):format(snabb, row.module:gsub("%.", "/")))
    local keys, lines = {}, nil
    text = text:gsub("%-%-[^\n]*", "")
    if row.class == "VhostUser" then
      for key in text:gmatch("args%.([%w_]+)") do keys[key] = true end
      return keys
    elseif row.class == "VirtioNet" then
      text = contents(snabb .. "/src/lib/virtio/net_driver.lua")
      for key in text:gmatch("args%.([%w_]+)") do keys[key] = true end
      return keys
    elseif row.class == "RawSocket" then
      return keys
    end
    for _, head in ipairs{"\n" .. row.class .. "%._?config = (%b{})",
                          "\n" .. row.class .. " = (%b{})",
                          "\n" .. row.class .. " = setmetatable%((%b{})",
                          "\nlocal " .. row.class .. " = (%b{})"} do
      lines = text:match(head)
      if lines and lines:find("=", 1, true) then break end
    end
    assert(lines, "no class " .. row.class)
    lines = lines:match("config%s*=%s*(%b{})") or lines
    for key in lines:gmatch("[{,\n]%s*([%a_][%w_]*)%s*=%s*{") do keys[key] = true end
    return keys
  end

  it("are those of Snabb's classes", function ()
    for _, row in ipairs(rows()) do
      assert.same(keys_of(row), row.all, row.module .. "." .. row.class)
    end
  end)
end)
