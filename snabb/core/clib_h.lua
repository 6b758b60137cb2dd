-- SPDX-License-Identifier: Apache-2.0
-- Declares the functions of the C library that programs of Snabb's call as
-- ffi.C.NAME without declaring them.

local ffi = require("ffi")

ffi.cdef[[
unsigned int sleep(unsigned int seconds);
int usleep(unsigned int microseconds);
unsigned int alarm(unsigned int seconds);
unsigned int ualarm(unsigned int microseconds, unsigned int interval);

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
char *strncpy(char *to, const char *from, size_t n);
int strncasecmp(const char *a, const char *b, size_t n);
void *malloc(size_t n);

ssize_t read(int fd, void *to, size_t n);
ssize_t write(int fd, const void *from, size_t n);
ssize_t pread(int fd, void *to, size_t n, int64_t offset);
ssize_t pwrite(int fd, const void *from, size_t n, int64_t offset);
int close(int fd);
int fork(void);
ssize_t readlink(const char *path, char *to, size_t n);
char *dirname(char *path);
char *basename(char *path);

int inet_pton(int family, const char *text, void *address);
const char *inet_ntop(int family, const void *address, char *text, unsigned int n);
uint16_t htons(uint16_t n);
uint16_t ntohs(uint16_t n);
uint32_t htonl(uint32_t n);
uint32_t ntohl(uint32_t n);
]]
