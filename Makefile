# SPDX-License-Identifier: BSD-2-Clause
# nornic: the front door. `make help` lists what it does.
SHELL := /bin/bash
.DEFAULT_GOAL := all
# written down in nornic/version.h
VERSION := $(shell sed -nE 's/.*NORNIC_VERSION_(MAJOR|MINOR|PATCH) +([0-9]+)$$/\2/p' nornic/version.h | paste -sd.)

# --- what to build with ---
# ccache is used where it is installed; `make CCACHE=` does without
CCACHE  ?= $(shell command -v ccache)
ifeq ($(origin CC),default)
CC      := $(if $(CCACHE),ccache )gcc
endif
CLANG   ?= clang
SAN     ?=
PREFIX  ?= /usr/local
prefix  ?= $(PREFIX)
bindir  ?= $(prefix)/bin
libdir  ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
mandir  ?= $(datadir)/man
INSTALL ?= install
empty   :=
comma   := ,
BUILD   ?= build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
silent  := $(filter 1,$(V))$(findstring s,$(firstword -$(MAKEFLAGS)))
say      = @$(if $(silent),:,printf '  %-8s %s\n' $(1) $(2))

# CI sets WERROR=1. Elsewhere a newer compiler or header may warn, and the build still succeeds.
WERROR  ?= 0
werror  := $(if $(filter 1,$(WERROR)),-Werror)
WARN    := -Wall -Wextra $(werror) -Wshadow -Wpointer-arith \
           -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS  ?= -O2 -g
# CPPFLAGS, CFLAGS and LDFLAGS belong to the user. Each ALL_ variable adds them to the flags that the build needs.
ALL_CPPFLAGS := -iquote . -iquote $(BUILD) $(CPPFLAGS)
# HARDEN=0 leaves the flags of hardening out. They do not go with sanitizers, and _FORTIFY_SOURCE not without -O.
HARDEN  ?= 1
accepted = $(shell $(CC) -Werror $(1) -x c -c /dev/null -o /dev/null 2>/dev/null && echo '$(1)')
ifeq ($(HARDEN)$(SAN),1)
HARDEN_CFLAGS := -fstack-protector-strong $(foreach flag,-fstack-clash-protection -fcf-protection \
                   -mbranch-protection=standard,$(call accepted,$(flag))) \
                 $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)), \
                   -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))
HARDEN_LDFLAGS := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
endif
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
# nobody takes the place of a function of the library, so calls inside a file may be inlined though it is -fPIC
ALL_CFLAGS = -std=gnu17 $(WARN) $(ALL_CPPFLAGS) -fPIC -fno-semantic-interposition -fno-strict-aliasing -pthread \
             $(HARDEN_CFLAGS) $(HARDEN_STACK) $(CFLAGS) $(SANFLAGS)
# for a program that is compiled in one step, as its reader would
STANDALONE  := $(WARN) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS)
TIDY_CFLAGS := -std=gnu17 $(ALL_CPPFLAGS) -I.
ALL_LDFLAGS := -pthread $(HARDEN_LDFLAGS) $(LDFLAGS) $(SANFLAGS)
LIBS    := -lxdp -lbpf -lpcap -lmnl -lisal -lz

ROOMS   := base net net/wire net/kernel net/capture net/port net/udp net/share xdp rdma rdma/memory rdma/queue \
           roce roce/wire roce/cc roce/requester roce/responder roce/datagram roce/qp roce/dev roce/cm \
           iwarp iwarp/wire smcr smcr/wire smcr/clc smcr/group smcr/conn smcr/llc smcr/handshake \
           host host/dev host/event host/roce host/iwarp host/iwarp/cm host/cm host/port host/api host/keeper \
           sock sock/socket sock/rendezvous sock/stat service service/memory service/borrow \
           explain explain/packet explain/meaning explain/flow explain/flow/half explain/flow/pair \
           explain/flow/message explain/flow/again explain/flow/strict explain/flow/link explain/flow/twice \
           explain/smc explain/tcp explain/iwarp explain/join explain/join/keep explain/join/match \
           explain/join/fate explain/show explain/story explain/page explain/replay explain/replay/learn \
           explain/replay/smc explain/replay/iwarp
