-- SPDX-License-Identifier: Apache-2.0
-- What is wrong with a configuration, in Click's form: all of it, each line with the
-- position it is about, messages about one element below a line that names it:
--
--     gw.click:7: While configuring 'p :: Paint':
--       COLOR: out of range, bound 255
--
-- A collector (errors.new) counts and passes lines on as they come. Reporters put a
-- position (at) or a heading (context) before messages; the collector is a reporter
-- too. Messages quote with '...'; the quotes are typographic ones on terminals that
-- have them. Quotes within arguments stay.

local unistd = require("posix.unistd")

local chatter = require("click.chatter")

local errors = {}

local Reporter = {}
Reporter.__index = Reporter

-- Text -----------------------------------------------------------------------------

local function has_utf8_terminal(fd)
  local locale = os.getenv("LC_ALL") or ""
  if locale == "" then locale = os.getenv("LC_CTYPE") or "" end
  if locale == "" then locale = os.getenv("LANG") or "" end
  return locale:lower():match("utf%-?8") ~= nil and unistd.isatty(fd) ~= nil
end

local utf8_quotes

-- In `format`, 'x' where a word may begin becomes ‘x’.
local function with_quotes(format)
  if utf8_quotes == nil then utf8_quotes = has_utf8_terminal(2) end
  if not utf8_quotes then return format end
  return ((" " .. format):gsub("([%s%(%[<>=:,%-])'([^'\n]*)'", "%1‘%2’"):sub(2))
end

--- `format` with its arguments, as in string.format; its quotes are the terminal's.
function errors.format(format, ...)
  format = with_quotes(format)
  return select("#", ...) > 0 and format:format(...) or format
end

local function prefix_of(landmark)
  landmark = landmark and landmark:gsub("[%s:]+$", "") or ""
  return landmark == "" and "" or landmark .. ": "
end

-- Reporters ------------------------------------------------------------------------

-- Show the headings above a message about `landmark` that haven't been shown yet.
local function show_headings(self, landmark)
  if not self.parent then return end
  show_headings(self.parent, landmark)
  if self.heading and not self.heading_shown then
    self.heading_shown = true
    self.collector.line(prefix_of(self.parent.landmark or landmark)
      .. self.parent.indent .. self.heading)
  end
end

local function show(self, text)
  show_headings(self, self.landmark)
  local prefix = prefix_of(self.landmark) .. self.indent
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\n") do
    self.collector.line(prefix .. line)
  end
end

local function child(self, fields)
  fields.collector, fields.parent, fields.count = self.collector, self, 0
  return setmetatable(fields, Reporter)
end

--- A reporter whose messages are about `landmark` ("file:line").
function Reporter:at(landmark)
  return child(self, {landmark = landmark, indent = self.indent})
end

--- A reporter of messages indented below a heading, which appears with the first one.
--- The heading has this reporter's landmark, the messages have none.
function Reporter:context(format, ...)
  return child(self, {heading = errors.format(format, ...),
    indent = self.indent .. "  "})
end

--- Report an error. Returns nil.
function Reporter:error(format, ...)
  local reporter = self
  while reporter do
    reporter.count = reporter.count + 1
    reporter = reporter.parent
  end
  show(self, errors.format(format, ...))
end

--- Report what may be meant so, but is probably not.
function Reporter:warning(format, ...)
  if self.collector.quiet then return end
  self.collector.warnings = self.collector.warnings + 1
  show(self, "warning: " .. errors.format(format, ...))
end

--- Report a remark, such as one that belongs to the last error.
function Reporter:message(format, ...)
  show(self, errors.format(format, ...))
end

-- Collectors -----------------------------------------------------------------------

--- A collector of errors. `sink(line)` gets each line as it is reported, `lines` keeps
--- them; with `quiet` set it takes no warnings. Its `count` is that of errors, and
--- `warnings` that of warnings; reporters have a count, too, of what came by them.
function errors.new(sink)
  local collector = setmetatable({count = 0, warnings = 0, lines = {}, indent = ""},
    Reporter)
  collector.collector = collector
  function collector.line(text)
    table.insert(collector.lines, text)
    if sink then sink(text) end
  end
  return collector
end

--- All lines that the collector has had, each with a newline.
function Reporter:text()
  local lines = self.collector.lines
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

--- A collector that writes to standard error at once, after what was printed before.
function errors.to_stderr()
  return errors.new(chatter.say)
end

return errors
