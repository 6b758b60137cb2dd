/* SPDX-License-Identifier: Apache-2.0
 *
 * What Snabb's lib.ipc.shmem calls: the memory of a file that several programs map.
 * `file` is a FILE *, as LuaJIT gives what io.open returned. NULL means failure,
 * which errno says.
 */
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

bool shmem_unmap(void *memory, size_t size)
{
  return munmap(memory, size) == 0;
}

char *shmem_attach(void *file, size_t size)
{
  void *memory =
    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Give the file `size` bytes, and map them instead of `old`. */
char *shmem_grow(void *file, void *old, size_t old_size, size_t size)
{
  if ((old && !shmem_unmap(old, old_size)) || ftruncate(fileno(file), size) != 0)
    return NULL;
  return shmem_attach(file, size);
}
