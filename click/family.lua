-- SPDX-License-Identifier: Apache-2.0
-- The family of Click: FastClick's configurations, on Perigee's engine. It sets no
-- globals and has no options of its own.

return {
  passes_on = {click = "--dpdk"}, -- to DPDK, up to "--"
  filters = {
    click_align = true, click_check = true, click_combine = true,
    click_devirtualize = true, click_fastclassifier = true, click_flatten = true,
    click_pretty = true, click_uncombine = true, click_undead = true,
    click_xform = true,
  },
}
