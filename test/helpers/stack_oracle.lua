-- SPDX-License-Identifier: Apache-2.0
-- For test_stack_oracle.py: a line of standard input is a packet to build (JSON, see
-- stack_cases.py); a line of standard output says its bytes, and what was found in
-- them.

local ffi = require("ffi")
local json = require("cjson.safe")
local packet = require("core.packet")
local stack = require("lib.stack")

local function from_hex(text)
  return (text:gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

local function to_hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function decode(kind, text)
  if kind == "bytes" then return from_hex(text) end
  if kind == "address" then return text end
  return #text < 16 and tonumber(text) or loadstring("return " .. text .. "ULL")()
end

-- The arguments of createStack.
local function describe(request)
  local items = {}
  for i, item in ipairs(request.items) do
    items[i] = {item.protocol, name = item.label, length = item.length,
                subType = item.subType ~= "" and item.subType or nil,
                with = item.chosen and #item.chosen > 0 and item.chosen or nil}
  end
  return items
end

local function arguments(request)
  local args = {pktLength = request.length}
  for index, fields in pairs(request.fill) do
    local label = request.items[index + 1].label
    for field, value in pairs(fields) do
      args[label .. field] = decode(value[1], value[2])
    end
  end
  for _, entry in ipairs(request.variables) do
    local name = entry[2]:gsub("^.", string.upper)
    if entry[3] ~= "" then
      args[request.items[entry[1] + 1].label .. name] = from_hex(entry[3])
    end
  end
  return args
end

-- A field's value as text: a number, an address, or hexadecimal digits.
local function show(header, field)
  if field.kind == "mac" or field.kind == "ip4" or field.kind == "ip6" then
    return header["get" .. field.name .. "String"](header)
  end
  local value = header["get" .. field.name](header)
  if field.kind == "bytes" then return to_hex(value) end
  if type(value) == "boolean" then return value and "1" or "0" end
  if type(value) == "number" then return ("%.0f"):format(value) end
  return (tostring(value):gsub("U?LL$", ""))
end

-- The headers of a resolved packet. Its shape's items say what lies where.
local function found(p)
  local view = stack.resolve(p)
  local list = {}
  for i, item in ipairs(view.shape.items) do
    local fields = {}
    for _, field in ipairs(item.layout.fields) do
      fields[field.name] = show(view[item.label], field)
    end
    local start = p.data + item.offset + item.layout.size
    list[i] = {
      name = item.protocol.name, subType = item.layout.subtype or "", fields = fields,
      variable = item.layout.variable and to_hex(ffi.string(start, item.variable)),
    }
  end
  return list
end

local function build(request, p)
  local cast = stack.createStack(unpack(describe(request)))
  local pkt = cast(p)
  local args = arguments(request)
  pkt:fill(args)
  local payload = from_hex(request.payload)
  ffi.copy(p.data + p.length - #payload, payload, #payload)
  ffi.fill(p.data + p.length, request.padding)
  p.length = p.length + request.padding
  for _, call in ipairs(request.calls) do
    local header = pkt:getHeader(call[1] + 1)
    header[call[2]](header, unpack(call, 3))
  end
  pkt:calculateChecksums()
  local answer = {bytes = to_hex(ffi.string(p.data, p.length)), headers = found(p)}
  local same, reason = cast.check(p)
  answer.check = same == nil and tostring(reason) or nil
  local good, faults = pkt:verify()
  answer.verify = not good and faults or nil
  return answer
end

-- Build the packet again from all that is found in it: the bytes.
local function again(request, p)
  local cast = stack.createStack(unpack(describe(request)))
  local args = cast(p):get()
  local other = packet.allocate()
  local pkt = cast(other)
  args.pktLength = p.length
  pkt:fill(args)
  local payload = from_hex(request.payload) .. ("\0"):rep(request.padding)
  ffi.copy(other.data + other.length - #payload, payload, #payload)
  local bytes = to_hex(ffi.string(other.data, other.length))
  packet.free(other)
  return bytes
end

-- What is wrong with the stack's packet when nothing is told of its fields; nil: all is
-- well, and resolving it finds these headers.
local function wrong_by_default(request)
  local p = packet.allocate()
  p.length = 0
  local cast = stack.createStack(unpack(describe(request)))
  local pkt = cast(p)
  pkt:fill()
  pkt:calculateChecksums()
  local good, faults = pkt:verify()
  local names = {}
  for i, item in ipairs(stack.resolve(p).shape.items) do
    names[i] = item.protocol.name
  end
  local seen, wanted = table.concat(names, "_"), pkt:getName()
  packet.free(p)
  if not good then return table.concat(faults, "; ") end
  if seen ~= wanted then return ("found %s, not %s"):format(seen, wanted) end
end

local function answer(line)
  local request = assert(json.decode(line))
  local p = packet.allocate()
  local ok, result = pcall(build, request, p)
  if ok then
    ok, result.again = pcall(again, request, p)
    if not ok then result.again = tostring(result.again) end
    result.defaults = wrong_by_default(request)
  else
    result = {error = tostring(result)}
  end
  local scapy = from_hex(request.scapy)
  ffi.copy(p.data, scapy, #scapy)
  p.length = #scapy
  local resolved, headers = pcall(found, p)
  result.resolved = resolved and headers or {error = tostring(headers)}
  packet.free(p)
  return result
end

for line in io.lines() do
  print(json.encode(answer(line)))
end
