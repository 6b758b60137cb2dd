-- SPDX-License-Identifier: Apache-2.0
-- Archives (ar(1), with the long names of GNU and BSD): Click's tools put a
-- configuration, as the member `config`, and what belongs to it in one file.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local archive = {}

local MAGIC, HEADER = "!<arch>\n", 60

--- Is the text an archive?
function archive.is(text) return text:sub(1, 1) == "!" end

local function field(header, first, length, base)
  local digits = header:sub(first, first + length - 1):match("^%s*(%d*)%s*$")
  return digits and tonumber(digits == "" and "0" or digits, base or 10)
end

-- The member's name; what belongs to the name at the start of its data is cut off.
local function name_of(header, data, long_names)
  local offset = header:match("^/(%d+)")
  if offset then
    return (long_names or ""):match("^[^/%s]*", tonumber(offset) + 1), data
  end
  local length = tonumber(header:match("^#1/(%d+)"))
  if length then return data:sub(1, length):match("^%Z*"), data:sub(length + 1) end
  return header:sub(1, 16):match("^[^/%s]*"), data
end

--- The members of an archive, a list of {name=, data=, date=, uid=, gid=, mode=}; or
--- nil and what is wrong.
function archive.parse(text)
  if text:sub(1, #MAGIC) ~= MAGIC then return nil, "not an archive" end
  local members, at, long_names = {}, #MAGIC + 1, nil
  while at + HEADER - 1 <= #text do
    local header = text:sub(at, at + HEADER - 1)
    if header:sub(59) ~= "`\n" then
      return nil, "bad archive: missing header magic number"
    end
    local size = field(header, 49, 10)
    local data = size and text:sub(at + HEADER, at + HEADER + size - 1)
    if not size or #data < size then return nil, "truncated archive" end
    if header:find("^//%s") then
      long_names = data
    else
      local member = {date = field(header, 17, 12), uid = field(header, 29, 6),
        gid = field(header, 35, 6), mode = field(header, 41, 8, 8)}
      member.name, member.data = name_of(header, data, long_names)
      members[#members + 1] = member
    end
    at = at + HEADER + size + size % 2
  end
  if at < #text + 1 then return nil, "truncated archive" end
  return members
end

--- The member of that name, or nil.
function archive.find(members, name)
  for _, member in ipairs(members) do
    if member.name == name then return member end
  end
end

local LONGEST = 14

--- An archive of these members, as text.
function archive.text(members)
  local parts = {MAGIC}
  for _, member in ipairs(members) do
    local name, data = member.name, member.data
    if #name > LONGEST or name:find("%s") or name:find("^#1/") then
      data, name = name .. data, ("#1/%d"):format(#name)
    end
    parts[#parts + 1] = ("%-16s%-12d%-6d%-6d%-8o%-10d`\n"):format(name,
      member.date or os.time(), member.uid or 0, member.gid or 0,
      member.mode or tonumber("644", 8), #data)
    parts[#parts + 1] = data
    if #data % 2 == 1 then parts[#parts + 1] = "\n" end
  end
  return table.concat(parts)
end

return archive
