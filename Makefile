# SPDX-License-Identifier: Apache-2.0
# `make help` says what there is. `make demo`, `make test`, `make check` and `make
# bench` install what is missing (tools/setup) and then call make again, since
# pkg-config is asked as this file is read.
#
## make            build ./perigee
## make demo       install what is missing, build, and forward a generated pcap file
## make test       the same, and run all tests; HUGEPAGES=N reserves N (default 1024);
##                 SPECS_SECONDS=N and ALL_SECONDS=N limit the specs and the whole
## make check      the same in a minute: luacheck, and the tests that are fast
## make test-guests
##                 the long tests in virtual machines; NETMAP=DIR: a checkout of netmap, for
##                 its ports' tests (doc/hardware.md)
## make guest      a shell in a virtual machine with two network cards; CARDS='MODEL MODEL'
##                 or VHOST=SOCKET (doc/hardware.md, doc/nfv.md)
## make bench      the same, and run all benchmarks; QUICK=1 takes less time
## make compat SNABB=DIR
##                 run the selftests of a Snabb checkout (doc/compat.md)
## make clicktests FASTCLICK=DIR
##                 run the tests of a FastClick checkout (doc/click-tests.md)
## make moongentests LIBMOON=DIR MOONGEN=DIR
##                 run the examples of checkouts of libmoon and MoonGen (doc/moongen.md)
## make moongensoak
##                 forward as such scripts do for SECONDS (3600), and count buffers
## make clickelements
##                 write doc/click-elements.md
## make manual     write man pages and completions to build/manual
## make docs       write the API reference to build/reference (ldoc)
## make site       write all pages as a site with a search to build/site (mkdocs)
## make deb        build a Debian package in build/deb (packaging/README.md)
## make version VERSION=X.Y.Z
##                 write the version wherever it stands
## make release VERSION=X.Y.Z
##                 check, and make an archive, the site, packages and sums in build/release, and
##                 a tag (packaging/README.md)
## make lint       luacheck, the C compiler's warnings as errors, and words that say little
## make install    install under PREFIX (default /usr/local), staged in DESTDIR
## make uninstall  remove what make install put there
## make clean      remove what was built
##
## ARCH=x86-64-v2  build for any such CPU rather than for this one (ARCH=native)
## SANITIZE=address,undefined
##                 build with these checks of GCC's

VERSION := 0.2
PREFIX ?= /usr/local
# no: `make install` compiles no modules, since LuaJIT doesn't do that twice byte by byte
# alike. Whoever wants that (reproducible-builds.org) sets SOURCE_DATE_EPOCH.
BYTECODE ?= $(if $(SOURCE_DATE_EPOCH),no,yes)
PYTHON ?= /usr/bin/python3

CC ?= cc
DPDK_CFLAGS := $(shell pkg-config --cflags libdpdk 2>/dev/null)
DPDK_LIBS := $(shell pkg-config --libs libdpdk 2>/dev/null)
LUAJIT_CFLAGS := $(shell pkg-config --cflags luajit 2>/dev/null)
LUAJIT_LIBS := $(shell pkg-config --libs luajit 2>/dev/null)

MACHINE := $(shell $(CC) -dumpmachine)

# Debian's libdpdk.pc asks for -march=corei7: ours must come after it.
ARCH ?= native
CFLAGS ?= -O3 -g
override CFLAGS += -std=gnu11 -Wall -Wextra $(DPDK_CFLAGS) $(LUAJIT_CFLAGS) \
  -march=$(ARCH) -DPERIGEE_VERSION='"$(VERSION)"'
ifdef SANITIZE
override CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
override LDFLAGS += -fsanitize=$(SANITIZE)
endif

