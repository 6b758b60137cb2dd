-- SPDX-License-Identifier: Apache-2.0
-- What copies of an app on several CPUs send each other (native/kernels/news.c): keys
-- and values, up to 48 bits each, such as the address that was learned and where. They
-- see what others sent with their next packet, or when they look.

local ffi = require("ffi")
local C = require("core.native")

local news = {}

local News = {}
News.__index = News

--- The news that the copies share by the name; `who` tells them apart, a number. To be
--- closed.
function news.open(name, who)
  local shared = C.pg_news_open(name)
  if shared == nil then error("no memory for news of " .. name) end
  return setmetatable({shared = shared, who = who,
    at = ffi.new("uint64_t[1]", shared.told), key = ffi.new("uint64_t[1]"),
    value = ffi.new("uint64_t[1]")}, News)
end

--- Tell the others.
function News:tell(key, value) C.pg_news_tell(self.shared, self.who, key, value) end

--- Is there anything that hasn't been read?
function News:waits() return self.shared.told ~= self.at[0] end

--- What others have told next, a key and a value; nil: nothing more.
function News:next()
  if C.pg_news_next(self.shared, self.who, self.at, self.key, self.value) then
    return tonumber(self.key[0]), tonumber(self.value[0])
  end
end

--- May this copy ask for the key? Not if one has less than `pause` before `now`, a time
--- of a clock that all have.
function News:may_ask(key, now, pause)
  return C.pg_news_may_ask(self.shared, key, now, pause)
end

--- No more of this copy.
function News:close()
  C.pg_news_close(self.shared)
  self.shared = nil
end

return news
