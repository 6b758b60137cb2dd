/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of a process that has ended, put into a table of net/flow: the key, what is
 * behind it, and its age, which is cut to what the table would give it now.
 */
#include "../flow/find.h"
#include "former.h"

/* The record's age; false if no table writes such a one. */
static bool read_age(const struct flow_table *t, const uint8_t *record,
                     struct flow_age *age)
{
  memcpy(age, record + t->records.age_at, sizeof *age);
  return age->list < t->lists;
}

static void set_age(struct flow_table *t, uint32_t number, const struct flow_age *was,
                    int64_t expiry)
{
  struct flow_age *age = flow_age_of(&t->records, number);
  pg_flow_unlink(&t->records, &t->list[age->list], number);
  memcpy(age->note, was->note, sizeof age->note);
  pg_flow_link_end(&t->records, &t->list[age->list], number, expiry);
}

/* Go on with a copy of a record, of the table's own layout: a new one, whose number is
 * in *number. One whose expiry is `now` or before is old. An enum keep_outcome. */
uint32_t pg_keep_restore(struct flow_table *t, const void *record, int64_t now,
                         uint32_t *number)
{
  const uint8_t *from = record;
  struct flow_age age = {0};
  int64_t expiry = 0;
  if (t->lists) {
    if (!read_age(t, from, &age))
      return KEEP_BAD;
    if (age.expiry <= now)
      return KEEP_OLD;
    int64_t most = now + t->list[age.list].timeout;
    expiry = age.expiry < most ? age.expiry : most;
  }
  if (pg_flow_table_find(t, from))
    return KEEP_TWICE;
  if (t->records.count >= t->limit)
    return KEEP_FULL;
  *number = pg_flow_table_add(t, from, age.list, now);
  if (!*number)
    return KEEP_FULL;
  uint32_t key = t->index.key_size;
  uint32_t end = t->lists ? t->records.age_at : t->records.size;
  memcpy(flow_record(&t->records, *number) + key, from + key, end - key);
  if (t->lists)
    set_age(t, *number, &age, expiry);
  return KEEP_USED;
}

/* The restore() of a table of net/flow alone. */
uint32_t pg_keep_restore_into(void *context, const void *record, int64_t now)
{
  uint32_t number;
  return pg_keep_restore(((struct keep_into *)context)->table, record, now, &number);
}
