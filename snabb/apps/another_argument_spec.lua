-- SPDX-License-Identifier: Apache-2.0
-- What a change of an app's argument keeps: the table of doc/app-list.md, each class by
-- a run of it. The classes are made to count, get another argument, and are looked at.

local changes = require("testing.another_argument")
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local link = require("core.link")
local main = require("core.main")
local packet = require("core.packet")

local function page()
  local file = assert(io.open(main.root .. "/doc/app-list.md"))
  local text = file:read("*a")
  file:close()
  return text
end

local function items(cell)
  local list = {}
  for item in (cell .. ";"):gmatch("%s*(.-)%s*;") do
    if item ~= "" then list[#list + 1] = item end
  end
  table.sort(list)
  return list
end

-- The rows of the table: {[CLASS] = {stays = list, anew = list}}.
local function rows()
  local part = page():match("<!%-%- changes: begin %-%->(.-)<!%-%- changes: end")
  local list = {}
  for class, stays, anew in part:gmatch("\n| `([%w_.]+)` |([^|\n]*)|([^|\n]*)|") do
    assert.is_nil(list[class], class)
    list[class] = {stays = items(stays), anew = items(anew)}
  end
  return list
end

local function names_of(readers) return config.sorted_keys(readers or {}) end

-- An app at the other ends of links, which sends nothing and keeps what comes.
local Ends = {}
function Ends.new() return setmetatable({}, {__index = Ends}) end

-- The case's app "x" with the argument, and "fresh", another, if that is given.
local function configure(case, arg, fresh)
  local c = config.new()
  config.app(c, "x", case.class, arg)
  config.app(c, "ends", Ends)
  for _, name in ipairs(case.inputs) do
    config.link(c, "ends." .. name .. " -> x." .. name)
  end
  for _, name in ipairs(case.outputs) do
    config.link(c, "x." .. name .. " -> ends." .. name)
  end
  for _, spec in ipairs(case.links or {}) do config.link(c, spec) end
  if fresh then
    config.app(c, "fresh", case.class, fresh)
    for _, name in ipairs(case.outputs) do
      config.link(c, ("fresh.%s -> ends.fresh_%s"):format(name, name))
    end
  end
  engine.configure(c)
  return engine.app_table.x, engine.app_table.fresh
end

local function drain(app)
  for i = 1, #app.output do
    local l = app.output[i]
    for _ = 1, link.nreadable(l) do packet.free(link.receive(l)) end
  end
end

local function exercise(case, app)
  if case.run then case.run(app) end
  engine.breathe()
  if app.tick then app:tick() end
  drain(app)
end

-- All that is counted of the app: a table of numbers that aren't 0.
local function counted(app)
  local numbers = {}
  for name in pairs(app.shm and app.shm.specs or {}) do
    local n = tonumber(counter.read(app.shm[name]))
    if name ~= "dtime" and n ~= 0 then numbers[name] = n end
  end
  for name, n in pairs(engine.drops("x")) do numbers["drop " .. name] = n end
  return numbers
end

local function read(readers, app)
  local values = {}
  for name, reader in pairs(readers or {}) do values[name] = reader(app) end
  return values
end

describe("Another argument", function ()
  local say = print
  before_each(function () _G.print = function () end end)
  after_each(function ()
    engine.configure(config.new())
    _G.print = say
    changes.remove_files()
  end)

  it("is in the page for every class of the lists above it", function ()
    local list, text = rows(), page()
    local n = 0
    for name, case in pairs(changes.cases) do
      n = n + 1
      local row = list[name]
      assert.is_table(row, name)
      assert.same(row.stays, names_of(case.stays), name)
      assert.same(row.anew, names_of(case.anew), name)
    end
    assert.equal(n, #config.sorted_keys(list))
    local others = changes.others -- with a sentence of their own
    local cells = "\n| %[([%w_/]+)%]%b() | ([^|]+) | ([^|]+) |"
    for folder, modules, classes in text:gmatch(cells) do
      for class in classes:gmatch("[%w_]+") do
        local found = others[folder] or others[class]
        for module in modules:gmatch("`([%w_]+)`") do
          local name = ("apps.%s.%s.%s"):format(folder:gsub("/", "."), module, class)
          found = found or list[name]
        end
        assert.is_truthy(found, folder .. " " .. class)
      end
    end
  end)

  for name, case in pairs(changes.cases) do
    local inputs, outputs = case.inputs, case.outputs
    case.inputs, case.outputs = inputs or {"input"}, outputs or {"output"}
    local module, class = name:match("^(.*)%.([%w_]+)$")

    it("of " .. name, function ()
      case.class = require(module)[class]
      local before, after = changes.argument(case.before), changes.argument(case.after)
      local app = configure(case, before)
      exercise(case, app)
      if case.counts then assert.not_same({}, counted(app)) end
      local numbers, stays = counted(app), read(case.stays, app)
      local fresh_arg = case.fresh and changes.argument(case.fresh)
        or (case.stays or case.anew) and after or nil
      local changed, fresh = configure(case, after, fresh_arg)
      assert.equal(app, changed, name .. " was made anew")
      assert.same(numbers, counted(app))
      local now = read(case.stays, app)
      for item, value in pairs(stays) do
        assert.equal(value, now[item], item)
        if not (case.random and case.random[item]) then
          local of_any = case.stays[item](fresh)
          assert.not_equal(value, of_any, item .. " is that of any such app")
        end
      end
      if case.anew_after then
        configure(case, changes.argument(case.anew_after), fresh_arg)
      end
      for item, reader in pairs(case.anew or {}) do
        assert.equal(reader(fresh), reader(app), item)
      end
      for item in pairs(case.lost or {}) do
        assert.equal(case.stays[item](fresh), case.stays[item](app), item .. ", lost")
      end
      exercise(case, app) -- it works, and counts on
      for key, n in pairs(case.counts and numbers or {}) do
        local least = changes.is_value(key) and 0 or n
        assert.is_true((counted(app)[key] or 0) >= least, key)
      end
    end)
  end

  it("makes others anew, as the page says", function ()
    local Port = require("apps.port.port").Port
    local case = {class = Port, inputs = {}, outputs = {"output"}}
    local port = configure(case, "null:size=60")
    engine.breathe()
    drain(port)
    assert.not_equal(port, (configure(case, "null:size=61")))
    for _, name in ipairs(changes.made_anew) do
      local module, class = name:match("^(.*)%.(%u[%w_]+)$")
      local c = require(module or name)
      c = class and c[class] or c
      assert.is_nil(c.reconfig, name)
      assert.is_nil(rawget(c, "reconfig_keeps"), name)
      assert.is_truthy(page():find(name, 1, true), name)
    end
  end)

  it("makes an app anew for another file, and the old one stays whole", function ()
    local pcap = require("apps.pcap.pcap")
    local a, b = changes.path(), changes.path()
    local case = {class = pcap.PcapWriter, inputs = {"input"}, outputs = {}}
    local app = configure(case, {filename = a})
    link.transmit(app.input.input, packet.from_string(("x"):rep(60)))
    engine.breathe()
    assert.not_equal(app, (configure(case, {filename = b})))
    assert.equal(1, #changes.packets(a))
  end)

  it("that is wrong changes nothing", function ()
    local case = {class = require("apps.rate_limiter.rate_limiter").RateLimiter,
      inputs = {"input"}, outputs = {"output"}}
    local app = configure(case, {rate = 0, bucket_capacity = 100})
    assert.is_false((pcall(configure, case, {rate = -1, bucket_capacity = 7})))
    assert.equal(app, engine.app_table.x)
    assert.equal(100, app.bucket_capacity)
  end)

  it("makes apps of derived classes anew", function ()
    local basic = require("apps.basic.basic_apps")
    local Mine = setmetatable({}, {__index = basic.Sample})
    Mine.__index = Mine
    function Mine:new(arg) return basic.Sample.new(self, arg.n) end
    Mine.check_arg = false
    local case = {class = Mine, inputs = {"input"}, outputs = {"output"}}
    local app = configure(case, {n = 2})
    assert.not_equal(app, (configure(case, {n = 3})))
  end)
end)
