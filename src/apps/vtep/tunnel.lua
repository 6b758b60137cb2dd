-- SPDX-License-Identifier: Apache-2.0
-- What the apps of one tunnel end point share: the forwarding table, the remotes, the
-- VNIs, what the kernels read of them, and the digest: what decapsulation saw and the
-- table doesn't say yet. The packet path only reads tables and appends to the digest;
-- Host learns from it, a breath later at most.

local ffi = require("ffi")
local failure = require("core.failure")
local fdb = require("net.fdb.fdb")
local Remotes = require("apps.vtep.remotes")
local addresses = require("net.address.address")
local settings = require("apps.vtep.settings")
local Vnis = require("apps.vtep.vnis")
local tables = require("core.lib.tables")

local Tunnel = {}
Tunnel.__index = Tunnel

local DIGEST = 256 -- sightings, a breath

local digest_t = ffi.typeof([[struct {
  int32_t n, missed;
  struct {
    union { uint64_t key; struct { int32_t a, b; }; };
    int32_t from[4], uncounted, unused;
  } of[?];
}]])

-- The remotes to flood to, by number of the VNI: {n =, remote =}.
local function flood_lists(self)
  for number in pairs(self.flood) do self.flood[number] = nil end
  for _, item in ipairs(self.settings.vnis) do
    local list, listed = {}, {}
    for _, r in ipairs(self.settings.remotes) do
      local n = self.remotes.number[r.address]
      if (not r.vnis or r.vnis[item.vni]) and not listed[n] then
        list[#list + 1], listed[n] = n, true
      end
    end
    local number = self.vnis.number[item.vni]
    self.flood[number] = {n = #list, remote = ffi.new("int32_t[?]", #list + 1, list)}
    self.vnis.array[number].only = #list == 1 and list[1] or 0
  end
end

--- The forwarding database's key of a MAC address (6 bytes) and a VNI's number.
function Tunnel.key(mac, number) return fdb.key(mac, number) end

local function add_remotes(self)
  for _, r in ipairs(self.settings.remotes) do
    self.remotes:add(r.address, r.mac, true)
  end
end

-- Those there is no room for are told of in a sentence, which is returned.
local function add_statics(self)
  local problem
  for _, entry in ipairs(self.settings.statics) do
    local n = self.remotes:add(entry.remote.address, entry.remote.mac, true)
    local key = fdb.key(entry.mac, self.vnis.number[entry.vni])
    local number = self.fdb:find(key)
    local static = number == 0 or select(2, self.fdb:entry(number))
    local done, had = self.fdb:fix(key, n, self.let_go)
    if done == fdb.FULL then
      problem = ("there is no room for the static entry of %s; let capacity be more "
        .. "than %d"):format(addresses.text(entry.mac), self.settings.capacity)
    elseif not static then
      self.let_go(had)
    end
  end
  return problem
end

-- What changes of what the kernels read.
local function tell_kernels(self)
  self.own.leaf, self.own.strict = self.vnis.leaf, self.settings.strict and 1 or 0
end

-- What Decap's kernel reads.
local function own_end(self)
  local s = self.settings
  local own = ffi.new("struct vxlan_end", {
    page = self.vnis.page, port = s.port, vnis = self.vnis.array,
    fdb = self.fdb.fdb, remotes = self.remotes.index,
    family = s.family, keep_tags = s.keep_tags, flood_control = s.flood_control,
  })
  ffi.copy(own.broadcast, settings.broadcast(s), 4)
  ffi.copy(own.mac, s.mac, 6)
  ffi.copy(own.ip, s.address, #s.address)
  return own
end

--- A tunnel with the settings `arg` (see the README), which are checked here.
function Tunnel.new(arg)
  local s = settings.check(arg)
  local seed = arg.seed or math.random(0, 2^31 - 1)
  local self = setmetatable({
    settings = s, family = s.family, vnis = Vnis.new(),
    fdb = fdb.new{limit = s.capacity, timeout = s.ageing, seed = arg.seed},
    remotes = Remotes.new(s, seed), flood = {}, digest = digest_t(DIGEST),
    digest_room = DIGEST,
  }, Tunnel)
  self.let_go = function (remote) self.remotes:use(remote, -1) end
  self.vnis:set(s.vnis)
  self.own = own_end(self)
  tell_kernels(self)
  add_remotes(self)
  local problem = add_statics(self)
  if problem then failure.usage("%s", problem) end
  flood_lists(self)
  return self
end

-- Changing while packets flow ---------------------------------------------------------

-- The addresses of the settings' remotes, those of static entries too, and their MACs.
local function named(s)
  local macs = {}
  local function note(r) macs[r.address] = r.mac or macs[r.address] or false end
  for _, r in ipairs(s.remotes) do note(r) end
  for _, entry in ipairs(s.statics) do note(entry.remote) end
  return macs
end

-- The numbers of remotes to let go of: those named no more, and learned ones where room
-- is needed. A set.
local function leaving(self, macs)
  local remotes, gone, room = self.remotes, {}, #self.remotes.free
  for n in pairs(remotes.fixed) do
    if macs[remotes.address[n]] == nil then gone[n], room = true, room + 1 end
  end
  for address in pairs(macs) do
    if not remotes.number[address] then room = room - 1 end
  end
  for n in pairs(remotes.address) do
    if room >= 0 then break end
    if not remotes.fixed[n] and macs[remotes.address[n]] == nil then
      gone[n], room = true, room + 1
    end
  end
  return gone
end

-- Forget entries of these VNIs (numbers) and remotes, and static ones, which come anew.
local function forget(self, vnis, remotes, had_statics)
  if not (next(vnis) or next(remotes) or had_statics) then return end
  for n in self.fdb:each() do
    local remote, static, key = self.fdb:entry(n)
    local _, vni = fdb.of_key(key)
    if static or remotes[remote] or vnis[vni] then
      self.fdb:remove(key)
      if not static then self.let_go(remote) end
    end
  end
end

--- Take the settings `arg` instead of those there are: the VNIs, remotes, static
--- entries and what else can change (settings.CHANGEABLE). What was learned of VNIs and
--- remotes that stay is kept. Raises a sentence, and changes nothing, if something is
--- wrong. Returns a sentence if there was no room for a static entry, else nil. Not to
--- be called within a breath.
function Tunnel:update(arg)
  local s = settings.check(arg)
  settings.check_change(self.settings, s)
  local had_statics = #self.settings.statics > 0
  settings.replace(self.settings, s)
  local macs = named(s)
  local gone = leaving(self, macs)
  self.fdb:set_timeout(s.ageing)
  forget(self, tables.set_of(self.vnis:set(s.vnis)), gone, had_statics)
  for n in pairs(gone) do self.remotes:release(n) end
  for address, mac in pairs(macs) do
    local n = self.remotes.number[address]
    if n then self.remotes:send_by(n, mac or nil) end
  end
  add_remotes(self)
  local problem = add_statics(self)
  flood_lists(self)
  tell_kernels(self)
  return problem
end

return Tunnel
