-- SPDX-License-Identifier: Apache-2.0
-- Many strings or regular expressions, looked for in packets at once, by Hyperscan
-- (https://intel.github.io/hyperscan/dev-reference).

local ffi = require("ffi")
local C = require("core.declare")("native/patterns.h")

ffi.cdef[[
typedef struct { char *message; int expression; } hs_compile_error_t;
int hs_compile_multi(const char *const *expressions, const unsigned *flags,
  const unsigned *ids, unsigned elements, unsigned mode, const void *platform,
  void **db, hs_compile_error_t **error);
int hs_compile_lit_multi(const char *const *expressions, const unsigned *flags,
  const unsigned *ids, const size_t *lens, unsigned elements, unsigned mode,
  const void *platform, void **db, hs_compile_error_t **error);
int hs_free_compile_error(hs_compile_error_t *error);
int hs_alloc_scratch(const void *db, void **scratch);
int hs_free_scratch(void *scratch);
int hs_free_database(void *db);
int hs_scan(const void *db, const char *data, unsigned length, unsigned flags,
  void *scratch, int (*)(unsigned, unsigned long long, unsigned long long, unsigned,
  void *), void *context);
int hs_open_stream(const void *db, unsigned flags, void **stream);
int hs_scan_stream(void *stream, const char *data, unsigned length, unsigned flags,
  void *scratch, int (*)(unsigned, unsigned long long, unsigned long long, unsigned,
  void *), void *context);
int hs_close_stream(void *stream, void *scratch, int (*)(unsigned, unsigned long long,
  unsigned long long, unsigned, void *), void *context);
]]

local MODE_BLOCK, MODE_STREAM, ONCE, MAY_BE_EMPTY = 1, 2, 8, 16 -- HS_MODE_, HS_FLAG_

local patterns = {}

local Patterns = {}
Patterns.__index = Patterns

local library

local function load()
  if not library then
    local ok, found = pcall(ffi.load, "libhs.so.5")
    library = ok and found
  end
  return library
end

-- Hyperscan's call for strings takes one that begins with a zero byte for an empty one
-- (5.4.2). Beside such a one strings are compiled as expressions, in which bytes other
-- than letters and digits stand as numbers.
local function zero_first(list)
  for _, text in ipairs(list) do
    if text:byte() == 0 then return true end
  end
  return false
end

local function as_expression(text)
  return (text:gsub("[^%w]", function (c)
    return ("\\x%02x"):format(c:byte())
  end))
end

local function as_expressions(list)
  local expressions = {}
  for i, text in ipairs(list) do expressions[i] = as_expression(text) end
  return expressions
end

-- Compile; true, if Hyperscan has told a problem. `streams`: flags, for patterns that
-- are looked for in streams.
local function compile(hs, list, literal, streams, database, problem)
  local flag = streams or literal and ONCE or ONCE + MAY_BE_EMPTY
  local mode = streams and MODE_STREAM or MODE_BLOCK
  if literal and zero_first(list) then list, literal = as_expressions(list), false end
  local n = #list
  local texts, ids = ffi.new("const char *[?]", n), ffi.new("unsigned[?]", n)
  local flags, sizes = ffi.new("unsigned[?]", n), ffi.new("size_t[?]", n)
  for i, text in ipairs(list) do
    texts[i - 1], ids[i - 1], sizes[i - 1] = text, i - 1, #text
    flags[i - 1] = flag
  end
  local status
  if literal then
    status = hs.hs_compile_lit_multi(texts, flags, ids, sizes, n, mode, nil,
      database, problem)
  else
    status = hs.hs_compile_multi(texts, flags, ids, n, mode, nil, database, problem)
  end
  return status ~= 0
end

-- What is wrong, and with which pattern (from 1; nil: with none in particular).
local function explain(hs, problem)
  if problem[0] == nil then return "Hyperscan has no memory" end
  local message, number = ffi.string(problem[0].message), problem[0].expression
  hs.hs_free_compile_error(problem[0])
  return message, number >= 0 and number + 1 or nil
end

--- The strings (if `literal`) or regular expressions of the list, to be looked for; or
--- nil, what is wrong, and the number of the pattern it is wrong with, if it is one.
--- Expressions are those of RE2 and PCRE that need no memory of what they matched.
--- `streams`: Hyperscan's flags, of patterns for open_stream().
function patterns.new(list, literal, streams)
  local hs = load()
  if not hs then
    return nil, "it takes Hyperscan to look for patterns: install libhyperscan5"
  end
  for i, text in ipairs(list) do
    if text == "" then return nil, "an empty pattern", i end
    if not literal and text:find("\0", 1, true) then
      return nil, "a regular expression with a zero byte; write \\x00", i
    end
  end
  local out, problem = ffi.new("void *[1]"), ffi.new("hs_compile_error_t *[1]")
  if compile(hs, list, literal, streams, out, problem) then
    return nil, explain(hs, problem)
  end
  local database, scratch = ffi.gc(out[0], hs.hs_free_database), ffi.new("void *[1]")
  if hs.hs_alloc_scratch(database, scratch) ~= 0 then
    return nil, "Hyperscan has no memory"
  end
  local self = setmetatable({database = database, n = #list,
    scratch = ffi.gc(scratch[0], hs.hs_free_scratch)}, Patterns)
  local scan = streams and hs.hs_scan_stream or hs.hs_scan
  self.c = ffi.new("struct patterns", ffi.cast("void *", scan), database, self.scratch)
  return self
end

--- Does one of them occur in the `n` bytes from `data` on?
function Patterns:any(data, n) return C.pg_patterns_any(self.c, data, n) ~= 0 end

--- Do all?
function Patterns:all(data, n)
  return C.pg_patterns_count(self.c, data, n) == self.n
end

--- The number of the first that does, from 1 on; or 0.
function Patterns:first(data, n) return C.pg_patterns_first(self.c, data, n) end

local stream = ffi.new("void *[1]")

--- A stream of bytes to look for the patterns in, a pointer for close_stream(); nil:
--- there is no memory.
function Patterns:open_stream()
  if library.hs_open_stream(self.database, 0, stream) ~= 0 then return nil end
  return stream[0]
end

--- Give it back.
function Patterns:close_stream(s)
  library.hs_close_stream(s, self.scratch, nil, nil)
end

--- How often do patterns end in the stream's next bytes?
function Patterns:continue(s, data, n)
  self.c.database = s
  return C.pg_patterns_count(self.c, data, n)
end

return patterns
