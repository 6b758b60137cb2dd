-- SPDX-License-Identifier: Apache-2.0
-- Queues and buffers have its methods from the start.
return {}
