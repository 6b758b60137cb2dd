-- SPDX-License-Identifier: Apache-2.0
-- Ports that take turns by tickets (stride scheduling), for StrideSched and
-- StrideSwitch: `clients` is a linked list, the port whose turn is next first.

local strides = {}

local STRIDE = 65536
local MOST_TICKETS = 32768

-- Behind those whose pass is less; before those that are as late.
local function insert(clients, client)
  local before, at = nil, clients.first
  while at and client.pass > at.pass do before, at = at, at.next end
  client.next = at
  if before then before.next = client else clients.first = client end
end

local function remove(clients, client)
  local before, at = nil, clients.first
  while at and at ~= client do before, at = at, at.next end
  if not at then return end
  if before then before.next = client.next else clients.first = client.next end
end

local function set(client, tickets)
  client.tickets = tickets
  client.stride = tickets > 0 and STRIDE / tickets or 0
end

--- The first client has had its turn.
function strides.step(clients)
  local client = clients.first
  clients.first = client.next
  client.pass = client.pass + client.stride
  insert(clients, client)
end

--- The first for which use(client) returns something: that. Those asked have had their
--- turns.
function strides.find(clients, use)
  local found
  local asked, at = {}, clients.first
  while at and not found do
    found = use(at)
    asked[#asked + 1], at = at, at.next
  end
  clients.first = at
  for _, client in ipairs(asked) do
    client.pass = client.pass + client.stride
    insert(clients, client)
  end
  return found
end

local function tickets_of(self, text, i)
  local n = tonumber(text)
  if not n or n % 1 ~= 0 then
    return self:error("argument %d should be number of tickets (integer)", i)
  elseif n < 0 then
    return self:error("argument %d (number of tickets) must be >= 0", i)
  elseif n > MOST_TICKETS then
    self:warning("input %d's tickets reduced to %d", i, MOST_TICKETS)
    return MOST_TICKETS
  end
  return n
end

local function change(self, port, text)
  local client, n = self.clients[port], tonumber(text)
  if not n or n % 1 ~= 0 then return "tickets value must be integer" end
  if n < 0 then return "number of tickets must be >= 0" end
  local had = client.tickets
  set(client, math.min(n, MOST_TICKETS))
  if n == 0 then
    remove(self.clients, client)
  elseif had == 0 then
    local first = self.clients.first
    client.pass = first and first.pass + client.stride or 0
    insert(self.clients, client)
  end
end

--- Configure `self` from a list of tickets, one for each of `n` ports ("input" or
--- "output").
function strides.configure(self, list, n, kind)
  if #list ~= n then
    return self:error("need %d arguments, one per %s port", n, kind)
  end
  local clients = {}
  for port, text in ipairs(list) do
    local tickets = tickets_of(self, text, port - 1)
    if not tickets then return end
    clients[port] = {port = port, pass = 0}
    set(clients[port], tickets)
    clients[port].pass = clients[port].stride
    self:add_handler("tickets" .. port - 1, {
      read = function () return self.clients[port].tickets end,
      write = function (_, new) return change(self, port, new) end,
    })
  end
  for port = n, 1, -1 do
    if clients[port].tickets > 0 then insert(clients, clients[port]) end
  end
  self.clients = clients
end

local function read_config(self)
  local texts = {}
  for port, client in ipairs(self.clients) do texts[port] = client.tickets end
  return table.concat(texts, ", ")
end

--- The handlers of such classes.
strides.handlers = {config = {read = read_config}}

return strides
