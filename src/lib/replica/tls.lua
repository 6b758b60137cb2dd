-- SPDX-License-Identifier: Apache-2.0
-- TLS by OpenSSL, on sockets that don't wait, between two that have the same token:
-- version 1.2 with ECDHE-PSK-CHACHA20-POLY1305 (RFC 7905, RFC 5489) alone, so that each
-- proves to the other that it has the token, and what was sent can't be read later by
-- who finds it. There are no certificates. (Version 1.3 would let a server without the
-- token show a certificate instead.)

local errno = require("posix.errno")
local ffi = require("ffi")
local failure = require("core.failure")
local files = require("core.lib.files")

ffi.cdef [[
  typedef struct ssl_ctx_st SSL_CTX;
  typedef struct ssl_st SSL;
  typedef struct ssl_method_st SSL_METHOD;
  const SSL_METHOD *TLS_method(void);
  SSL_CTX *SSL_CTX_new(const SSL_METHOD *method);
  long SSL_CTX_ctrl(SSL_CTX *ctx, int what, long value, void *more);
  int SSL_CTX_set_cipher_list(SSL_CTX *ctx, const char *list);
  uint64_t SSL_CTX_set_options(SSL_CTX *ctx, uint64_t options);
  void SSL_CTX_set_psk_client_callback(SSL_CTX *ctx, unsigned (*f)(SSL *,
    const char *hint, char *identity, unsigned identity_room, uint8_t *key,
    unsigned key_room));
  void SSL_CTX_set_psk_server_callback(SSL_CTX *ctx, unsigned (*f)(SSL *,
    const char *identity, uint8_t *key, unsigned key_room));
  SSL *SSL_new(SSL_CTX *ctx);
  void SSL_free(SSL *ssl);
  int SSL_set_fd(SSL *ssl, int fd);
  void SSL_set_accept_state(SSL *ssl);
  void SSL_set_connect_state(SSL *ssl);
  int SSL_do_handshake(SSL *ssl);
  int SSL_read(SSL *ssl, void *to, int n);
  int SSL_write(SSL *ssl, const void *from, int n);
  int SSL_pending(const SSL *ssl);
  int SSL_shutdown(SSL *ssl);
  int SSL_get_error(const SSL *ssl, int result);
]]
ffi.cdef "void ERR_clear_error(void); unsigned long ERR_peek_error(void);"

local tls = {}

-- <openssl/ssl.h>
local MINIMUM, MAXIMUM, TLS_1_2, MODE = 123, 124, 0x0303, 33
local PARTIAL, MOVING = 1, 2 -- what SSL_write may do
local NO_RENEGOTIATION, NO_TICKET = 2 ^ 30, 2 ^ 14
local PROTOCOL, WANT_READ, WANT_WRITE, SYSTEM, END = 1, 2, 3, 5, 6
local REASON, UNEXPECTED_END = 2 ^ 23, 294 -- <openssl/err.h>, <openssl/sslerr.h>
local CIPHER, IDENTITY = "ECDHE-PSK-CHACHA20-POLY1305", "perigee"
local FEWEST, MOST = 16, 256 -- bytes of a token

local ssl, crypto -- the libraries

local function load()
  if ssl then return end
  local ok, library = pcall(ffi.load, "libssl.so.3")
  if not ok then
    failure.raise("replication needs OpenSSL 3 (Debian's libssl3): %s", library)
  end
  ssl, crypto = library, ffi.load("libcrypto.so.3")
end

