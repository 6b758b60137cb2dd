-- SPDX-License-Identifier: Apache-2.0
-- Calls of Lua's functions, and what comes of them: for specs, to compare the functions
-- that families replace with the originals. It needs nothing but Lua: a fresh Lua state
-- runs it, and so does the binary of Snabb.

local M = {}

--- The calls, by group. `pack` there takes results, `ffi` is the FFI, `A` an array of 8
--- bytes, `with` makes a table with such a metatable.
M.calls = {
  -- As in any LuaJIT.
  lua = {
    "pack(assert(1))", "pack(assert('x'))", "pack(assert(1, nil))",
    "pack(assert(1, nil, 3))", "pack(assert(1, 2, nil))", "pack(assert(1, nil, nil))",
    "local t = {} table.insert(t, assert('x')) pack(#t, t[1])",
    "pack(string.char(assert(65)))", "pack(tonumber(assert('12')))",
    "pack(tostring(assert(5)))", "pack(('ab'):rep(assert(2)))",
    "pack(setmetatable({}, assert({})))", "pack(ffi.new('uint8_t[?]', assert(2)))",
    "pack(#{assert(1, 2, 3)})", "pack(assert())", "pack(assert(nil))",
    "pack(assert(false))", "pack(assert(false, 'why'))", "pack(assert(nil, 'why', 3))",
    "pack(assert(nil, 7))",
    "local function f(...) return assert(...) end pack(f())",
    "local function f(...) return assert(...) end pack(f(1, nil, 3))",
    "pack(pairs({}))", "pack(pairs({}, 1))", "pack(pairs())", "pack(pairs(nil))",
    "pack(pairs('x'))", "local function f(x) return pairs(x) end pack(f({}))",
    "local n = 0 for k, v in pairs{5, x = 6} do n = n + v end pack(n)",
    "pack(ipairs({}))", "pack(ipairs())", "pack(ipairs(nil))", "pack(ipairs(1))",
    "local n = 0 for i, v in ipairs{5, 6, nil, 7} do n = n + v end pack(n)",
    "pack(next({}))", "pack(next({5}))", "pack(next({5}, 1))", "pack(next())",
    "pack(next({}, 3))",
    "pack(ffi.copy(A, 'abc'))", "pack(ffi.copy(A, 'abc', 2))", "pack(ffi.copy())",
    "pack(ffi.copy(A))", "pack(ffi.copy(1, A, 2))", "pack(ffi.copy(A, 1, 2))",
    "pack(ffi.copy(A, A))", "pack(ffi.copy(A, A, 2, 3))", "pack(ffi.copy(A, A, {}))",
    "local c = ffi.copy pack(c(1))", "local f = {c = ffi.copy} pack(f.c(1))",
    "ffi.copy(A, 'xyz', 3) pack(A[0], A[2])",
    "local function f() return ffi.copy(A, 'uvw', 3) end pack(f())",
    "pack(ffi.fill(A, 2))", "pack(ffi.fill(A, 2, 7))", "pack(ffi.fill(A))",
    "pack(ffi.fill())", "pack(ffi.fill(nil))", "pack(ffi.fill(A, 'x'))",
    "pack(ffi.fill(A, 2, {}))", "ffi.fill(A, 8, 7) ffi.fill(A, 2) pack(A[1], A[2])",
    "pack(os.execute)", "pack(os.exit)", "pack(string.len('abc'))",
    "pack(table.remove({1, 2}))", "pack(unpack({1, nil, 3}, 1, 3))",
    "pack(select('#', nil, nil))", "pack(tostring(nil))", "pack(tonumber('z', 36))",
  },
  -- Where Lua is LuaJIT's own: not with -p and --snabb, nor with Snabb's.
  lua51 = {
    "pack(os.execute())", "pack(os.execute('exit 3'))", "pack(io.write(''))",
    "pack(io.stdout:write(''))", "pack(io.popen('exit 3'):close())",
    "pack(io.close(io.popen('true')))",
    "pack(pairs(with{__pairs = function() return 1, 2, 3 end}))",
  },
  -- As Snabb's LuaJIT has them, in its 5.2 mode, with what came of them there.
  lua52 = {
    {"pack(os.execute())", "1: true"},
    {"pack(os.execute(nil))", "1: true"},
    {"pack(os.execute('true'))", "3: true, exit, 0"},
    {"pack(os.execute('exit 3'))", "3: nil, exit, 3"},
    {"pack(os.execute('kill -9 $$'))", "3: nil, signal, 9"},
    {"pack(os.execute({}))",
      "error: call:1: bad argument #1 to 'execute' (string expected, got table)"},
    {"pack(os.execute('true', 2))", "3: true, exit, 0"},
    {"pack(io.write(''))", "1: file (0x)"},
    {"pack(io.write('', 1 * 0 == 1 and 'x' or ''))", "1: file (0x)"},
    {"pack(io.write() == io.output())", "1: true"},
    {"pack(io.write(nil))",
      "error: call:1: bad argument #1 to 'write' (string expected, got nil)"},
    {"pack(io.write('', {}))",
      "error: call:1: bad argument #2 to 'write' (string expected, got table)"},
    {"pack(io.stdout:write())", "1: file (0x)"},
    {"pack(io.stdout:write('', '') == io.stdout)", "1: true"},
    {"pack(io.stdout:write(nil))",
      "error: call:1: bad argument #1 to 'write' (string expected, got nil)"},
    {"pack(io.stdout.write(io.stdout, nil))",
      "error: call:1: bad argument #2 to 'write' (string expected, got nil)"},
    {"pack(io.stdout.write(nil))",
      "error: call:1: bad argument #1 to 'write' (FILE* expected, got nil)"},
    {"pack(io.stdout.write())",
      "error: call:1: bad argument #1 to 'write' (FILE* expected, got nil)"},
    {"pack(io.open('/dev/null'):write('x'))", "3: nil, Bad file descriptor, 9"},
    {"local f = io.open('/dev/full', 'w') f:setvbuf('no') pack(f:write('x'))",
      "3: nil, No space left on device, 28"},
    {"local function f() return io.stdout:write('') end pack(f())", "1: file (0x)"},
    {"pack(io.popen('true'):close())", "3: true, exit, 0"},
    {"pack(io.popen('exit 3'):close())", "3: nil, exit, 3"},
    {"pack(io.close(io.popen('exit 3')))", "3: nil, exit, 3"},
    {"pack(io.popen('kill -9 $$'):close())", "3: nil, signal, 9"},
    {"pack(io.open('/dev/null'):close())", "1: true"},
    {"pack(io.close(io.open('/dev/null')))", "1: true"},
    {"local f = io.open('/dev/null') f:close() pack(f:close())",
      "error: call:1: attempt to use a closed file"},
    {"local f = io.open('/dev/null') f:close() pack(f:write('x'))",
      "error: call:1: attempt to use a closed file"},
    {"pack(io.close(1))",
      "error: call:1: bad argument #1 to 'close' (FILE* expected, got number)"},
    {"pack(io.stdout.close())", "2: nil, cannot close standard file"},
    {"pack(table.pack())", "1: table: 0x"},
    {"pack(table.pack(nil, 2, nil).n)", "1: 3"},
    {"pack(table.pack(1, 2)[2])", "1: 2"},
    {"pack(table.unpack({1, nil, 3}, 1, 3))", "3: 1, nil, 3"},
    {"pack(table.unpack({1, 2}))", "2: 1, 2"},
    {"pack(pairs(with{__pairs = function() return 1, 2, 3 end}))", "3: 1, 2, 3"},
    {"pack(pairs(with{__pairs = function(t) return next, {7}, nil end}))",
      "3: function: 0x, table: 0x, nil"},
    {"pack(pairs(with{__pairs = function() return 1, nil, 3 end}))", "3: 1, nil, 3"},
    {"pack(pairs(with{__metatable = 'no', __pairs = function() return 1, 2, 3 end}))",
      "3: 1, 2, 3"},
    {"local t = with{__pairs = function() error('why', 0) end} pack(pairs(t))",
      "error: why"},
    {"pack(ipairs(with{__ipairs = function() return 1, 2, 3 end}))", "3: 1, 2, 3"},
    {"pack(rawlen({1, 2}))", "1: 2"},
    {"pack(rawlen('abc'))", "1: 3"},
    {"pack(rawlen(5))",
      "error: call:1: bad argument #1 to 'rawlen' (table expected, got number)"},
    {"pack(rawlen(with{__len = function() return 7 end}))", "1: 0"},
    {"pack(package.searchers == package.loaders)", "1: true"},
    {"pack(('a,b'):split(','))", "2: function: 0x, a,b"},
    {"local f, s = ('a,b'):split(',') pack(f(s))", "2: a, ,"},
    {"local f, s = ('a,b'):split(',') f(s) pack(f(s))", "2: b, nil"},
    {"local f, s = ('a,b'):split(',') f(s) f(s) pack(f(s))", "0: "},
    {"local f, s = (''):split(',') pack(f(s))", "2: , nil"},
    {"local f, s = (',a'):split(',') pack(f(s))", "2: , ,"},
    {"local f, s = ('a1b'):split('(%d)') pack(f(s))", "2: a, 1"},
    {"local t = {} for s in ('a b c'):split(' +') do t[#t + 1] = s end pack(unpack(t))",
      "3: a, b, c"},
    {"pack(assert(nil, with{__tostring = function() return 'text' end}))",
      "error: call:1: text"},
  },
  -- The FFI that scripts of libmoon's have.
  ffi = {
    "pack(ffi.typeof('int'))", "pack(ffi.typeof('int', 1))", "pack(ffi.typeof())",
    "pack(ffi.typeof('nonesuch'))", "pack(ffi.typeof('int[$]', 3))",
    "pack(ffi.typeof(1))",
    "pack(ffi.typeof(ffi.typeof('int')))", "pack(ffi.typeof(A))",
    "pack(ffi.cast('int', 3.5))", "pack(ffi.cast('int'))", "pack(ffi.cast())",
    "pack(ffi.cast('int', {}))", "pack(ffi.cast('void *', nil) == nil)",
    "pack(ffi.cast('nonesuch', 1))", "pack(ffi.cast('int', 1, 2))",
    "pack(ffi.cast(ffi.typeof('int'), 1))", "pack(ffi.cast(1, 2))",
    "local function f() return ffi.cast('int', {}) end pack(f())",
    "pack(ffi.new('int'))", "pack(ffi.new('int[?]', 2))", "pack(ffi.new('int[?]'))",
    "pack(ffi.new('struct {int a, b;}', 1, 2).b)", "pack(ffi.new('int[3]', 1, nil))",
    "pack(ffi.new())", "pack(ffi.new('nonesuch'))", "pack(ffi.new('int[2]', 1, 2, 3))",
    "pack(ffi.new('int[3]', 1, 2, 3)[2])", "pack(ffi.new('int', {}, 1))",
    "pack(ffi.istype('int', 1))", "pack(ffi.istype('int'))", "pack(ffi.istype())",
    "pack(ffi.istype('uint8_t[8]', A))", "pack(ffi.istype('nonesuch', A))",
    "pack(ffi.sizeof('int'))", "pack(ffi.sizeof('int[?]', 3))",
    "pack(ffi.sizeof('int[?]'))",
    "pack(ffi.sizeof('int[?]', nil))", "pack(ffi.sizeof(A))", "pack(ffi.sizeof())",
    "pack(ffi.sizeof('nonesuch'))", "pack(ffi.sizeof('int', 1, 2))",
    "pack(ffi.offsetof('struct {int a, b;}', 'b'))", "pack(ffi.offsetof('int'))",
    "pack(ffi.offsetof('struct {int a:3, b:4;}', 'b'))", "pack(ffi.offsetof())",
    "pack(ffi.offsetof('struct {int a;}', 'z'))", "pack(ffi.offsetof('nonesuch', 'a'))",
    "pack(ffi.alignof('int'))", "pack(ffi.alignof(A))", "pack(ffi.alignof())",
    "pack(ffi.alignof('nonesuch'))",
    "pack(ffi.cdef('int getpid(void);'))", "pack(ffi.cdef())", "pack(ffi.cdef(1))",
    "pack(ffi.cdef({}))", "pack(ffi.cdef('nonesuch x;'))", "pack(ffi.cdef('int x'))",
    "pack(ffi.cdef('int $(void);', 'getppid'))",
    "pack(ffi.metatype('struct {int spec_a;}', {}))", "pack(ffi.metatype('int', {}))",
    "pack(ffi.metatype('struct {int spec_b;}'))", "pack(ffi.metatype())",
    "pack(ffi.metatype('nonesuch', {}))", "pack(ffi.metatype('struct {int c;}', 1))",
    "pack(ffi.load('c.so.6'))", "pack(ffi.load('libc.so.6', false))",
    "pack(ffi.load())",
    "pack(ffi.load({}))", "pack(ffi.string(A, 0))",
  },
}

