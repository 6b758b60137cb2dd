-- SPDX-License-Identifier: Apache-2.0
-- IP6Fragmenter separates packets that are too long for a link. No router cuts IPv6
-- packets (RFC 8200, section 5): each counts as one that mustn't be cut.

local element = require("click.element")

local IP6Fragmenter = element.define{
  name = "IP6Fragmenter", summary = "separates IPv6 packets that are too long",
  division = "any",
  ports = "1/1-2", processing = "h/h", drops = {"too long"}, reads = {}, lengthens = 0,
  arguments = {{"MTU", "unsigned", required = true}},
  handlers = {
    drops = element.data("drops_here"), fragments = {read = function () return 0 end},
  },
  differs = "What is too long goes to output 1, for an ICMP6Error; Click loses it.",
}

function IP6Fragmenter:configure(a) self.mtu, self.drops_here = a.MTU, 0 end

function IP6Fragmenter:process(p)
  if p.length <= self.mtu then return p end
  self.drops_here = self.drops_here + 1
  if self.noutputs > 1 then return p, 2 end
  return nil, 1
end

return {IP6Fragmenter}
