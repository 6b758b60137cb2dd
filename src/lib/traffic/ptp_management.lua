-- SPDX-License-Identifier: Apache-2.0
-- PTP's management messages, of those that read only what is needed to know how far a
-- clock is from its master (IEEE 1588-2008, clause 15; linuxptp's TIME_STATUS_NP and
-- PORT_PROPERTIES_NP). Pure: bytes to tables, and back.

local management = {}

local HEADER, BODY = 34, 48    -- bytes: the header (13.3), all before the TLV (15.4.1)
local MANAGEMENT, VERSION = 13, 2
local RESPONSE = 2             -- actionField, table 38
local TLV, ERROR_TLV = 1, 2    -- tlvType, table 34: MANAGEMENT, MANAGEMENT_ERROR_STATUS
local INTERVAL = 65536         -- TimeInterval (5.3.2): ns times 2^16

--- managementId by name (table 40; 0xc000 and above are linuxptp's).
management.IDS = {CURRENT_DATA_SET = 0x2001, PORT_DATA_SET = 0x2004,
                  TIME_STATUS_NP = 0xc000, PORT_PROPERTIES_NP = 0xc004}
local names = {}
for name, id in pairs(management.IDS) do names[id] = name end

--- portState by number (table 8).
management.STATES = {"INITIALIZING", "FAULTY", "DISABLED", "LISTENING", "PRE_MASTER",
                     "MASTER", "PASSIVE", "UNCALIBRATED", "SLAVE"}

local function u16(n) return string.char(math.floor(n / 256) % 256, n % 256) end

local function unsigned(bytes, at, size)
  local n = 0
  for i = at, at + size - 1 do n = n * 256 + bytes:byte(i) end
  return n
end

local function signed(bytes, at, size)
  local n = unsigned(bytes, at, size)
  local negative = bytes:byte(at) >= 128
  if not negative then return n end
  local high = unsigned(bytes, at, size - size / 2) - 256 ^ (size - size / 2)
  if size == 1 then return n - 256 end
  return high * 256 ^ (size / 2) + unsigned(bytes, at + size / 2, size / 2)
end

--- A GET of that name for all ports, with `sequence` (16 bits), for the domain and
--- transportSpecific (4 bits).
function management.get(name, sequence, domain, specific)
  local everybody = ("\255"):rep(10)
  local tlv = u16(TLV) .. u16(2) .. u16(management.IDS[name])
  return string.char(specific * 16 + MANAGEMENT, VERSION) .. u16(BODY + #tlv)
    .. string.char(domain, 0) .. ("\0"):rep(24) .. u16(sequence) .. "\4\127"
    .. everybody .. "\0\0\0\0" .. tlv
end

-- What the data of a TLV says: its length in bytes, and where it is in `b` from `at`.
local contents = {}

contents[0x2001] = {18, function (b, at)
  return {steps = unsigned(b, at, 2), offset = signed(b, at + 2, 8) / INTERVAL,
          delay = signed(b, at + 10, 8) / INTERVAL}
end}

contents[0x2004] = {26, function (b, at)
  return {port = b:sub(at, at + 9), state = b:byte(at + 10),
          log_sync = signed(b, at + 22, 1)}
end}

contents[0xc000] = {50, function (b, at)
  return {offset = signed(b, at, 8), ingress = signed(b, at + 8, 8),
          present = unsigned(b, at + 38, 4) ~= 0}
end}

contents[0xc004] = {13, function (b, at)
  return {port = b:sub(at, at + 9), state = b:byte(at + 10),
          timestamping = b:byte(at + 11)}
end}

--- What a message from ptp4l says: {sequence =, name = of management.IDS, and what it
--- has: offset, delay, ingress (all ns), present (has it a grandmaster?), steps, port,
--- state, log_sync, timestamping (0: software)}; or {sequence =, error = its number}.
--- Nil and why, where the bytes aren't such a message.
function management.read(bytes)
  local length = #bytes >= BODY + 6 and unsigned(bytes, 3, 2) or 0
  if length < BODY + 6 or length > #bytes then
    return nil, ("%d bytes"):format(#bytes)
  elseif bytes:byte(1) % 16 ~= MANAGEMENT or bytes:byte(2) % 16 ~= VERSION
      or bytes:byte(BODY - 1) % 16 ~= RESPONSE then
    return nil, ("no response of version 2, but %02x %02x"):format(bytes:byte(1, 2))
  end
  local sequence = unsigned(bytes, HEADER - 3, 2)
  local kind, size = unsigned(bytes, BODY + 1, 2), unsigned(bytes, BODY + 3, 2)
  local id = unsigned(bytes, BODY + 5, 2)
  if size < 2 or BODY + 4 + size > length then
    return nil, ("a TLV of %d bytes in a message of %d"):format(size, length)
  elseif kind == ERROR_TLV then
    return {sequence = sequence, error = id}
  end
  local content = contents[id]
  if kind ~= TLV or not content then
    return nil, ("TLV %d with managementId 0x%04x"):format(kind, id)
  elseif size - 2 < content[1] then
    return nil, ("%s with %d bytes"):format(names[id], size - 2)
  end
  local said = content[2](bytes, BODY + 7)
  said.sequence, said.name = sequence, names[id]
  return said
end

return management
