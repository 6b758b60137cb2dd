-- SPDX-License-Identifier: Apache-2.0
-- What generated packets carry behind their headers: text, bytes in hexadecimal, or the
-- bytes of a file.

local from_hex = require("net.wire.bytes").from_hex
local packet = require("core.packet")

local M = {}

local MOST = packet.max_payload

local function hexadecimal(digits)
  local plain = digits:gsub("[%s:]", "")
  if plain == "" or #plain % 2 ~= 0 or not plain:find("^%x+$") then
    return nil, ("hex: takes two hexadecimal digits a byte, such as hex:cafe01, not"
      .. " '%s'"):format(digits)
  end
  return from_hex(plain)
end

-- (One byte more than fits says that the file is too long; a pipe may have no end.)
local function contents(name)
  local file, problem = io.open(name, "rb")
  if not file then return nil, "can't open " .. problem end
  local bytes, err = file:read(MOST + 1)
  file:close()
  if err then return nil, ("can't read %s: %s"):format(name, err) end
  return bytes or ""
end

local READERS = {
  text = function (text) return text end, hex = hexadecimal, file = contents,
}

--- Converter (lib.cli) of a payload to its bytes, a string: "TEXT", "text:TEXT",
--- "hex:CAFE01" (spaces and colons between digits are skipped) or "file:NAME". It has
--- 1 to core.packet.max_payload bytes.
function M.parse(text)
  local kind, rest = text:match("^(%l+):(.*)$")
  local read = READERS[kind]
  local bytes, problem = (read or READERS.text)(read and rest or text)
  if not bytes then return nil, problem end
  if #bytes == 0 then return nil, ("'%s' has no bytes"):format(text) end
  if #bytes > MOST then
    return nil, ("a packet has at most %d bytes; '%s' has more"):format(MOST,
      read == contents and text or text:sub(1, 40) .. "...")
  end
  return bytes
end

return M
