-- SPDX-License-Identifier: Apache-2.0
-- What a replicator says of its peers: each sentence once, however often one connects
-- and is refused, until all goes well again.

local log = require("core.lib.log")

local Once = {}
Once.__index = Once

local MOST = 64 -- sentences remembered; peers without the token may make many

--- For the replicator of that name.
local function new(name) return setmetatable({name = name, said = {}, n = 0}, Once) end

local function say(self, write, format, ...)
  local text = format:format(...)
  if self.said[text] then return end
  if self.n == MOST then self:forget() end
  self.said[text], self.n = true, self.n + 1
  write("%s: %s", self.name, text)
end

--- Say it, if it wasn't said: as information, or as a warning.
function Once:info(...) say(self, log.info, ...) end
function Once:warning(...) say(self, log.warning, ...) end

--- All may be said again.
function Once:forget() self.said, self.n = {}, 0 end

return {new = new}
