-- SPDX-License-Identifier: Apache-2.0
-- For --check: link.transmit and link.receive.

local record = require("core.check.record")

local links = {}

--- Let the functions of core.link look after packets.
function links.guard(link)
  local new, free = link.new, link.free
  local receive, transmit = link.receive, link.transmit

  function link.new(name, half)
    local l = new(name, half)
    record.add_link(l, name)
    return l
  end

  function link.free(l, name, later)
    local lost = free(l, name, later)
    record.remove_link(l)
    return lost
  end

  function link.receive(l)
    if bit.tobit(l.write - bit.tobit(l.read)) == 0 then
      record.misuse("link.receive: %s is empty; ask link.empty or link.nreadable "
        .. "before", record.link_name(l))
    end
    local p = link.front(l)
    record.check_use(p, "link.receive from " .. record.link_name(l))
    record.check_sound(p, "link.receive from " .. record.link_name(l))
    receive(l)
    record.set(p, "held", "received it from " .. record.link_name(l))
    return p
  end

  function link.transmit(l, p)
    local doing = "link.transmit to " .. record.link_name(l)
    record.check_own(p, doing)
    record.check_sound(p, doing)
    local dropped = l.txdrop
    transmit(l, p) -- which frees it, if the link is full
    if l.txdrop == dropped then
      record.put_into(record.set(p, "link", "sent it to " .. record.link_name(l)), l)
    end
  end
end

jit.off(true, true)

return links
