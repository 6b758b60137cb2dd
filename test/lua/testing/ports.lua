-- SPDX-License-Identifier: Apache-2.0
-- For specs of ports: graphs from tables, what a report prints, and capture files by
-- hand.

local config = require("core.config")
local engine = require("core.app")

local ports = {}

ports.Idle = {new = function () return {} end}

function ports.configure(apps, links)
  local c = config.new()
  for name, app in pairs(apps) do config.app(c, name, unpack(app)) end
  for _, spec in ipairs(links or {}) do config.link(c, spec) end
  engine.configure(c)
  return engine.app_table
end

--- The sentence that engine.configure refuses the apps and links with; false if it
--- doesn't.
function ports.refused(...)
  local ok, err = pcall(ports.configure, ...)
  return not ok and tostring(err)
end

--- The lines that the app's report() prints.
function ports.printed_report(app)
  local lines, before = {}, print
  rawset(_G, "print", function (text) lines[#lines + 1] = text end)
  local ok, err = pcall(app.report, app)
  rawset(_G, "print", before)
  assert(ok, err)
  return lines
end

function ports.frames(from, to)
  local list = {}
  for i = from, to do list[#list + 1] = ("%04d"):format(i):rep(15) .. ("x"):rep(i) end
  return list
end

-- Capture files, by hand: little-endian pcap of microseconds (see pcap-savefile).
local files = {}

function ports.little(n, bytes)
  if bytes == 0 then return "" end
  return string.char(n % 256) .. ports.little(math.floor(n / 256), bytes - 1)
end

function ports.capture(list)
  local name = os.tmpname()
  files[#files + 1] = name
  local file = assert(io.open(name, "wb"))
  local little = ports.little
  file:write("\212\195\178\161", little(2, 2), little(4, 2), little(0, 8),
    little(262144, 4), little(1, 4))
  for i, frame in ipairs(list or {}) do
    file:write(little(i, 4), little(0, 4), little(#frame, 4), little(#frame, 4), frame)
  end
  file:close()
  return name
end

local function number(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return a + b * 256 + c * 65536 + d * 16777216
end

function ports.captured(name)
  local file = assert(io.open(name, "rb"))
  local text, list, at = file:read("*a"), {}, 25
  file:close()
  while at < #text do
    local length = number(text, at + 8)
    list[#list + 1] = text:sub(at + 16, at + 15 + length)
    at = at + 16 + length
  end
  return list
end

--- To be called after each test: nothing runs, and no file is left.
function ports.clean_up()
  engine.configure(config.new())
  while #files > 0 do os.remove(table.remove(files)) end
end

return ports