LIB_SRC := $(filter-out %.bpf.c,$(wildcard $(addsuffix /*.c,$(ROOMS))))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
# libibverbs.so.1 and librdmacm.so.1 for programs that were built without nornic: not of the library, but over it
VERBS_ROOMS := verbs verbs/abi verbs/device verbs/faults verbs/memory verbs/queue verbs/show
VERBS_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(addsuffix /*.c,$(VERBS_ROOMS))))
CMA_OBJ   := $(patsubst %.c,$(BUILD)/%.o,$(wildcard verbs/cm/*.c verbs/rsocket/*.c)) $(BUILD)/base/hash.o
# what is put before the C library's socket calls, with the program's half of the service (service/borrow/borrow.h)
PRELOAD_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(addsuffix /*.c,preload preload/calls preload/shadow \
                                                                       service/borrow))) $(BUILD)/base/tcp_only.o
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cli/*.c cli/*/*.c))
# what a program includes: nornic/nornic.h has it all
API_HEADERS    := $(filter-out nornic/engine.h,$(wildcard nornic/*.h))
# what those include who drive an engine themselves (simulators, fuzzers): nornic/engine.h has it all
ENGINE_HEADERS := nornic/engine.h net/port.h xdp/xdp.h \
                  $(addprefix net/,bytes.h error.h field.h impair.h ipv4.h memory.h packet.h pcap_file.h) \
                  $(addprefix rdma/,cq.h mem.h mr.h mw.h srq.h xrc.h) \
                  $(addprefix roce/,cc_config.h counters.h icrc.h opcode.h packet.h psn.h query.h) \
                  $(addprefix roce/,roce.h trace.h wire.h) $(addprefix roce/cm/,cm.h mad.h) \
                  $(addprefix smcr/,clc_wire.h smcr.h stat.h trace.h)
# the other headers are the rooms' own
PUBLIC_HEADERS := $(API_HEADERS) $(ENGINE_HEADERS)

.PHONY: all help
all: $(BUILD)/libnornic.a $(if $(CLI_OBJ),$(BUILD)/nornic) verbs preload ## build/nornic, build/libnornic.a, build/lib
	@:

help: ## this list
	@echo "make TARGET [V=1] [SAN=address,undefined | SAN=thread] [CC=clang] [CFLAGS=...]"
	@sed -nE 's/^([a-z.-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 14

$(BUILD)/libnornic.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/libnornic.so: $(LIB_OBJ) nornic.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,libnornic.so.0 -Wl,--version-script=nornic.map -Wl,-z,defs $(ALL_LDFLAGS) \
	    -o $@ $(LIB_OBJ) $(LIBS)

# their names stand in version nodes, as programs ask for them; whatever else is inside stays there. A program that
# unloads them keeps their code (nodelete): threads of devices that are open run in it
.PHONY: verbs
VERBS_NAMES := libibverbs librdmacm
verbs: $(VERBS_NAMES:%=$(BUILD)/lib/%.so.1) $(VERBS_NAMES:%=$(BUILD)/lib/%.so)

# NCCL and others open the library by the linker's name, without the version
$(BUILD)/lib/%.so: $(BUILD)/lib/%.so.1
	$(Q)ln -sf $(<F) $@

$(BUILD)/lib/libibverbs.so.1: $(VERBS_OBJ) $(BUILD)/libnornic.a verbs/libibverbs.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-soname,libibverbs.so.1 -Wl,--version-script=verbs/libibverbs.map \
	    -Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,nodelete -Wl,--undefined=nornic_cm_open $(ALL_LDFLAGS) -o $@ $(VERBS_OBJ) \
	    $(BUILD)/libnornic.a $(LIBS)

$(BUILD)/lib/librdmacm.so.1: $(CMA_OBJ) $(BUILD)/lib/libibverbs.so.1 verbs/cm/librdmacm.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-soname,librdmacm.so.1 -Wl,--version-script=verbs/cm/librdmacm.map \
	    -Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,nodelete $(ALL_LDFLAGS) -o $@ $(CMA_OBJ) $(BUILD)/lib/libibverbs.so.1

# its functions may be unwound through when a thread is cancelled, so it has the tables for that
.PHONY: preload
preload: $(BUILD)/lib/libnornic-sockets.so

PRELOAD_LD = $(CC) -shared -Wl,--version-script=preload/sockets.map -Wl,-z,defs $(ALL_LDFLAGS)
# it defines read(), recv() and others, whose places the checked functions of _FORTIFY_SOURCE take
$(filter $(BUILD)/preload/%,$(PRELOAD_OBJ)): ALL_CFLAGS += -fexceptions -fvisibility=hidden -ftls-model=initial-exec \
                                                           -U_FORTIFY_SOURCE
$(BUILD)/lib/libnornic-sockets.so: $(PRELOAD_OBJ) preload/sockets.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(PRELOAD_LD) -o $@ $(PRELOAD_OBJ)

# for its tests: the kernel's TCP in the place of the service
PRELOAD_DOUBLE := $(BUILD)/test/preload/sockets-over-tcp.so
$(PRELOAD_DOUBLE): $(filter-out $(BUILD)/service/%,$(PRELOAD_OBJ)) preload/sockets.map \
                   $(BUILD)/test/preload/double/over_tcp.o
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(PRELOAD_LD) -o $@ $(filter %.o,$^)

$(BUILD)/nornic: $(CLI_OBJ) $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -ljson-c -lcrypto

# their stacks are guarded where they hold buffers: guarding each local address costs 4 % of a packet's time
PACKET_ROOMS := base net xdp rdma roce iwarp host/dev host/port
ifneq ($(HARDEN_CFLAGS),)
$(filter $(addprefix $(BUILD)/,$(addsuffix /%,$(PACKET_ROOMS))),$(LIB_OBJ)): HARDEN_STACK := -fstack-protector
endif
$(BUILD)/%.o: %.c | $(BUILD)/.deps
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# a fresh machine: one plain sentence before the first compiler error
$(BUILD)/.deps:
	@test/tools/deps.sh --check build && mkdir -p $(@D) && touch $@

# --- the BPF programs: XDP steering, the filter of packet sockets, SMC-R's TCP option ---
$(BUILD)/%.bpf.o: %.bpf.c | $(BUILD)/.deps
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) -O2 -g -target bpf -Wall $(werror) -iquote . \
	    -I/usr/include/$(shell uname -m)-linux-gnu -ffile-prefix-map=$(CURDIR)=. \
	    -fdebug-compilation-dir=. -MMD -MP -c -o $@ $<

# A program travels inside the library: an .incbin, found by the assembler in the build directory. Link-time
# optimisation does not see what the assembler defines, so these objects stay out of it.
BPF_OBJECTS := $(addprefix $(BUILD)/,net/port/filter_object.o xdp/steer_object.o sock/rendezvous/option_object.o)
$(BPF_OBJECTS): ALL_CFLAGS += -Wa,-I$(BUILD)
$(BUILD)/net/port/filter_object.o: $(BUILD)/net/port/filter.bpf.o
$(BUILD)/xdp/steer_object.o: $(BUILD)/xdp/steer.bpf.o
$(BUILD)/sock/rendezvous/option_object.o: $(BUILD)/sock/rendezvous/option.bpf.o

# so do the page of `nornic explain --html`, and the rules
$(BUILD)/explain/page/assets.o: $(wildcard explain/page/*.html explain/page/*.css explain/page/*.js explain/page/*.txt)
$(BUILD)/explain/packet/rule_book.o: docs/rules.txt
$(BUILD)/explain/show/exercise.o: docs/exercises.txt
$(BPF_OBJECTS) $(BUILD)/explain/page/assets.o $(BUILD)/explain/packet/rule_book.o \
$(BUILD)/cli/explain/tours.o: ALL_CFLAGS += -fno-lto
$(BUILD)/cli/explain/tours.o: $(wildcard pcaps/*.pcap)

# the command's parts, for its tests: they link those they name
$(BUILD)/cli/parts.a: $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJ))
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

# --- tests: one Criterion program a room, of test/ROOM/, its folders and test/support/ ---
TEST_ROOMS := $(sort $(patsubst test/%/,%,$(dir $(wildcard test/*/test_*.c))))
test_files  = $(wildcard test/$(1)/*.c test/$(1)/*/test_*.c test/$(1)/*/*/test_*.c)
TEST_BIN   := $(TEST_ROOMS:%=$(BUILD)/test/%/run)

