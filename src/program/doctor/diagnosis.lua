-- SPDX-License-Identifier: Apache-2.0
-- What `perigee doctor` says: the JIT's events as text, with remedies.

local config = require("core.config")
local remedies = require("program.doctor.remedies")

local diagnosis = {}

local MOST_ROWS = 20
local RARE = 0.02 -- of the time of an app
local CHANCE = 1 -- so many samples say nothing: on a busy CPU an app has few
local COLUMNS = {"compiled", "interpreted", "c", "gc", "compiling"}

-- The text of a line of a file, without what is before and behind it, or nil.
local function source_line(file, number)
  local handle = io.open(file)
  if not handle then return end
  local at = 0
  for line in handle:lines() do
    at = at + 1
    if at == number then
      handle:close()
      return line:match("^%s*(.-)%s*$")
    end
  end
  handle:close()
end

-- Break the text into lines of at most 76 columns.
local function wrapped(text, indent)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if #indent + #line + #word > 76 then
      lines[#lines + 1], line = indent .. line, ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = indent .. line
  return table.concat(lines, "\n")
end

local function add_list(lines, what, list)
  if #list == 0 then return end
  lines[#lines + 1] = wrapped(what .. ": " .. table.concat(list, ", "), "  ")
end

-- Where the user's own files call the line, if it isn't in one of them.
local function callers_elsewhere(cause)
  local list = {}
  for _, caller in ipairs(cause.callers) do
    if caller:match("^(.*):%d+$") ~= cause.file then list[#list + 1] = caller end
  end
  return list
end

local function cause_text(cause)
  local lines = {("%s:%d: %s"):format(cause.file, cause.line, cause.reason)}
  local source = source_line(cause.file, cause.line)
  lines[#lines + 1] = source and "    " .. source
  add_list(lines, "app", cause.apps)
  add_list(lines, "task", cause.tasks or {})
  add_list(lines, "called from", callers_elsewhere(cause))
  if cause.region then lines[#lines + 1] = "  in the " .. cause.region end
  lines[#lines + 1] = ("  seen %d time%s"):format(cause.count,
    cause.count == 1 and "" or "s")
  add_list(lines, "interpreted from now on (blacklisted)", cause.given_up)
  lines[#lines + 1] = wrapped("remedy: " .. remedies.of(cause.reason), "  ")
  return table.concat(lines, "\n")
end

local function percent(part, whole)
  return ("%.1f %%"):format(whole > 0 and 100 * part / whole or 0)
end

local ROW = "%-32s %8s %9s %12s %7s %7s %10s"

local function row_text(name, row, samples)
  local shares = {}
  for i, column in ipairs(COLUMNS) do shares[i] = percent(row[column], row.samples) end
  return ROW:format("  " .. name, percent(row.samples, samples), unpack(shares))
end

local function profile_text(samples, rows)
  local lines = {ROW:format("time of the CPU", "share", "compiled", "interpreted",
    "in C", "GC", "compiling")}
  local names = config.sorted_keys(rows)
  table.sort(names, function (a, b)
    if rows[a].samples == rows[b].samples then return a < b end
    return rows[a].samples > rows[b].samples
  end)
  for i = 1, math.min(#names, MOST_ROWS) do
    lines[#lines + 1] = row_text(names[i], rows[names[i]], samples)
  end
  if #names > MOST_ROWS then
    lines[#lines + 1] = ("  and %d others, each less"):format(#names - MOST_ROWS)
  end
  return table.concat(lines, "\n")
end

local function is_outside(row)
  local outside = row.interpreted + row.c
  return outside > CHANCE and outside > RARE * row.samples
end

-- Nothing is given up, and the apps' time goes to compiled code all the same: a way
-- out of a trace, or an abort, that is hardly ever met.
local function is_rare(cause, rows)
  if not rows or cause.kind == "stitch" or #cause.given_up > 0 then return false end
  local names = {cause.region}
  for _, app in ipairs(cause.apps) do names[#names + 1] = "app '" .. app .. "'" end
  for _, name in ipairs(names) do
    local row = rows[name]
    if row and is_outside(row) then return false end
  end
  return true
end

-- Of the causes those that count, by the profile (rows as from core.watch.profile, or
-- nil).
local function counting(causes, rows)
  local list = {}
  for _, cause in ipairs(causes) do
    if not is_rare(cause, rows) then list[#list + 1] = cause end
  end
  return list
end

-- Has it come to the profile? (Tasks have none.)
local function was_examined(examination)
  return examination.rows ~= nil or examination.unknown ~= nil
end

-- The last line: is it clean?
local function verdict(examination, n)
  local unknown = examination.unknown or {}
  if n > 0 then
    return ("The packet path is not clean: %d line%s to blame."):format(n,
      n == 1 and " is" or "s are")
  elseif #unknown > 0 then
    return ("Nothing was found, but these tasks didn't end, so nothing is known of "
      .. "them: %s. Their loops are to ask running()."):format(
      table.concat(unknown, ", "))
  end
  if examination.interrupted then return "Nothing was found so far." end
  if not was_examined(examination) then
    return "Nothing was found, but that isn't enough to call the packet path clean: "
      .. "give the program more to do, or --duration less."
  end
  return "The packet path is clean."
end

-- Lists that are empty are left out: they would be objects in JSON.
local function list(t) return t and #t > 0 and t or nil end

local function cause_of(cause)
  return {
    file = cause.file, line = cause.line, reason = cause.reason, count = cause.count,
    source = source_line(cause.file, cause.line), apps = list(cause.apps),
    tasks = list(cause.tasks), called_from = list(callers_elsewhere(cause)),
    region = cause.region, blacklisted = list(cause.given_up),
    remedy = remedies.of(cause.reason),
  }
end

local function profile_of(samples, rows)
  local parts = {}
  for name, row in pairs(rows) do
    parts[name] = {samples = row.samples}
    for _, column in ipairs(COLUMNS) do parts[name][column] = row[column] end
  end
  return {samples = samples, parts = parts}
end

--- The same as text() says, as a table for JSON: clean (is it known to be?),
--- interrupted, traces, flushes, aborts, aborts_on_path, causes (what is to blame),
--- profile (samples, also by app and region) and unknown (tasks that nothing is known
--- of); what there is none of is left out.
function diagnosis.report(examination)
  local found, causes = examination.listened, {}
  for i, cause in ipairs(counting(found.causes, examination.rows)) do
    causes[i] = cause_of(cause)
  end
  local unknown = list(examination.unknown)
  return {
    report = "doctor",
    clean = #causes == 0 and not unknown and not examination.interrupted
      and was_examined(examination),
    interrupted = examination.interrupted or nil, traces = found.traces,
    flushes = found.flushes, aborts = found.aborts, aborts_on_path = found.on_path,
    causes = list(causes), unknown = unknown,
    profile = examination.rows and profile_of(examination.samples, examination.rows),
  }
end

--- All that is to be said about an examination: {listened = as from
--- core.watch.examination, samples and rows as from core.watch.profile, or nil;
--- interrupted = by what and when, or false; unknown = names of the tasks that nothing
--- is known of, or nil where there are no tasks, which aren't profiled}.
function diagnosis.text(examination)
  local found, parts = examination.listened, {}
  parts[1] = ("jit: %d traces, %d flushes, %d aborts, %d of them on the packet path")
    :format(found.traces, found.flushes, found.aborts, found.on_path)
  if examination.rows then
    parts[#parts + 1] = profile_text(examination.samples, examination.rows)
  elseif not was_examined(examination) then
    parts[#parts + 1] = "The program ended before it could be profiled."
  end
  if examination.interrupted then
    parts[#parts + 1] = ("The examination was interrupted by %s: what follows is of "
      .. "that time only."):format(examination.interrupted)
  end
  local causes = counting(found.causes, examination.rows)
  for _, cause in ipairs(causes) do parts[#parts + 1] = cause_text(cause) end
  parts[#parts + 1] = verdict(examination, #causes)
  return table.concat(parts, "\n\n") .. "\n"
end

return diagnosis
