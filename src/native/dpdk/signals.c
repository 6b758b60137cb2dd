/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT, SIGTERM and SIGHUP. While somebody looks for them (engine.main) the first is
 * remembered; else it ends the Lua code that runs, by an error. A second one ends the
 * process at once, and so does the first where no Lua code listens. Where nobody has
 * looked for them yet, the process dies of the signal in the end, as any program does.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "../api.h"
#include "../log.h"
#include "clock.h"

/* `timeout` signals the group and the process: what follows so soon is the same
 * wish. */
#define SAME_WISH_SECONDS 0.1

/* Lua code that doesn't end by then isn't listening. What its thread waits for a CPU that
 * others have doesn't count. */
#define PATIENCE_SECONDS 1
#define SOON_SECONDS 0.01
#define SIGTIMER (SIGRTMAX - 1) /* when those are over */

static volatile sig_atomic_t caught;   /* the first signal */
static volatile sig_atomic_t looking;  /* how many look for it */
static volatile sig_atomic_t ended_by; /* the signal that has ended Lua code */
static uint64_t taken;   /* signals that the program takes itself: bits */
static uint64_t pending; /* those of them that came */
static timer_t impatience;
static bool installed, has_terminal, has_timer;
static bool ignores_hangup, ignores_interrupt;
static bool in_order; /* signals are caught only for the sake of what is left behind */
static volatile sig_atomic_t dies_of; /* the signal that came then */
static struct termios terminal;

static const char *name_of(int number)
{
  return number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
}

static double seconds_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void note_terminal(void)
{
  has_terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal) == 0;
}

/* For handlers, too. */
void pg_restore_terminal(void)
{
  static const char first_screen[] = "\033[?25h\033[?1049l";
  struct termios now;
  if (!has_terminal || tcgetattr(STDIN_FILENO, &now) != 0 ||
      now.c_lflag == terminal.c_lflag)
    return;
  tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  if (isatty(STDOUT_FILENO) &&
      write(STDOUT_FILENO, first_screen, sizeof first_screen - 1) < 0)
    return;
}

/* What engines are at, as far as that can be known in a handler: the main thread's
 * call, or else those of workers that make no progress. */
static void who_is_at_work(const void *context, char *text, size_t size)
{
  const char *line = NULL, *app = NULL;
  char call[160];
  *text = '\0';
  if (pg_main_reader.work.call) {
    bool compiled = pg_where_compiled(&pg_main_reader, context, &line, &app);
    pg_what_call(&pg_main_reader, app, call, sizeof call);
    snprintf(text, size, "; at work was %s%s%s", call, compiled ? " at " : "",
             compiled ? line : "");
    return;
  }
  if (pthread_mutex_trylock(&pg_readers_lock) != 0)
    return;
  for (struct reader *r = pg_readers; r; r = r->next)
    if (r->worker && r->strikes > 1 && r->work.call) {
      pg_what_call(r, NULL, call, sizeof call);
      snprintf(text, size, "; at work was %s on CPU %d", call, r->worker->cpu);
    }
  pthread_mutex_unlock(&pg_readers_lock);
}

/* For handlers, too. */
static void die_of(int number)
{
  sigset_t set;
  signal(number, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, number);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* At the end of the process: whoever waits for it finds that the signal has ended it. */
void pg_die_of_signal(void)
{
  if (!dies_of || !ended_by)
    return;
  fflush(NULL);
  die_of(dies_of);
}

static _Noreturn void end_at_once(int number, const char *why, const void *context)
{
  char who[300];
  who_is_at_work(context, who, sizeof who);
  pg_restore_terminal();
  pg_logf(LOG_ERROR, "%s %s%s", name_of(number), why, who);
  if (dies_of)
    die_of(number);
  _exit(128 + number);
}

static void end_lua(lua_State *L, lua_Debug *at)
{
  (void)at;
  lua_sethook(L, NULL, 0, 0);
  if (looking > 0) /* it has come to its end by itself */
    return;
  ended_by = caught;
  luaL_error(L, "ended by %s", name_of(caught));
}

static void set_timer(double seconds)
{
  struct itimerspec when = {.it_value = {.tv_sec = (time_t)seconds}};
  when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * 1e9);
  if (has_timer)
    timer_settime(impatience, 0, &when, NULL);
}

/* The timer is over: by how many seconds that was too early. */
static double missing(double first, double delay)
{
  double waited = pg_run_delay_of(getpid()) - delay;
  return first + waited + PATIENCE_SECONDS - SOON_SECONDS - seconds_now();
}