# two SMC-R instances in memory: tests and fuzzers that name them link them
$(BUILD)/test/smcr_pair.a: $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/smcr_pair/*.c) test/sim/link.c \
                             test/support/random.c test/support/alloc.c)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

# the simulated networks: who judges by them links them
SIM_PARTS := $(filter-out test/sim/test_% test/sim/link.c,$(wildcard test/sim/*.c))
$(BUILD)/test/sim_parts.a: $(SIM_PARTS:%.c=$(BUILD)/%.o)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

define test_program
$(BUILD)/test/$(1)/run: $(patsubst %.c,$(BUILD)/%.o,$(test_files) $(wildcard test/support/*.c)) \
                        $(if $(filter cli,$(1)),$(BUILD)/cli/parts.a) \
                        $(if $(filter verbs,$(1)),$(VERBS_OBJ) $(CMA_OBJ)) \
                        $(if $(filter preload,$(1)),$(addprefix $(BUILD)/preload/,fds.o libc.o decline.o stream.o \
                                                                waiting.o reach.o)) \
                        $(if $(filter explain explain_truth,$(1)),$(BUILD)/test/sim_parts.a) $(BUILD)/test/smcr_pair.a \
                        $(BUILD)/libnornic.a
	$$(call say,LD,$$@)
	$$(Q)$(CC) $(ALL_LDFLAGS) -o $$@ $$^ $(LIBS) -ljson-c -lssl -lcrypto -lz -lcriterion
endef
$(foreach r,$(TEST_ROOMS),$(eval $(call test_program,$(r))))

# one seed of the judged runs as a capture with its truth, and the table of them all
EXPLAIN_TRUTH := $(BUILD)/test/explain_truth/truth
$(EXPLAIN_TRUTH): $(BUILD)/test/explain_truth/tool/truth.o \
                  $(patsubst %.c,$(BUILD)/%.o,$(filter-out test/explain_truth/test_%, \
                      $(wildcard test/explain_truth/*.c))) \
                  $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/support/*.c)) $(BUILD)/test/sim_parts.a \
                  $(BUILD)/test/smcr_pair.a $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -ljson-c -lcriterion

# a program that borrows connections of a service, and nothing of nornic but that: the program's half alone
BORROW_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard service/borrow/*.c))
SERVICE_PEER := $(BUILD)/test/service_peer/peer
$(SERVICE_PEER): $(BUILD)/test/service_peer/peer.o $(BORROW_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

.PHONY: deps tests test check
deps: ## install the Debian packages that a build needs (as root)
	@test/tools/deps.sh build

# programs of the verbs ABI, which know nothing of nornic: linked with the two libraries as any other is
# (the programs of OTHERS are built by the scripts that run them)
OTHERS := $(addprefix test/verbs/programs/,guest.c iser.c mpi.c newer.c)
VERBS_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(filter-out $(OTHERS),$(wildcard test/verbs/programs/*.c)))
$(VERBS_PROGRAMS): $(BUILD)/test/verbs/programs/%: $(BUILD)/test/verbs/programs/%.o | verbs
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl,--as-needed -o $@ $< $(BUILD)/lib/libibverbs.so.1 $(BUILD)/lib/librdmacm.so.1

# random calls of all these libraries and of sockets
RANDOM_CALLS := $(BUILD)/test/verbs/random/random
$(RANDOM_CALLS): $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/verbs/random/*.c)) | verbs
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl,--as-needed -o $@ $^ $(BUILD)/lib/libibverbs.so.1 $(BUILD)/lib/librdmacm.so.1

# a program that changes its user, and nothing of nornic
RENOUNCE := $(BUILD)/test/renounce/renounce
$(RENOUNCE): $(BUILD)/test/renounce/renounce.o
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^

TEST_PROGRAMS := $(VERBS_PROGRAMS) $(RANDOM_CALLS) $(SERVICE_PEER) $(PRELOAD_DOUBLE) $(RENOUNCE)

tests: $(TEST_BIN) $(EXPLAIN_TRUTH) $(TEST_PROGRAMS) examples ## build the test programs

# --- examples: each is one file, compiled as its reader would: only <nornic/...> and the library ---
EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))
$(BUILD)/examples/%: examples/%.c $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=c17 $(STANDALONE) -MMD -MP -I. -o $@ $< \
	    $(BUILD)/libnornic.a $(ALL_LDFLAGS) $(LIBS)

.PHONY: examples
examples: $(EXAMPLES) ## build the examples, build/examples/NAME

# test/interop/smctalk.c over nornic's sockets; the guest has it over the kernel's (mkinitrd)
SMCTALK := $(BUILD)/test/interop/smctalk
$(SMCTALK): test/interop/smctalk.c $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(STANDALONE) -DNORNIC_SOCKETS -MMD -MP -I. -o $@ $< \
	    $(BUILD)/libnornic.a $(ALL_LDFLAGS) $(LIBS)
# and over the C library's, for `nornic run --smc`
$(SMCTALK)-tcp: test/interop/smctalk.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(STANDALONE) -MMD -MP -o $@ $<

# test/interop/crossing.c, a program of librdmacm; the guest has it too
CROSSING := $(BUILD)/test/interop/crossing
$(CROSSING): test/interop/crossing.c
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(STANDALONE) -MMD -MP -o $@ $< -lrdmacm -libverbs
INTEROP_PROGRAMS := $(SMCTALK) $(SMCTALK)-tcp $(CROSSING)

# without root the tools stay optional: what needs them is skipped, and counted
test: ## install packages (as root), build, run every test; PROGRAMS=1: those of verbs-test beside them
	@test/tools/deps.sh build test $(if $(PROGRAMS),verbs) $$([ $$(id -u) != 0 ] || echo tools)
	+$(Q)$(MAKE) --no-print-directory -j$$(nproc) all tests
	@test/run --build $(BUILD) $(if $(PROGRAMS),--programs)

.PHONY: quick regen
quick: all tests ## an answer within three minutes: short suites, text, lint of what changed
	@test/run -j4 --quick

# each of these is compared with its source by `make check`
regen: all $(BUILD)/libnornic.so ## make every generated file anew, then format
	$(Q)$(MAKE) --no-print-directory format
	$(Q)test/tools/abi update
	$(Q)test/tools/apiref write
	$(Q)test/tools/manual write
	$(Q)test/tools/conformance write
	$(Q)test/tools/wireguide write
	$(Q)test/tools/words update

.PHONY: mutate
mutate: ## break the rules of test/mutations one at a time: the tests named after each must fail (half an hour)
	@test/tools/mutate

check: all ## format, linters, layering, symbols, conformance table
	@test/tools/check

# --- fuzzing: test/fuzz/ROOM/fuzz_NAME.c becomes FUZZ_DIR/NAME; its corpus is test/fuzz/corpus/NAME ---
# .clusterfuzzlite/build.sh gives all of these other values
FUZZ_DIR    ?= build/fuzz
FUZZ_ENGINE ?= -fsanitize=fuzzer
FUZZ_LD     ?= $(CC)
FUZZ_SRC    := $(wildcard test/fuzz/*/fuzz_*.c)
FUZZ_BIN    := $(patsubst fuzz_%.c,$(FUZZ_DIR)/%,$(notdir $(FUZZ_SRC)))
# the worlds that targets share: a target links those that it names
$(BUILD)/test/fuzz_parts.a: $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(FUZZ_SRC),$(wildcard test/fuzz/*/*.c)))
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
# of libibverbs and librdmacm, which are not of the library: targets that name them link them
$(BUILD)/test/verbs_parts.a: $(VERBS_OBJ) $(CMA_OBJ)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
# their random calls
$(BUILD)/test/random_parts.a: $(patsubst %,$(BUILD)/test/verbs/random/%.o,verbs cm rsockets)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
# likewise of the library that is put before the C library's socket calls
$(BUILD)/test/preload_parts.a: $(addprefix $(BUILD)/preload/,libc.o decline.o)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

.PHONY: fuzzers fuzz fuzz-targets
# clang warns of {NULL} at the end of a table
fuzzers:
	+$(Q)$(MAKE) --no-print-directory BUILD=build/fuzz/obj CC="$(if $(CCACHE),ccache )$(CLANG)" \
	    CFLAGS="-O1 -g -Wno-missing-field-initializers" SAN=fuzzer-no-link,address,undefined fuzz-targets

fuzz-targets: $(FUZZ_BIN)

define fuzz_target
$(FUZZ_DIR)/$(patsubst fuzz_%.c,%,$(notdir $(1))): $(1:%.c=$(BUILD)/%.o) $(BUILD)/test/fuzz_parts.a \
        $(BUILD)/test/support/train.o $(BUILD)/test/smcr_pair.a $(BUILD)/test/random_parts.a \
        $(BUILD)/test/verbs_parts.a $(BUILD)/test/preload_parts.a $(BUILD)/cli/parts.a $(BUILD)/libnornic.a
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D) && $$(FUZZ_LD) $$(subst fuzzer-no-link$$(comma),,$$(ALL_LDFLAGS)) $$(FUZZ_ENGINE) -o $$@ $$^ \
	    $$(LIBS) -ljson-c -lcrypto
endef
$(foreach f,$(FUZZ_SRC),$(eval $(call fuzz_target,$(f))))

fuzz: fuzzers ## run every fuzzer for FUZZ_TIME seconds (60)
	@FUZZ_TIME=$${FUZZ_TIME:-60} test/run fuzz

.PHONY: night
night: all tests fuzzers ## what takes longer than CI has: fuzzers, seeds, every lint, sanitizers, mutations
	@test/night

# --- running it ---
.PHONY: demo interop bench
demo: ## two network namespaces, RDMA over AF_XDP between them, step by step
	@test/tools/deps.sh build
	+$(Q)$(MAKE) --no-print-directory -j$$(nproc) all
	@$(BUILD)/nornic demo

interop: ## an unmodified Linux kernel in QEMU as the peer (soft-RoCE, software iWARP): CI's list of cases
	@test/tools/deps.sh build test interop
	+$(Q)$(MAKE) --no-print-directory -j$$(nproc) all $(INTEROP_PROGRAMS)
	@test/interop/run

.PHONY: interop-all interop-iwarp
interop-all: ## the same with the whole list; PART=1/2 the first half of it
	@test/tools/deps.sh build test interop
	+$(Q)$(MAKE) --no-print-directory -j$$(nproc) all $(INTEROP_PROGRAMS)
	@test/interop/run --all $(PART:%=--part %)

interop-iwarp: all $(CROSSING) ## the same with software iWARP alone
	@test/tools/deps.sh build test interop
	@test/interop/run iwarp siw

.PHONY: verbs-test
verbs-test: ## UCX, MPI, perftest, fio, tgt, ... over build/lib (root installs them)
	@test/tools/deps.sh build verbs
	+$(Q)$(MAKE) --no-print-directory -j$$(nproc) all
	@test/verbs/programs/run

.PHONY: distro-test
distro-test: ## build and test in a Debian 13 root, with its own rdma-core and perftest (as root)
	@test/tools/deps.sh distro
	@test/distro/run

.PHONY: preload-test
preload-test: all ## programs for TCP sockets by SMC-R (root installs them)
	@test/tools/deps.sh build preload
	@test/preload/programs smc

.PHONY: incast-plot
incast-plot: $(BUILD)/test/sim/run ## simulate 32 senders to one and draw docs/incast.svg
	$(Q)NORNIC_INCAST_CSV=$(BUILD)/incast.csv $(BUILD)/test/sim/run --filter incast/record -q
	$(Q)test/tools/incast-plot $(BUILD)/incast.csv docs/incast.svg

.PHONY: explain-shots
explain-shots: all ## draw docs/explain-*.png: the pages of `nornic explain --html` in a headless Chromium
	$(Q)EXPLAIN_SHOTS=docs test/e2e/explain_page.sh

.PHONY: explain-truth
explain-truth: $(EXPLAIN_TRUTH) ## judge what explain says of simulated runs, and write the table in docs/explain.md
	$(Q)$(EXPLAIN_TRUTH) table docs/explain.md

BENCHES := $(addprefix $(BUILD)/bench/,blast bogus bounce datagrams flooder iwarp_load ping scale socket_load trains)
$(BENCHES): $(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
# with libibverbs inside, so that it can make the same calls of nornic's own API on the same queue pair
$(BUILD)/bench/verbs_calls: $(BUILD)/bench/verbs_calls.o $(VERBS_OBJ) $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

bench: ## throughput against the raw port and kernel TCP, as ratios; floods, sockets, queue pairs, trains, captures
	@test/tools/deps.sh build test tools interop verbs preload
	+$(Q)$(MAKE) --no-print-directory -j$$(nproc) all $(BENCHES) $(BUILD)/bench/verbs_calls
	@bench/run
	@echo
	@bench/udp
	@echo
	@bench/latency
	@echo
	@bench/latency --layers
	@echo
	@bench/flood
	@echo
	@bench/flood --costs
	@echo
	@bench/sockets
	@echo
	@bench/preload
	@echo
	@bench/iwarp
	@echo
	@$(BUILD)/bench/scale
	@echo
	@$(BUILD)/bench/trains
	@echo
	@bench/explain
	@echo
	@bench/page
	@echo
	@bench/processes
	@echo
	@bench/neighbours
	@echo
	@bench/verbs
	@echo
	@bench/guest
	@echo
	@bench/guest --iwarp
	@echo
	@bench/plots

# --- installing it ---
BIN_DIR     := $(DESTDIR)$(bindir)
LIB_DIR     := $(DESTDIR)$(libdir)
DATA_DIR    := $(DESTDIR)$(datadir)
MAN1_DIR    := $(DESTDIR)$(mandir)/man1
INCLUDE_DIR := $(DESTDIR)$(includedir)/nornic
# A folder apart from the distribution's libraries: LD_LIBRARY_PATH puts it first, and `nornic run` finds it.
VERBS_DIR   := $(LIB_DIR)/nornic
# The headers of the rooms stand below nornic/ there, and include each other by that.
INSTALLED_HEADERS := $(patsubst %,$(INCLUDE_DIR)/%,$(PUBLIC_HEADERS:nornic/%=%))
# where shells look for completions; bash wants the name of the command alone
BASH_COMPLETION := bash-completion/completions/nornic.bash
COMPLETIONS     := $(BASH_COMPLETION) zsh/site-functions/_nornic fish/vendor_completions.d/nornic.fish
# The loader finds libnornic.so.0 by its cache, which root renews. A staged installation has none.
LDCONFIG := [ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
.PHONY: install uninstall
install: all $(BUILD)/libnornic.so ## command, libraries, headers, man page, completions into DESTDIR and PREFIX
	$(Q)$(INSTALL) -d $(BIN_DIR) $(MAN1_DIR) $(LIB_DIR)/pkgconfig $(sort $(dir $(INSTALLED_HEADERS)))
	$(Q)$(INSTALL) -m755 $(BUILD)/nornic $(BIN_DIR)/nornic
	$(Q)$(INSTALL) -m644 $(BUILD)/libnornic.a $(LIB_DIR)/
	$(Q)$(INSTALL) -m755 $(BUILD)/libnornic.so $(LIB_DIR)/libnornic.so.$(VERSION)
	$(Q)ln -sf libnornic.so.$(VERSION) $(LIB_DIR)/libnornic.so.0
	$(Q)ln -sf libnornic.so.0 $(LIB_DIR)/libnornic.so
	$(Q)$(INSTALL) -Dm755 -t $(VERBS_DIR) $(VERBS_NAMES:%=$(BUILD)/lib/%.so.1) $(BUILD)/lib/libnornic-sockets.so
	$(Q)$(foreach n,$(VERBS_NAMES),ln -sf $(n).so.1 $(VERBS_DIR)/$(n).so &&) true
	$(Q)$(foreach h,$(PUBLIC_HEADERS),sed -E 's|^#include "(nornic/)?(.*)"|#include <nornic/\2>|' $(h) | \
	    $(INSTALL) -m644 /dev/stdin $(INCLUDE_DIR)/$(h:nornic/%=%) &&) true
	$(Q)sed 's|@PREFIX@|$(prefix)|; s|@LIBDIR@|$(libdir)|; s|@INCLUDEDIR@|$(includedir)|; s|@VERSION@|$(VERSION)|' \
	    nornic.pc.in > $(LIB_DIR)/pkgconfig/nornic.pc
	$(Q)$(INSTALL) -m644 docs/nornic.1 $(MAN1_DIR)/nornic.1
	$(Q)$(foreach c,$(COMPLETIONS),$(INSTALL) -Dm644 docs/completion/$(notdir $(c)) $(DATA_DIR)/$(c) &&) true
	$(Q)mv $(DATA_DIR)/$(BASH_COMPLETION) $(DATA_DIR)/$(basename $(BASH_COMPLETION))
	$(Q)$(LDCONFIG)

uninstall: ## remove what install put there
	$(Q)rm -f $(BIN_DIR)/nornic $(LIB_DIR)/libnornic.{a,so,so.0,so.$(VERSION)} $(LIB_DIR)/pkgconfig/nornic.pc
	$(Q)rm -rf $(INCLUDE_DIR) $(VERBS_DIR) $(MAN1_DIR)/nornic.1
	$(Q)rm -f $(addprefix $(DATA_DIR)/,$(COMPLETIONS) $(basename $(BASH_COMPLETION)))
	$(Q)$(LDCONFIG)

# --- tidying ---
.PHONY: format clean print-%
format: ## clang-format every C file
	$(Q)git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

clean: ## remove build/
	$(Q)rm -rf build

print-%: # for the tools in test/tools
	@echo '$($*)'

.SECONDARY:
-include $(shell find $(BUILD) \( -path $(BUILD)/distro -o -path $(BUILD)/mutate \) -prune -o -name '*.d' -print \
                   2>/dev/null)
