-- SPDX-License-Identifier: Apache-2.0
-- Errors meant for the person at the terminal: one sentence and an exit status.
-- Anything else that is raised is a bug of the program and gets a traceback.

local failure = {}

local Failure = {}
Failure.__index = Failure

function Failure:__tostring()
  return self.sentence
end

local function raise(status, fmt, ...)
  local sentence = select("#", ...) > 0 and fmt:format(...) or fmt
  error(setmetatable({sentence = sentence, status = status}, Failure), 0)
end

--- Raise what the user asked for and can't be had (a bad option, argument, port
--- or configuration): the sentence, and exit status 2.
function failure.usage(fmt, ...)
  raise(2, fmt, ...)
end

--- Raise what went wrong while running (a full disk, a device that vanished):
--- the sentence, and exit status 1.
function failure.raise(fmt, ...)
  raise(1, fmt, ...)
end

--- The same, where what can be done without is lacking room (memory, a full disk): the
--- error has `no_room`, for who can do without.
function failure.no_room(fmt, ...)
  local ok, err = pcall(raise, 1, fmt, ...)
  if not ok then err.no_room = true end
  error(err, 0)
end

--- Is `err` one of these errors?
function failure.is(err)
  return getmetatable(err) == Failure
end

local sentences = setmetatable({}, {__mode = "k"}) -- of what is raised as it was

-- Values that a program may know again when it catches them.
local function has_identity(err)
  return type(err) == "table" or type(err) == "cdata" or type(err) == "userdata"
end

--- What to raise in the place of the failure `err`: the table that a program has
--- raised, if it has been one, since that is what it will look for. Its sentence is
--- kept for failure.explain.
function failure.as_raised(err)
  local raised = failure.is(err) and err.raised
  if not raised then return err end
  sentences[raised] = err.sentence
  return raised
end

-- What was raised, as text. It may be anything, whose own __tostring may be wrong, too.
local function text_of(err)
  if type(err) == "string" then return err end
  local ok, text = pcall(tostring, err)
  if not ok or type(text) ~= "string" then text = "a " .. type(err) end
  local meta = getmetatable(err)
  if type(meta) == "table" and rawget(meta, "__tostring") and ok then return text end
  return "an error that is no text: " .. text
end

--- For xpcall: the error `err` as a failure. One that isn't a failure yet is a
--- bug of some program: its sentence is its message with a traceback, of `thread` if it
--- isn't this one that raised it, from `level` on (2: as if called by xpcall). Its
--- field `raised` is the error itself, if that is a table.
function failure.explain(err, thread, level)
  if failure.is(err) and not err.bare then return err end
  local raised = failure.is(err) and err.raised or has_identity(err) and err or nil
  local text = has_identity(err) and sentences[err]
  if text then
    sentences[err] = nil -- it may be raised again elsewhere
  else
    text = thread and debug.traceback(thread, text_of(err), 1)
      or debug.traceback(text_of(err), level or 2)
  end
  return setmetatable({sentence = text, status = 1, bug = true, raised = raised},
    Failure)
end

--- The error `err` with the app it was raised in, and the app's method, in front.
function failure.in_app(name, method, err)
  local where = ("app '%s': in %s(): "):format(name, method)
  if has_identity(err) and not failure.is(err) then
    return setmetatable({sentence = where .. text_of(err), status = 1, raised = err,
      bare = true}, Failure) -- to be explained: with a traceback
  end
  if not failure.is(err) then return where .. text_of(err) end
  err.sentence = where .. err.sentence
  return err
end

--- Raise `err` again with `where` ("app 'nic'") in front of its sentence.
function failure.within(where, err)
  local status = failure.is(err) and err.status or 1
  raise(status, "%s: %s", where, tostring(err))
end

--- How many bytes of a value a sentence shows.
failure.MOST_SHOWN = 40
local MOST_SHOWN = failure.MOST_SHOWN

--- A value as a sentence shows it: short, on one line.
function failure.shown(value)
  if value == nil then return "nothing" end
  local lua_type = type(value)
  if lua_type ~= "string" and lua_type ~= "number" and lua_type ~= "boolean" then
    return "a " .. lua_type
  end
  local text = tostring(value)
  if #text > MOST_SHOWN then text = text:sub(1, MOST_SHOWN) .. "..." end
  return "'" .. text:gsub("[%c\127-\255]", "?") .. "'"
end

return failure