SOURCES := $(wildcard src/native/*/*.c src/net/*/*.c src/lib/pcap/*.c src/port/*/*.c src/apps/*/*.c snabb/native/*.c snabb/apps/*/*.c \
  click/native/*.c moongen/native/*.c)
# What is built for guests lies apart.
BUILD := build
PROGRAM := $(if $(filter build,$(BUILD)),,$(BUILD)/)perigee
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o)
MODULES := $(shell find src snabb click moongen -name '*.lua' ! -name '*_spec.lua' ! -name '* *')

# The compiler writes beside each thing it makes which headers that was made from. A
# header that is gone is no error (-MP).
WRITE_HEADERS = -MMD -MP -MT $@ -MF $@.d

# What `make demo` and its like call once everything is installed.
AGAIN := @$(MAKE) --no-print-directory

# The host, and what it takes modules from as long as they don't change (tools/bytecode.lua).
all: perigee bytecode

bytecode: build/modules.bytecode

build/modules.bytecode: perigee tools/bytecode.lua $(MODULES)
	./perigee run tools/bytecode.lua "$$(pwd -P)" $@

$(PROGRAM): $(OBJECTS) $(BUILD)/objects
	$(CC) -rdynamic -o $@ $(OBJECTS) $(LDFLAGS) $(LUAJIT_LIBS) $(DPDK_LIBS) \
	  -lrte_bus_vdev -lrte_net_ring -lrte_net_vhost $(if $(filter x86_64-%,$(MACHINE)),-lIPSec_MB) -lm

# A perigee for the CPU that QEMU emulates, without AVX-512.
guest-perigee:
	@$(MAKE) --no-print-directory BUILD=build/guest ARCH=x86-64-v2 CFLAGS=-O1 \
	  build/guest/perigee

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WRITE_HEADERS) -c -o $@ $<

# The C references of the benchmarks (bench/native).
build/bench/%: bench/native/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WRITE_HEADERS) -o $@ $< $(LDFLAGS) $(DPDK_LIBS) -lm

# References that a benchmark loads beside its own code.
build/bench/%.so: bench/native/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WRITE_HEADERS) -shared -fPIC -o $@ $< $(LDFLAGS)

-include $(OBJECTS:=.d) $(wildcard build/bench/*.d)

# A file that changes only when the text does.
define write
@mkdir -p $(@D)
@echo '$(subst ','\'',$(1))' | cmp -s - $@ || echo '$(subst ','\'',$(1))' > $@
endef

# When the compiler or its options change all is built again, and when a source file has
# gone the program is linked again.
FLAGS = $(CC) $(CFLAGS) $(WRITE_HEADERS) $(LDFLAGS)
$(BUILD)/flags: libraries FORCE
	$(call write,$(FLAGS))

$(BUILD)/objects: FORCE
	$(call write,$(OBJECTS))

libraries:
	@pkg-config --exists libdpdk luajit || { echo "Perigee needs DPDK, LuaJIT and\
	  pkg-config to build; tools/setup installs them" >&2; exit 1; }

demo:
	@sh tools/setup build
	$(AGAIN) -j"$$(nproc)" all
	@bash tools/demo

test:
	@sh tools/setup test
	@[ -z "$$PERIGEE_GUESTS$$PERIGEE_LONG" ] || tools/guest/kernel || true
	@'$(PYTHON)' tools/test

check:
	@sh tools/setup test
	@'$(PYTHON)' tools/test --fast

test-guests: perigee
	@sh tools/setup test
	@tools/guest/kernel
	PERIGEE_LONG=1 $(PYTHON) -m pytest -v test/test_guest_cards.py \
	  test/test_guest_queues.py test/test_guest_vhost.py test/test_guest_netmap.py \
	  test/test_guest_model.py test/test_lying_guest.py

guest: perigee
	@sh tools/setup test
	@tools/guest/kernel
	@$(PYTHON) tools/guest/shell

bench:
	@sh tools/setup bench
	$(AGAIN) -j"$$(nproc)" all
	@names=$$(bench/run --list) && status=0 && for name in $$names; do \
	  bench/run $$name $(if $(QUICK),--quick) || status=1; done; exit $$status

# As many as passed at the last run (doc/compat.md).
COMPAT_PASSES := 117

compat: perigee
	@[ -n '$(SNABB)' ] || { echo "make compat SNABB=DIR: say where a checkout of" \
	  "Snabb is" >&2; exit 2; }
	@tools/compat '$(SNABB)' --at-least $(COMPAT_PASSES)

clicktests: perigee
	@[ -n '$(FASTCLICK)' ] || { echo "make clicktests FASTCLICK=DIR: say where a" \
	  "checkout of FastClick is" >&2; exit 2; }
	@tools/clicktests '$(FASTCLICK)'

moongentests: perigee
	@[ -n '$(LIBMOON)' ] && [ -n '$(MOONGEN)' ] || { echo "make moongentests" \
	  "LIBMOON=DIR MOONGEN=DIR: say where checkouts of libmoon and MoonGen are" >&2; exit 2; }
	@$(PYTHON) tools/moongentests '$(LIBMOON)' '$(MOONGEN)'

SECONDS ?= 3600
moongensoak: perigee
	./perigee moongen --port 0=ring:a --port 1=ring:a --port 2=ring:b --port 3=ring:b \
	  test/moongen/soak.lua -t '$(SECONDS)'

clickelements: perigee
	./perigee run tools/click/elements.lua > doc/click-elements.md

lint: libraries
	luacheck --quiet --no-color .
	$(PYTHON) tools/plain_words.py
	$(CC) $(CFLAGS) -Werror -fsyntax-only $(SOURCES) $(wildcard bench/native/*.c test/native/*.c)

SHARE := $(DESTDIR)$(PREFIX)/share/perigee
DOC := $(DESTDIR)$(PREFIX)/share/doc/perigee

# Pages and READMEs lie in two places, and link to each other: each has links to the
# other's folders.
PAGES := doc examples contrib packaging/README.md packaging/systemd packaging/kubernetes packaging/helm \
  packaging/container

# Made by the program itself, from what --help prints.
manual: perigee
	./perigee run tools/manual/make.lua build/manual

# Fails if a public function has no comment.
docs: perigee
	@command -v ldoc >/dev/null || { echo "make docs needs ldoc: apt-get install\
	  lua-ldoc" >&2; exit 1; }
	rm -rf build/reference build/reference.in
	mkdir -p build/reference build/reference.in
	cp tools/reference/config.ld build/reference.in
	./perigee run tools/reference/make.lua build/reference.in/modules
	cd build/reference.in && ldoc -q -d ../reference -c config.ld modules

site: perigee
	@if command -v ldoc >/dev/null; then $(MAKE) --no-print-directory docs; fi
	tools/site/make

deb:
	packaging/deb

version release:
	@[ '$(origin VERSION)' = 'command line' ] || { echo "make $@ VERSION=X.Y.Z: say which" \
	  "version" >&2; exit 2; }
	@unset MAKEFLAGS MAKEOVERRIDES MFLAGS; '$(PYTHON)' tools/release/make $@ '$(VERSION)'

MAN := $(DESTDIR)$(PREFIX)/share/man/man1
BASH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS := $(DESTDIR)$(PREFIX)/share/zsh/site-functions

install: perigee manual
	install -D perigee '$(DESTDIR)$(PREFIX)/bin/perigee'
	install -d '$(MAN)'
	install -m 644 build/manual/man1/*.1 '$(MAN)'
	install -D -m 644 build/manual/bash/perigee '$(BASH_COMPLETIONS)/perigee'
	install -D -m 644 build/manual/zsh/_perigee '$(ZSH_COMPLETIONS)/_perigee'
	{ find src snabb click moongen -type f ! -name '*_spec.lua' ! -name '*.[ch]' \
	  ! -name '*.pyc' && tools/declarations; } | \
	  while read -r file; do install -D -m 644 "$$file" '$(SHARE)'/"$$file" || exit 1; done
	install -m 644 tools/bytecode.lua '$(SHARE)'
	$(if $(filter no,$(BYTECODE)),rm -f '$(SHARE)/modules.bytecode',./perigee run \
	  tools/bytecode.lua '$(SHARE)' '$(SHARE)/modules.bytecode' '$(PREFIX)/share/perigee' && \
	  chmod 644 '$(SHARE)/modules.bytecode')
	find $(PAGES) README.md SECURITY.md CHANGELOG.md LICENSE -type f ! -name '*.pyc' | \
	  while read -r file; do install -D -m 644 "$$file" '$(DOC)'/"$$file" || exit 1; done
	for room in src snabb click moongen; do \
	  ln -sfn ../../perigee/"$$room" '$(DOC)'/"$$room" || exit 1; done
	for page in doc examples contrib packaging README.md SECURITY.md CHANGELOG.md; do \
	  ln -sfn ../doc/perigee/"$$page" '$(SHARE)'/"$$page" || exit 1; done
	./perigee run tools/manual/pages.lua '$(DOC)' '$(SHARE)'

uninstall:
	rm -rf '$(DESTDIR)$(PREFIX)/bin/perigee' '$(SHARE)' '$(DOC)' '$(MAN)'/perigee.1 \
	  '$(MAN)'/perigee-*.1 '$(BASH_COMPLETIONS)/perigee' '$(ZSH_COMPLETIONS)/_perigee'

clean:
	rm -rf build perigee

help:
	@sed -n 's/^## \{0,1\}//p' Makefile

FORCE:

.PHONY: all bytecode demo test test-guests guest guest-perigee check bench compat clicktests \
  moongentests moongensoak clickelements lint manual docs site deb version release install uninstall clean help libraries FORCE
