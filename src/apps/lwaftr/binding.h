/* SPDX-License-Identifier: Apache-2.0
 *
 * What all lwAFTRs of a process look things up in: a binding table that may be replaced
 * by another complete one (binding.c). A reader has the table between binding_enter() and
 * binding_leave(), for a burst, and keeps no pointer into it beyond that.
 */
#pragma once

#include <rte_rcu_qsbr.h>

#include "softwires.h"

enum { MOST_READERS = 1024 };

struct lwaftr_binding {
  _Atomic(struct softwire_table *) table;
  struct rte_rcu_qsbr *readers;
  _Atomic uint32_t users;    /* who would miss it: its owner, readers, the keeper */
  uint64_t taken[MOST_READERS / 64]; /* bits of the readers there are */
  int id;
};

static inline struct softwire_table *binding_enter(const struct lwaftr_path *path)
{
  rte_rcu_qsbr_thread_online(path->binding->readers, path->reader);
  return atomic_load_explicit(&path->binding->table, memory_order_acquire);
}

static inline void binding_leave(const struct lwaftr_path *path)
{
  rte_rcu_qsbr_thread_offline(path->binding->readers, path->reader);
}
