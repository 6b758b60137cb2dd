/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said over a connection: the client asks, the server answers, so many times.
 * Messages have a length that both know, or are HTTP/1.1's (RFC 9112): then heads are
 * read, byte by byte as they come, for what says where they end.
 */
#include <string.h>

#include "internal.h"

enum { MOST_HEAD = 32768 };

/* Without blanks, which may stand behind the colon. */
static const char LENGTH[] = "content-length:", CLOSE[] = "connection:close";
static const char EMPTY[] = "204"; /* the status of answers without content */
enum { NO_MATCH = 255 };

/* Which conversation it has, both sides know: it follows from the client's address and
 * port. */
static const struct tcp_conversation *conversation_of(const struct tcp_endpoint *e,
                                                      const struct tcp_connection *c)
{
  const uint8_t *client = e->server ? c->key.remote : c->key.local;
  uint32_t port = rte_be_to_cpu_16(e->server ? c->key.remote_port : c->key.local_port);
  uint32_t address = get32(client + (c->key.family == 4 ? 0 : 12));
  return &e->conversations[(address + port) % e->conversation_count];
}

static uint32_t turns_of(const struct tcp_endpoint *e, const struct tcp_connection *c)
{
  return e->conversation_count ? conversation_of(e, c)->turns : e->requests;
}

/* The turn of that number, where there are conversations. One that has more than all is
 * as the last. */
static const struct tcp_turn *turn_of(const struct tcp_endpoint *e,
                                      const struct tcp_connection *c, uint32_t number)
{
  const struct tcp_conversation *conversation = conversation_of(e, c);
  return &e->turns[conversation->first + least(number, conversation->turns - 1)];
}

static uint32_t think_of(const struct tcp_endpoint *e, const struct tcp_connection *c)
{
  if (e->conversation_count)
    return turn_of(e, c, c->turns)->think;
  return c->turns > 0 ? e->think : 0;
}

static uint32_t expected_length(const struct tcp_endpoint *e, const struct tcp_connection *c)
{
  if (!e->conversation_count)
    return e->in_length;
  const struct tcp_turn *turn = turn_of(e, c, c->turns);
  return e->server ? turn->request : turn->response;
}

/* A server has counted the turn of what it says, and of all that is due behind it. */
static uint32_t message_length(const struct tcp_endpoint *e, const struct tcp_connection *c)
{
  if (!e->conversation_count)
    return e->out.length;
  return e->server ? turn_of(e, c, c->turns - c->due)->response
                   : turn_of(e, c, c->turns)->request;
}

static void act_in(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t ticks)
{
  uint32_t at = tick_of(e->now) + ticks + 1;
  c->act_at = at ? at : 1;
  tcp_schedule(e, c);
}

static void expect(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->input = e->http ? IN_FIRST_LINE : IN_BODY;
  c->head = 0;
  c->match[0] = c->match[1] = 0;
  c->in_left = e->http ? 0 : expected_length(e, c);
}

/* Send the next message, if there is one and all that was sent before has arrived: so
 * what is sent again is always of the last. */
void tcp_say(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->due == 0 || c->una != c->out_to || (c->flags & C_CLOSING))
    return;
  c->out_from = c->out_to;
  c->out_to = c->out_from + message_length(e, c);
  c->due--;
  if (e->server) {
    e->counts.answers++;
    if ((c->flags & C_LAST) && c->due == 0)
      c->flags |= C_CLOSING;
  } else {
    e->counts.requests++;
    c->flags |= C_ASKED;
    tcp_await(e, c, true);
    c->asked_at = now_us(e);
    expect(e, c);
    act_in(e, c, e->give_up);
  }
  tcp_make_ready(e, c);
}

static void ask(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->due = 1;
  tcp_say(e, c);
}

void tcp_close(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->flags |= C_CLOSING;
  act_in(e, c, e->give_up);
  tcp_make_ready(e, c);
}

static bool is_over(const struct tcp_endpoint *e, const struct tcp_connection *c)
{
  return !seq_before(tick_of(e->now), c->ends);
}

/* The client's next step when nothing is asked. */
static void go_on(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->input = IN_NOTHING;
  if (c->turns < turns_of(e, c) && think_of(e, c) > 0)
    act_in(e, c, think_of(e, c));
  else if (c->turns < turns_of(e, c))
    ask(e, c);
  else if (is_over(e, c))
    tcp_close(e, c);
  else
    act_in(e, c, c->ends - tick_of(e->now));
}

void tcp_established(struct tcp_endpoint *e, struct tcp_connection *c)
{
  e->counts.established++;
  if (e->server) {
    expect(e, c);
    act_in(e, c, e->idle);
  } else {
    tcp_await(e, c, false);
    go_on(e, c);
  }
}

static void refuse(struct tcp_endpoint *e, struct tcp_connection *c)
{
  e->counts.unreadable++;
  tcp_abort(e, c, &e->counts.aborted);
}

static void message_is_whole(struct tcp_endpoint *e, struct tcp_connection *c)
{
  c->turns++;
  if (!e->server) {
    e->counts.answers++;
    go_on(e, c);
    return;
  }
  e->counts.requests++;
  expect(e, c);
  if (c->due == UINT8_MAX) {
    refuse(e, c);
    return;
  }
  c->due++;
  tcp_say(e, c);
}

