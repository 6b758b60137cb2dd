# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` install what is missing (tools/setup) first;
# plain `make` only builds.

VERSION := 0.1
PREFIX ?= /usr/local

CC ?= cc
DPDK_CFLAGS := $(shell pkg-config --cflags libdpdk 2>/dev/null)
DPDK_LIBS := $(shell pkg-config --libs libdpdk 2>/dev/null)
LUAJIT_CFLAGS := $(shell pkg-config --cflags luajit 2>/dev/null)
LUAJIT_LIBS := $(shell pkg-config --libs luajit 2>/dev/null)

# Debian's libdpdk.pc asks for -march=corei7: ours must come after it.
ARCH ?= native
CFLAGS ?= -O3 -g
override CFLAGS += -std=gnu11 -Wall -Wextra $(DPDK_CFLAGS) $(LUAJIT_CFLAGS) \
  -march=$(ARCH) -DPERIGEE_VERSION='"$(VERSION)"'

SOURCES := $(wildcard src/native/*.c)
OBJECTS := $(SOURCES:src/%.c=build/%.o)

perigee: $(OBJECTS)
	$(CC) -rdynamic -o $@ $^ $(LDFLAGS) $(LUAJIT_LIBS) $(DPDK_LIBS) \
	  -lrte_net_ring -lm

build/%.o: src/%.c $(wildcard src/native/*.h) Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

# The C references of the benchmarks (bench/native).
build/bench/%: bench/native/%.c src/native/api.h Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -o $@ $< $(LDFLAGS) $(DPDK_LIBS)

install: perigee
	install -D perigee $(DESTDIR)$(PREFIX)/bin/perigee
	cd src && find . -name '*.lua' ! -name '*_spec.lua' -o -name api.h \
	  -o -name README.md | while read -r f; do \
	  install -D -m 644 "$$f" "$(DESTDIR)$(PREFIX)/share/perigee/$$f"; done

clean:
	rm -rf build perigee

.PHONY: install clean
