-- SPDX-License-Identifier: Apache-2.0

local config = require("core.config")
local regions = require("core.fuse.partition")

local function per_packet() return {process = function () end} end

-- The regions of apps (names, each per packet unless in `others`) and links, each as
-- "apps / entries / exits"; and the reasons.
local function find(names, links, others)
  local apps, set = {}, {}
  for name in names:gmatch("%S+") do
    apps[name] = others and others[name] or per_packet()
  end
  for _, spec in ipairs(links) do set[spec] = true end
  local list, reasons = regions.find(apps, set)
  local texts = {}
  for i, r in ipairs(list) do
    texts[i] = ("%s / %s / %s"):format(table.concat(r.apps, " "),
      table.concat(r.entries, ", "), table.concat(r.exits, ", "))
  end
  table.sort(texts)
  return texts, reasons, list
end

local NIC = {pull = function () end, push = function () end}

describe("regions", function ()
  it("take a chain between two others whole", function ()
    local links = {"in.x -> a.i", "a.output -> b.i", "b.output -> c.i",
                   "c.output -> out.i"}
    assert.same({"a b c / in.x -> a.i / c.output -> out.i"},
      find("in a b c out", links, {["in"] = NIC, out = NIC}))
  end)

  it("take branches that join again, in topological order", function ()
    local _, _, list = find("a b c d", {"a.x -> b.i", "a.y -> c.i", "b.x -> d.i",
                                        "c.x -> d.j"})
    assert.equal(1, #list)
    assert.matches("^a [bc] [bc] d$", table.concat(list[1].apps, " "))
    assert.same({"a.x -> b.i", "a.y -> c.i", "b.x -> d.i", "c.x -> d.j"},
      config.sorted_keys(list[1].inner))
  end)

  it("that no link joins are two", function ()
    assert.same({"a b /  / ", "c /  / "}, find("a b c", {"a.x -> b.i"}))
  end)

  -- The links that close loops.
  local function closing(...)
    local _, _, list = find(...)
    assert.equal(1, #list)
    return config.sorted_keys(list[1].closing), list[1]
  end

  it("close a loop by one link, where packets come in", function ()
    local specs, region = closing("a b", {"a.x -> b.i", "b.x -> a.i"})
    assert.same({"b.x -> a.i"}, specs)
    assert.is_true(region.puts)
    assert.same({"a.x -> b.i"},
      closing("a b nic", {"a.x -> b.i", "b.x -> a.i", "nic.x -> b.j"}, {nic = NIC}))
    assert.same({"c.x -> z.i", "d.x -> z.i"},
      closing("b c d nic z", {"nic.x -> z.i", "z.x -> b.i", "z.y -> c.i", "z.z -> d.i",
                              "c.x -> z.i", "d.x -> z.i", "b.x -> nic.i"}, {nic = NIC}))
  end)

  it("may have a link from an app to itself", function ()
    assert.same({"a.x -> a.i"}, (closing("a", {"a.x -> a.i"})))
  end)

  it("may have apps that emit, pull or only emit", function ()
    local f = function () end
    local _, _, list = find("a b c", {"a.x -> b.i", "b.x -> c.i"},
      {a = {emits = true, pull = f}, b = {emits = true, process = f}})
    assert.same({"a", "b", "c"}, list[1].apps)
    assert.is_true(list[1].puts)
    assert.is_false(select(3, find("a b", {"a.x -> b.i"}))[1].puts)
  end)

  it("end at apps of other forms, and say which", function ()
    local f = function () end
    local others = {bulk = {process_burst = f}, snabb = {push = f},
                    both = {process = f, push = f},
                    linked = {process = f, push_link = {}}}
    local texts, reasons = find("a bulk snabb both linked z", {
      "a.x -> bulk.i", "bulk.x -> snabb.i", "snabb.x -> both.i", "both.x -> linked.i",
      "linked.x -> z.i"}, others)
    assert.same({"a /  / a.x -> bulk.i", "z / linked.x -> z.i / "}, texts)
    assert.matches("bulk app", reasons.bulk)
    assert.matches("no process", reasons.snabb)
    assert.matches("as well as process", reasons.both)
    assert.matches("push_link", reasons.linked)
    assert.is_nil(reasons.a)
  end)

  it("are cut where a path is longer than 128 apps", function ()
    local names, links = {}, {}
    for i = 1, 300 do
      names[i] = ("a%03d"):format(i)
      if i > 1 then
        links[i - 1] = ("%s.output -> %s.input"):format(names[i - 1], names[i])
      end
    end
    local _, _, list = find(table.concat(names, " "), links)
    local sizes = {}
    for i, r in ipairs(list) do sizes[i] = #r.apps end
    assert.same({128, 128, 44}, sizes)
    assert.same({"a128.output -> a129.input"}, list[1].exits)
    assert.same(list[1].exits, list[2].entries)
  end)
end)
