-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr COMMAND`: the lightweight 4over6 address family transition router
-- (RFC 7596), border router of softwires. Each command is a module next to this one.

local M = {summary = "lightweight 4over6: run an lwAFTR, measure it, ask and change it"}

--- `run` and `bench` place queues on CPUs themselves.
M.own_cpus = true

--- What `perigee ps` is to call it.
function M.title(args) return "lwaftr " .. (args[1] or "") end

M.run = require("lib.commands")("lwaftr", {
  {"run", "run the lwAFTRs of a configuration between ports"},
  {"bench", "run them with packets from files, over and over"},
  {"config", "ask and change the configuration of a running one",
   module = "program.config.config"},
  {"monitor", "choose whose packets a running one mirrors"},
  {"query", "print counters of a running one, or ask whether it is ready"},
  {"drain", "mark a running one not ready, before it is stopped"},
  {"check", "send packets from files through an lwAFTR to files, and compare counters"},
  {"generate", "make a configuration of many softwires, and packets for it"},
  about = {
    "An lwAFTR (RFC 7596). `perigee lwaftr COMMAND --help` explains each command."},
  also = {["generate-configuration"] = "generate"}, -- upstream's name
})

return M
