/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the binding table: arrays of 2^order of them, taken from chunks that stay
 * until the table is freed, so that a lookup never reads memory that is gone.
 */
#include <string.h>
#include <sys/mman.h>

#include "records.h"

static const size_t CHUNK_BYTES = sizeof(struct softwire_ends) * CHUNK_RECORDS;

/* A chunk fills a huge page, and begins where one would. */
static struct softwire_ends *new_chunk(void)
{
  char *p = mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  size_t before = -(uintptr_t)p % CHUNK_BYTES;
  if (before)
    munmap(p, before);
  munmap(p + before + CHUNK_BYTES, CHUNK_BYTES - before);
  madvise(p + before, CHUNK_BYTES, MADV_HUGEPAGE);
  return (struct softwire_ends *)(p + before);
}

void softwire_chunks_free(struct softwire_table *table)
{
  for (uint32_t i = 0; i < table->chunks; i++)
    munmap(table->chunk[i], CHUNK_BYTES);
}

double softwire_chunks_bytes(const struct softwire_table *table)
{
  return (double)table->chunks * CHUNK_BYTES;
}

uint32_t softwire_records_new(struct softwire_table *table, int order)
{
  uint32_t n = 1u << order;
  if (table->free[order]) {
    uint32_t number = table->free[order] - 1;
    memcpy(&table->free[order], softwire_record(table, number), sizeof(uint32_t));
    memset(softwire_record(table, number), 0, n * sizeof(struct softwire_ends));
    return number;
  }
  if (table->next % CHUNK_RECORDS + n > CHUNK_RECORDS ||
      table->next == table->chunks * CHUNK_RECORDS) {
    if (table->chunks == MAX_CHUNKS ||
        !(table->chunk[table->chunks] = new_chunk()))
      return NO_RECORDS;
    table->next = table->chunks++ * CHUNK_RECORDS;
  }
  uint32_t number = table->next;
  table->next += n;
  return number;
}

void softwire_records_free(struct softwire_table *table, uint32_t number, int order)
{
  memcpy(softwire_record(table, number), &table->free[order], sizeof(uint32_t));
  table->free[order] = number + 1;
}
