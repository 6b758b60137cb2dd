-- SPDX-License-Identifier: Apache-2.0
-- What a checkout of libmoon or MoonGen (--tree) has beyond libmoon's own packets.
-- Research adds a protocol there as proto/newProtocolTemplate.lua says: a module
-- proto/NAME.lua, its name in proto/proto.lua, its number in the header below it
-- (`eth.TYPE_NAME = 0x1234` and `NAME = eth.TYPE_NAME` in proto/ethernet.lua), and a
-- cast in packet.lua (`pkt.getNamePacket = createStack("eth", "NAME")`). Modules of
-- those names are Perigee's here, so the lines are read as text.

local casts = require("moongen.packets.casts")
local files = require("core.lib.files")
local headers = require("moongen.packets.headers")
local proto = require("moongen.packets.proto")

-- Compiling what runs once takes longer than running it.
jit.off(true, true)

local checkout = {}

-- Of libmoon, of MoonGen, of MoonGen until 2016.
local FOLDERS = {"lua", "libmoon/lua", "lua/include"}
local LOWER = {ethernet = "eth", ip4 = "ip4", ip6 = "ip6", udp = "udp", tcp = "tcp"}
local NUMBER = "^%s*[%w_]+%.([%u][%u%d_]*)%s*=%s*(%w+)"    -- eth.TYPE_IP = 0x0800
local ANNOUNCED = "^%s*([%w_]+)%s*=%s*[%w_]+%.([%u][%u%d_]*)" -- ip4 = eth.TYPE_IP
local LISTED = "^%s*proto%.([%w_]+)%s*=%s*require%s*%(?%s*[\"']proto%.[%w_]+[\"']"
local CAST = "^%s*pkt%.(get[%w_]+)%s*=%s*([%w_]+)%s*(%b())"
local MAKERS = {createStack = true, packetCreate = true}

local function lines_of(path) return files.lines(path) or {} end

-- The arguments in the text `("eth", {"ip4", name = "a"})`; nil if they aren't literal.
local function arguments_of(text)
  local inner = text:sub(2, -2)
  local plain = inner:gsub("'[^'\\]*'", ""):gsub('"[^"\\]*"', "")
  if not plain:match("^[%w_%s{},=]*$") or plain:find("function") then return nil end
  local f = loadstring("return {" .. inner .. "}", "=packet.lua")
  local ok, list = pcall(setfenv(f or error, {}))
  return ok and list or nil
end

local function add_casts(folder)
  for _, line in ipairs(lines_of(folder .. "/packet.lua")) do
    local name, maker, text = line:match(CAST)
    local arguments = name and MAKERS[maker] and arguments_of(text)
    if arguments then casts.add(name, arguments) end
  end
end

-- The numbers that a header's module has more than ours, and what they announce.
local function add_numbers(folder, module, lower)
  local numbers = {}
  for _, line in ipairs(lines_of(("%s/proto/%s.lua"):format(folder, module))) do
    local name, text = line:match(NUMBER)
    local number = name and tonumber(text)
    if number and proto[lower][name] == nil then
      proto[lower][name], numbers[name] = number, number
    end
    local upper, constant = line:match(ANNOUNCED)
    if upper and numbers[constant] then
      headers.announce(lower, upper, numbers[constant])
    end
  end
end

local function add_protocols(folder, listed)
  for _, line in ipairs(lines_of(folder .. "/proto/proto.lua")) do
    local name = line:match(LISTED)
    if name and rawget(proto, name) == nil then listed[name] = true end
  end
end

--- Let this Lua state's scripts use what these trees (paths) have of their own.
--- Protocols are loaded when they are first asked for.
function checkout.use(trees)
  local listed = {}
  for _, tree in ipairs(trees) do
    for _, part in ipairs(FOLDERS) do
      local folder = tree .. "/" .. part
      add_protocols(folder, listed)
      for module, lower in pairs(LOWER) do add_numbers(folder, module, lower) end
      add_casts(folder)
    end
  end
  if not next(listed) then return end
  setmetatable(proto, {__index = function (_, name)
    if not listed[name] then return nil end
    listed[name] = nil -- it may ask for itself
    local module = require("proto." .. name)
    if type(module) ~= "table" then
      error(("proto/%s.lua returns no table, so '%s' is no protocol"):format(name,
        name), 0)
    end
    proto[name] = module
    return module
  end})
end

return checkout
