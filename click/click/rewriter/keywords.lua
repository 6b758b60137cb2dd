-- SPDX-License-Identifier: Apache-2.0
-- The keywords of rewriters, and what their pages say (click.pages.element).

local keywords = {}

local function seconds(name, meaning)
  return {name, "seconds", keyword = true, meaning = meaning}
end

--- The keywords of a class, which has its own `times`: {NAME, what it says}.
function keywords.of(class)
  local list, known = {}, {}
  local function add(spec)
    if not known[spec[1]] then list[#list + 1], known[spec[1]] = spec, true end
  end
  for _, time in ipairs(class.times or {}) do add(seconds(time[1], time[2])) end
  add(seconds("TIMEOUT", "how long a flow lives without packets"))
  add(seconds("GUARANTEE", "how long a new flow can't be pushed out, default 5"))
  add(seconds("REAP_INTERVAL", "how often old flows are removed, default 900"))
  add(seconds("REAP_TIME", "the same, an old name"))
  add{"CAPACITY", "word", keyword = true, meaning =
    "flows at most, or the name of the rewriter whose capacity it shares"}
  add{"MAPPING_CAPACITY", "word", keyword = true, meaning = "the same, and goes first"}
  add{"USE_CACHE", "bool", keyword = true, meaning = "changes nothing here"}
  add{"SET_AGGREGATE", "bool", default = false, keyword = true, meaning =
    "note the flow's number of each packet"}
  add{"HANDLE_MIGRATION", "bool", keyword = true, meaning = "changes nothing here"}
  add{"DST_ANNO", "bool", default = true, keyword = true, meaning =
    "note the new destination, for what sends on"}
  add{"REPLY_ANNO", "anno", size = 1, keyword = true, meaning =
    "replies get there what the flow's first packet had"}
  return list
end

--- What an INPUT may be.
keywords.NOTES = [[
There is an INPUT for each input port, which says what becomes of packets that belong
to no flow yet:
  drop                        they are dropped
  nochange [OUTPUT]           they pass as they are
  keep FORWARD REPLY          a flow begins, and nothing changes
  pattern SADDR SPORT DADDR DPORT FORWARD REPLY
      a flow begins: SADDR SPORT are its new source, DADDR DPORT its new destination;
      "-" leaves a field as it is. SPORT may be a range, 1024-65535: the packet's own
      port if that is free; with "#" behind it one after the other, with "?" by chance.
      Without the ports, SADDR may be a range of addresses
  pattern NAME FORWARD REPLY  the same, as IPRewriterPatterns says
  ELEMENT                     as a mapper says, such as RoundRobinIPMapper
FORWARD is the output of the flow's packets, REPLY that of packets the other way, which
may come by any input. A fragment behind the first has no ports: let an IPReassembler
be in front, and an IPFragmenter behind.]]

return keywords
