-- SPDX-License-Identifier: Apache-2.0
-- For specs: an app that uses AES-GCM, so that a worker does.

local ffi = require("ffi")
local gcm = require("lib.ipsec.aes_gcm_avx")

local testing = {Encrypts = {}}
testing.Encrypts.__index = testing.Encrypts

function testing.Encrypts:new()
  local data = ffi.new("gcm_data __attribute__((aligned(16)))")
  gcm.aes_keyexp_128_enc_avx(("k"):rep(16), data)
  return setmetatable({data = data}, self)
end

return testing