local function shown(value)
  return (tostring(value):gsub("0x%x+", "0x"):gsub("builtin#%d+", "0x")
    :gsub("struct %d+", "struct"):gsub("got no value", "got nil"))
end

--- What comes of the code: the results given to pack(), or the error.
function M.evaluate(code)
  local ffi, results = require("ffi"), {}
  local env = {ffi = ffi, A = ffi.new("uint8_t[8]")}
  env["with"] = function (meta) return setmetatable({}, meta) end
  function env.pack(...)
    for i = 1, select("#", ...) do results[i] = shown((select(i, ...))) end
    results.done = true
  end
  local f = loadstring(code, "=call")
  setmetatable(env, {__index = _G})
  local ok, why = pcall(setfenv(f, env))
  if not ok then return "error: " .. shown(why) end
  local count = results.done and #results or "not packed"
  return count .. ": " .. table.concat(results, ", ")
end

local LIBRARIES = {"string", "table", "math", "io", "os", "debug", "coroutine", "bit"}

-- The names of the functions in the table `t` that aren't LuaJIT's.
local function replaced_in(t, prefix, list)
  for name, value in next, t do
    local source = type(value) == "function" and debug.getinfo(value, "S").source
    if source and source:match("^@") then list[#list + 1] = prefix .. name end
  end
end

--- The names of Lua's functions that aren't LuaJIT's own here, in order.
function M.replaced()
  local list, globals = {}, {}
  for name in ([[assert collectgarbage dofile error getfenv getmetatable ipairs load
      loadfile loadstring next newproxy pairs pcall print rawequal rawget rawset require
      select setfenv setmetatable tonumber tostring type unpack xpcall rawlen]])
      :gmatch("%S+") do
    globals[name] = rawget(_G, name)
  end
  replaced_in(globals, "", list)
  for _, name in ipairs(LIBRARIES) do replaced_in(_G[name], name .. ".", list) end
  replaced_in(require("ffi"), "ffi.", list)
  replaced_in(getmetatable(io.stdout).__index, "file:", list)
  table.sort(list)
  return list
end

--- All lines of the groups: "CODE -> RESULT".
function M.lines(groups)
  local list = {}
  for _, group in ipairs(groups) do
    for _, call in ipairs(M.calls[group]) do
      local code = type(call) == "table" and call[1] or call
      list[#list + 1] = code .. " -> " .. M.evaluate(code)
    end
  end
  return list
end

return M