--- The token in the file `path`, which is this user's alone: a line of 16 to 256 bytes.
function tls.token(path)
  local stat = require("posix.sys.stat")
  local unistd = require("posix.unistd")
  local found, reason = stat.stat(path)
  if not found then failure.usage("--token: %s", reason) end
  if not (found.st_uid == unistd.geteuid() or found.st_uid == 0)
    or found.st_mode % 64 ~= 0 then
    failure.raise("--token %s: it must be yours, and closed to others: chmod 600 %s",
      path, path)
  end
  local file, problem = io.open(path)
  if not file then failure.raise("--token: %s", problem) end
  local token = files.line(file) or ""
  file:close()
  if #token < FEWEST or #token > MOST then
    failure.raise("--token %s: its first line has %d bytes, and a token has %d to %d; "
      .. "`openssl rand -hex 32` prints one", path, #token, FEWEST, MOST)
  end
  return token
end

local anchors = {} -- callbacks stay as long as the process

--- What all connections with the token share.
function tls.context(token)
  load()
  local context = ssl.SSL_CTX_new(ssl.TLS_method())
  assert(context ~= nil, "no memory")
  ssl.SSL_CTX_ctrl(context, MINIMUM, TLS_1_2, nil)
  ssl.SSL_CTX_ctrl(context, MAXIMUM, TLS_1_2, nil)
  ssl.SSL_CTX_ctrl(context, MODE, PARTIAL + MOVING, nil)
  ssl.SSL_CTX_set_options(context, NO_RENEGOTIATION + NO_TICKET)
  if ssl.SSL_CTX_set_cipher_list(context, CIPHER) ~= 1 then
    failure.raise("this OpenSSL has no %s", CIPHER)
  end
  local function give(key, room)
    if room < #token then return 0 end
    ffi.copy(key, token, #token)
    return #token
  end
  local client = ffi.cast("unsigned (*)(SSL *, const char *, char *, unsigned, "
    .. "uint8_t *, unsigned)", function (_, _, identity, identity_room, key, room)
      if identity_room <= #IDENTITY then return 0 end
      ffi.copy(identity, IDENTITY)
      return give(key, room)
    end)
  local server = ffi.cast("unsigned (*)(SSL *, const char *, uint8_t *, unsigned)",
    function (_, identity, key, room)
      if identity == nil or ffi.string(identity) ~= IDENTITY then return 0 end
      return give(key, room)
    end)
  anchors[#anchors + 1], anchors[#anchors + 2] = client, server
  ssl.SSL_CTX_set_psk_client_callback(context, client)
  ssl.SSL_CTX_set_psk_server_callback(context, server)
  return context
end

local Connection = {}
Connection.__index = Connection

--- TLS on the connected socket `fd`, which doesn't wait; `accepts`: this is the side
--- that was connected to.
function tls.connection(context, fd, accepts)
  local one = ssl.SSL_new(context)
  assert(one ~= nil and ssl.SSL_set_fd(one, fd) == 1, "no memory")
  if accepts then ssl.SSL_set_accept_state(one) else ssl.SSL_set_connect_state(one) end
  return setmetatable({ssl = ffi.gc(one, ssl.SSL_free), fd = fd, wants = "IN"},
    Connection)
end

-- Callbacks may run within: LuaJIT can't compile a call that does so.
local function handshake(one)
  crypto.ERR_clear_error()
  return ssl.SSL_do_handshake(one)
end
jit.off(handshake)

-- The call's result: 0 if it has to wait for self.wants, nil if the connection is over.
local function outcome(self, n)
  if n > 0 then return n end
  local code = ffi.errno()
  local why = ssl.SSL_get_error(self.ssl, n)
  self.wants = why == WANT_WRITE and "OUT" or "IN"
  if why == WANT_READ or why == WANT_WRITE then return 0 end
  self.over = true
  self.closed = why == END or why == SYSTEM and code == 0 or why == PROTOCOL
    and tonumber(crypto.ERR_peek_error()) % REASON == UNEXPECTED_END
  self.reason = why == SYSTEM and code ~= 0 and errno.errno(code) or nil
end

--- Go on with the handshake: true once it is done, false while it isn't, nil if it has
--- failed: self.reason says why the network is at fault, or self.closed that the other
--- end has closed it; else that hasn't the token, or doesn't speak TLS.
function Connection:handshake()
  if self.ready then return true end
  local n = outcome(self, handshake(self.ssl))
  if n == nil then return nil end
  self.ready = n > 0
  return self.ready
end

--- Read up to `n` bytes: how many, 0 if there are none now; nil at the end.
function Connection:read(to, n)
  crypto.ERR_clear_error()
  return outcome(self, ssl.SSL_read(self.ssl, to, n))
end

--- Write up to `n` bytes: how many, 0 if none now; nil if the connection is over.
function Connection:write(from, n)
  crypto.ERR_clear_error()
  return outcome(self, ssl.SSL_write(self.ssl, from, n))
end

--- Is there something read from the socket that read() hasn't given?
function Connection:pending() return ssl.SSL_pending(self.ssl) > 0 end

--- Close it.
function Connection:close()
  if not self.ssl then return end
  if self.ready and not self.over then ssl.SSL_shutdown(self.ssl) end
  ffi.gc(self.ssl, nil)
  ssl.SSL_free(self.ssl)
  require("posix.unistd").close(self.fd)
  self.ssl = nil
end

return tls