static uint8_t matched(const char *name, uint32_t length, uint8_t at, uint8_t byte)
{
  if (at >= length) /* wholly, or not at all */
    return at;
  return name[at] == byte ? (uint8_t)(at + 1) : NO_MATCH;
}

/* "HTTP/1.1 200": an answer's class, or that it is one. */
static bool status_is_fine(struct tcp_endpoint *e, struct tcp_connection *c, uint32_t at,
                           uint8_t byte)
{
  static const char start[] = "http/1.";
  if (at < sizeof start - 1)
    return byte == (uint8_t)start[at];
  if (at == 9 && byte != '2' && byte != '3')
    e->counts.failed_answers++;
  if (at >= 9 && at < 12)
    c->match[0] = matched(EMPTY, sizeof EMPTY - 1, c->match[0], byte);
  return true;
}

static void head_is_whole(struct tcp_endpoint *e, struct tcp_connection *c)
{
  bool told = c->input_told;
  c->input_told = 0;
  if (c->in_left > 0)
    c->input = IN_BODY;
  else if (!told && !e->server)
    c->input = IN_TO_END;
  else
    message_is_whole(e, c);
}

static void line_ends(struct tcp_endpoint *e, struct tcp_connection *c, bool empty)
{
  if (c->match[1] == sizeof CLOSE - 1 && e->server)
    c->flags |= C_LAST;
  bool first = c->input == IN_FIRST_LINE;
  if (first && c->match[0] == sizeof EMPTY - 1)
    c->input_told = 1;
  c->input = IN_LINE;
  c->match[0] = c->match[1] = 0;
  c->line = 0;
  if (empty && !first)
    head_is_whole(e, c);
}

/* A byte of a head; false: it isn't one that can be read. */
static bool read_head(struct tcp_endpoint *e, struct tcp_connection *c, uint8_t byte)
{
  if (byte >= 'A' && byte <= 'Z')
    byte |= 0x20;
  uint32_t at = c->head++;
  if (c->head > MOST_HEAD)
    return false;
  if (byte == '\n') {
    line_ends(e, c, c->line == 0);
    return true;
  }
  if (byte == '\r')
    return true;
  c->line = 1;
  if (c->input == IN_FIRST_LINE)
    return e->server || status_is_fine(e, c, at, byte);
  if (byte == ' ' || byte == '\t')
    return true;
  if (c->match[0] == sizeof LENGTH - 1) {
    if (byte < '0' || byte > '9' || c->in_left > (INT32_MAX - 9) / 10)
      return false;
    c->in_left = c->in_left * 10 + (byte - '0');
    c->input_told = 1;
    return true;
  }
  c->match[0] = matched(LENGTH, sizeof LENGTH - 1, c->match[0], byte);
  c->match[1] = matched(CLOSE, sizeof CLOSE - 1, c->match[1], byte);
  return c->match[0] != sizeof LENGTH - 1 || !c->input_told; /* told once */
}

/* So many bytes came, in order. They may be none that were kept: data is NULL only where
 * what they are doesn't matter. */
void tcp_receive(struct tcp_endpoint *e, struct tcp_connection *c, const uint8_t *data,
                 uint32_t n)
{
  e->counts.bytes_received += n;
  c->act_at = (tick_of(e->now) + (e->server ? e->idle : e->give_up)) | 1;
  if (n > 0 && (c->flags & C_ASKED)) {
    c->flags &= ~C_ASKED;
    tcp_await(e, c, false);
    add_sample(&e->first_byte, 1e3 * (now_us(e) - c->asked_at));
  }
  while (n > 0 && c->state != TCPS_CLOSED) {
    if (c->input == IN_NOTHING || c->input == IN_TO_END)
      return;
    if (c->input == IN_BODY) {
      uint32_t some = least(n, c->in_left);
      c->in_left -= some;
      n -= some;
      if (data)
        data += some;
      if (c->in_left == 0)
        message_is_whole(e, c);
    } else if (!data || !read_head(e, c, *data)) {
      refuse(e, c);
    } else {
      n--;
      data++;
    }
  }
}

/* How many bytes from here on needn't be looked at. */
uint32_t tcp_unread(const struct tcp_connection *c)
{
  if (c->input == IN_BODY)
    return c->in_left;
  return c->input == IN_TO_END ? INT32_MAX : 0;
}

void tcp_peer_done(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (e->server) {
    c->flags |= C_LAST;
    if (c->due == 0)
      tcp_close(e, c);
    return;
  }
  if (c->input == IN_TO_END) {
    c->turns++;
    c->input = IN_NOTHING;
    e->counts.answers++;
  }
  if (c->input != IN_NOTHING || c->turns < turns_of(e, c))
    e->counts.cut_short++;
  c->input = IN_NOTHING;
  tcp_close(e, c);
}

/* The time has come that it waited for. */
void tcp_act(struct tcp_endpoint *e, struct tcp_connection *c)
{
  if (c->state == TCPS_TIME_WAIT)
    tcp_end(e, c, NULL);
  else if (e->server || (c->flags & C_CLOSING) || c->input != IN_NOTHING)
    tcp_abort(e, c, &e->counts.timed_out);
  else if (c->turns < turns_of(e, c))
    ask(e, c);
  else
    go_on(e, c);
}
