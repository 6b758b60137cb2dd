-- SPDX-License-Identifier: Apache-2.0
-- Types of arguments that are text or elements, as numbers says.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local text_of = require("click.language.text")

local words = {}

--- The argument as it is written.
function words.argument(text) return text end

--- One word, or anything in quotes; without the quotes.
function words.string(text)
  if text == "" or #text_of.words(text) ~= 1 then return nil end
  return text_of.unquote(text)
end

--- The bytes of packets: the same as a string.
words.data = words.string

--- The same, if it has nothing that needs quotes.
function words.word(text)
  local value = words.string(text)
  return value and text_of.is_word(value) and value or nil
end

local function home_of(user)
  local passwd = user ~= "" and require("posix.pwd").getpwnam(user)
  return user == "" and os.getenv("HOME") or passwd and passwd.pw_dir
end

--- The path of a file; ~ and ~USER are home directories.
function words.filename(text)
  local path = words.string(text)
  if not path or path == "" then return nil end
  path = path:gsub("^~([^/]*)", home_of)
  return (path:gsub("//+", "/"))
end

-- Is the element of the class of that name, or of one that has that class's methods?
local function is_a(element, name)
  local class = element.class
  while class and class.name ~= name do class = rawget(class, "extends") end
  return class ~= nil
end

--- An element, by its name as the asking one sees it. `spec.class`: only one of the
--- class of this name.
function words.element(text, spec, element)
  local found = element.router:find(text, element)
  if not found then return nil, "does not name an element" end
  if spec.class and not is_a(found, spec.class) then
    return nil, "element type mismatch, expected " .. spec.class
  end
  return found
end

return words
