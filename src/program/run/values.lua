-- SPDX-License-Identifier: Apache-2.0
-- Values of a graph file as Lua's: lists and maps are tables, and {$env: NAME} and
-- {$file: PATH} stand for a string that is kept elsewhere. What those were is noted, so
-- that no sentence repeats them.

local document = require("lib.document.document")

local values = {}

local MOST_SECRET = 65536 -- bytes
-- Shorter ones are in many a sentence. What somebody wrote is between quotes in it.
local LEAST_HIDDEN, LEAST_OUTSIDE_QUOTES = 3, 8 -- bytes

-- The string that a file has, without the end of its last line.
local function of_file(notes, at, name)
  local from = name:match("^/") and "" or notes.folder
  notes.files[#notes.files + 1] = from .. name
  local ok, text = pcall(document.text, from .. name, MOST_SECRET)
  if not ok then document.refuse(notes.path, at.line, "$file: %s", tostring(text)) end
  if text:find("\0", 1, true) then
    document.refuse(notes.path, at.line, "$file: %s has a NUL in it", name)
  end
  return (text:gsub("\r?\n$", ""))
end

local function of_environment(notes, at, name)
  return os.getenv(name)
    or document.refuse(notes.path, at.line, "$env: there is no variable %s", name)
end

local ELSEWHERE = {["$file"] = of_file, ["$env"] = of_environment}

-- The string that the node stands for, or nil if it stands for itself.
local function kept_elsewhere(notes, n)
  for key, get in pairs(ELSEWHERE) do
    if n.map[key] then
      document.check_keys(notes.path, n, "what has " .. key, {key})
      local name = document.want(notes.path, n.map[key], key, "string").value
      local text = get(notes, n, name)
      notes.secrets[#notes.secrets + 1] = {text = text, source = key .. " " .. name}
      return text
    end
  end
end

--- Notes for the values of the file at `path`: `files` (paths of those read) and
--- `secrets` ({text =, source =}) are lists.
function values.notes(path)
  return {path = path, folder = path:match("^.*/") or "", files = {}, secrets = {}}
end

--- The value of the node. Raises a failure.
function values.of(notes, n)
  if n.list then
    local list = {}
    for i, child in ipairs(n.list) do
      list[i] = values.of(notes, child)
      if list[i] == nil then
        document.refuse(notes.path, child.line, "a list can't have nothing in it")
      end
    end
    return list
  elseif n.map then
    local secret = kept_elsewhere(notes, n)
    if secret then return secret end
    local map = {}
    for _, at in ipairs(n.keys) do map[at.key] = values.of(notes, n.map[at.key]) end
    return map
  end
  return n.value
end

-- The text in quotes, unless it is a part of one of the secrets.
local function hide_part(notes, text)
  for _, secret in ipairs(#text >= LEAST_HIDDEN and notes.secrets or {}) do
    if secret.text:find(text, 1, true) then return ("'(%s)'"):format(secret.source) end
  end
end

--- The sentence, with what was kept elsewhere left out.
function values.hide(notes, sentence)
  sentence = sentence:gsub("'([^']*)'", function (text)
    return hide_part(notes, text)
  end)
  for _, secret in ipairs(notes.secrets) do
    if #secret.text >= LEAST_OUTSIDE_QUOTES then
      local at, ends = sentence:find(secret.text, 1, true)
      while at do
        local name = ("(%s)"):format(secret.source)
        sentence = sentence:sub(1, at - 1) .. name .. sentence:sub(ends + 1)
        at, ends = sentence:find(secret.text, at + #name, true)
      end
    end
  end
  return sentence
end

return values
