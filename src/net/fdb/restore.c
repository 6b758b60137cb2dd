/* SPDX-License-Identifier: Apache-2.0
 *
 * An entry of a process that has ended (net/keep), put into a database: at the port that
 * its number stands for now.
 */
#include "../keep/keep.h"
#include "find.h"

enum { SEGMENT = 48 }; /* where it is in a key */
static const uint64_t ADDRESS = ((uint64_t)1 << SEGMENT) - 1;

/* A keep_restore (net/keep/former.h) of a struct fdb_into. */
uint32_t pg_fdb_restore(void *context, const void *record, int64_t now)
{
  const struct fdb_into *into = context;
  struct fdb_record e;
  uint32_t number;
  memcpy(&e, record, sizeof e);
  if (e.age.list == FDB_STATIC)
    return FDB_PASSED;
  if (e.key & FDB_GROUP_BIT)
    return KEEP_BAD;
  int32_t port = into->port[fdb_port(&e)];
  if (port < 0)
    return (uint32_t)-port;
  fdb_set_port(&e, (uint32_t)port);
  int32_t segment = into->segment[e.key >> SEGMENT];
  if (segment < 0)
    return (uint32_t)-segment;
  e.key = (e.key & ADDRESS) | (uint64_t)segment << SEGMENT;
  uint32_t outcome = pg_keep_restore(into->table, &e, now, &number);
  if (outcome == KEEP_USED && into->uses)
    into->uses[port]++;
  return outcome;
}
