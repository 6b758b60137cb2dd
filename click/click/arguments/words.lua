-- SPDX-License-Identifier: Apache-2.0
-- Types of arguments that are text, elements or annotations, as numbers says.

local names = require("click.names")
local note = require("click.note")
local numbers = require("click.arguments.numbers")
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

--- The first byte of an annotation, from 0 on, and its length (nil if it isn't known):
--- 17, or PAINT, or a name that the configuration has defined. `spec.size`: this many
--- bytes from there on.
function words.anno(text, spec, element)
  local offset, length = note.find(text)
  local own = names.find("annotation", element, text)
  if own then offset, length = own[1], own[2] end
  offset = offset or numbers.count(text, {})
  if not offset then return nil end
  if spec.size and length and length ~= spec.size then return nil end
  if offset + (spec.size or 1) > note.BYTES then return nil end
  return offset, nil, spec.size or length
end

return words
