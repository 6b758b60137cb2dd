-- SPDX-License-Identifier: Apache-2.0
-- Trials of `perigee loadtest` as figures (lib.picture.plot_file). Pure.

local plot = {}

local GIGA = 1e9

-- The greatest loss of a trial's streams, in percent.
local function loss_of(trial)
  local most = 0
  for _, s in ipairs(trial.streams) do
    if s.loss == s.loss then most = math.max(most, 100 * s.loss) end
  end
  return most
end

local function sum(trial, key)
  local n = 0
  for _, s in ipairs(trial.streams) do n = n + s[key] end
  return n
end

local function by_rate(trials)
  local points = {}
  for _, trial in ipairs(trials) do
    if not trial.void then
      points[#points + 1] = {trial.rate / GIGA, loss_of(trial)}
    end
  end
  table.sort(points, function (a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return points
end

--- Of a search: `results` is a list of {size, trials, limit in bit/s or nil}. What was
--- lost by rate, and the limits by size.
function plot.search(results)
  local losses, limits = {}, {}
  for i, r in ipairs(results) do
    losses[i] = {name = r.size and ("%d bytes"):format(r.size) or "trials",
      points = by_rate(r.trials)}
    if r.size and r.limit then limits[#limits + 1] = {r.size, r.limit / GIGA} end
  end
  return {
    {title = "Packets lost by rate", series = losses, x = "rate, Gbit/s on the wire",
      y = "percent lost", caption = "Each point is a trial; of several streams the one "
        .. "that lost most. Trials that were void, as this machine was late, aren't "
        .. "drawn."},
    {title = "Limit by size of frame", series = {{name = "limit", points = limits}},
      x = "bytes of a frame", y = "Gbit/s on the wire"},
  }
end

--- Of rates that are applied one after the other, each for `seconds`: what was sent,
--- received and lost over time.
function plot.course(trials, seconds)
  local sent, received, lost = {}, {}, {}
  for i, trial in ipairs(trials) do
    local time = (i - 1) * seconds
    sent[i] = {time, sum(trial, "tx_rate") / GIGA}
    received[i] = {time, sum(trial, "rx_rate") / GIGA}
    lost[i] = {time, loss_of(trial)}
  end
  return {
    {title = "Rates over time", series = {{name = "sent", points = sent},
      {name = "received", points = received}}, x = "seconds of trials", y = "Gbit/s"},
    {title = "Packets lost over time", series = {{name = "lost", points = lost}},
      x = "seconds of trials", y = "percent"},
  }
end

return plot
