/* SPDX-License-Identifier: Apache-2.0
 *
 * Has this CPU what the compiler was given (ARCH=)? Without, the program would end
 * with SIGILL, anywhere. This runs before main() and other constructors here, and is
 * compiled for any CPU itself.
 */
#ifdef __x86_64__
#include <string.h>
#include <unistd.h>

#define NEED(name) \
  if (!missing && !__builtin_cpu_supports(name)) \
    missing = name

__attribute__((constructor(101), target("arch=x86-64"))) static void check_cpu(void)
{
  const char *missing = NULL;
  __builtin_cpu_init();
#ifdef __SSE4_2__
  NEED("sse4.2");
#endif
#ifdef __AVX__
  NEED("avx");
#endif
#ifdef __BMI2__
  NEED("bmi2");
#endif
#ifdef __AVX2__
  NEED("avx2");
#endif
#ifdef __AVX512F__
  NEED("avx512f");
#endif
#ifdef __AVX512BW__
  NEED("avx512bw");
#endif
#ifdef __AVX512VL__
  NEED("avx512vl");
#endif
#ifdef __AVX512VBMI__
  NEED("avx512vbmi");
#endif
  if (!missing)
    return;
  const char *parts[] = {"perigee: this CPU has no ", missing,
                         ", for which perigee was built; build it on this machine (make), or "
                         "for more CPUs (make ARCH=x86-64-v2)\n"};
  for (int i = 0; i < 3; i++)
    if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
      break;
  _exit(1);
}
#endif