static void on_signal(int number, siginfo_t *info, void *context)
{
  static double first, delay;
  bool is_main = pthread_equal(pthread_self(), pg_main_reader.thread);
  if (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) >> number & 1 &&
      info->si_code != SI_TIMER) {
    __atomic_or_fetch(&pending, 1ull << number, __ATOMIC_ACQ_REL);
    pg_wait_ring(pg_main_reader.bell);
    return;
  }
  if (info->si_code == SI_TIMER && missing(first, delay) > 0) {
    set_timer(missing(first, delay) + SOON_SECONDS);
    return;
  }
  if (info->si_code == SI_TIMER)
    end_at_once(caught, "came, and it doesn't stop, so it ends at once",
                is_main ? context : NULL);
  if (!is_main) {
    pthread_kill(pg_main_reader.thread, number);
    return;
  }
  double now = seconds_now();
  if (caught && now - first > SAME_WISH_SECONDS)
    end_at_once(number, "came again, so it ends at once", context);
  if (caught)
    return;
  caught = number;
  dies_of = in_order ? number : 0;
  first = now;
  delay = pg_run_delay_of(getpid());
  pg_wait_ring(pg_main_reader.bell);
  if (looking > 0)
    return;
  if (!pg_main_reader.lua || !has_timer)
    end_at_once(number, "came", context);
  set_timer(PATIENCE_SECONDS);
  lua_sethook(pg_main_reader.lua, end_lua,
              LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* Which signals the process was started with to ignore: nohup(1) does that with SIGHUP,
 * a shell without job control with the SIGINT of what it runs in the background. */
static void note_ignored(void)
{
  static bool noted;
  struct sigaction now;
  if (noted)
    return;
  noted = true;
  ignores_hangup = sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
  ignores_interrupt = sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static void on_mark(int number)
{
  (void)number;
}

static void install(bool interrupt)
{
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTIMER};
  note_ignored();
  sigemptyset(&action.sa_mask);
  for (const int *n = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGTIMER, 0}; *n; n++)
    sigaddset(&action.sa_mask, *n);
  pg_main_reader.thread = pthread_self();
  note_terminal();
  has_timer = has_timer || timer_create(CLOCK_MONOTONIC, &event, &impatience) == 0;
  sigaction(SIGTIMER, &action, NULL);
  if (interrupt)
    sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (!ignores_hangup)
    sigaction(SIGHUP, &action, NULL);
}

/* From now on SIGINT, SIGTERM and SIGHUP end the Lua code that runs, so that what the
 * process leaves behind is removed, also where no engine runs. */
void pg_end_in_order(void)
{
  if (pg_reader != &pg_main_reader || installed)
    return;
  note_ignored();
  install(!ignores_interrupt);
  in_order = true;
}

/* From now on remember SIGINT, SIGTERM and SIGHUP instead of dying of them, until
 * pg_release_signals() has been called as often as this. That the process has a handler
 * for SIGURG, which does nothing, tells others so (proc(5)). */
void pg_catch_signals(void)
{
  if (pg_reader != &pg_main_reader) /* they are the main thread's */
    return;
  looking++;
  in_order = false;
  set_timer(0);
  if (!installed)
    install(true);
  installed = true;
  sigaction(SIGURG, &(struct sigaction){.sa_handler = on_mark, .sa_flags = SA_RESTART},
            NULL);
}

/* Nobody looks any more: a signal ends the Lua code that runs. */
void pg_release_signals(void)
{
  if (pg_reader == &pg_main_reader)
    looking--;
}

/* The signal that came, or 0. */
int pg_signal(void)
{
  return caught;
}

/* The signal that has ended Lua code, or 0. */
int pg_ended_by(void)
{
  return ended_by;
}

/* From now on the program takes the signal `number` itself (pg_taken_signal), also if
 * it is one of those that end it; or no more: then it is ignored, those that end it
 * until pg_catch_signals() is called again. */
void pg_take_signal(int number, bool take)
{
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  note_ignored();
  if (take)
    __atomic_or_fetch(&taken, 1ull << number, __ATOMIC_ACQ_REL);
  else
    __atomic_and_fetch(&taken, ~(1ull << number), __ATOMIC_ACQ_REL);
  if (!take) {
    action.sa_flags = 0;
    action.sa_handler = SIG_IGN;
    installed = false;
  }
  sigaction(number, &action, NULL);
}

/* A signal that came and that the program takes itself, once; or 0. */
int pg_taken_signal(void)
{
  uint64_t came = __atomic_exchange_n(&pending, 0, __ATOMIC_ACQ_REL);
  if (!came)
    return 0;
  int number = __builtin_ctzll(came);
  __atomic_or_fetch(&pending, came & (came - 1), __ATOMIC_ACQ_REL);
  return number;
}
