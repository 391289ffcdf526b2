# nornic: the front door. `make help` lists what it does.
SHELL := /bin/bash
.DEFAULT_GOAL := all

# --- what to build with ---
CC      ?= gcc
CLANG   ?= clang
AR      ?= ar
SAN     ?=
empty   :=
comma   := ,
BUILD   := build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = @$(if $(filter 1,$(V)),:,printf '  %-8s %s\n' $(1) $(2))

WARN    := -Wall -Wextra -Werror -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS  ?= -O2 -g
ALL_CFLAGS := -std=gnu17 $(WARN) -iquote . -iquote $(BUILD) -fPIC -fno-strict-aliasing -pthread $(CFLAGS) \
              $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
ALL_LDFLAGS := -pthread $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
LIBS    := -lxdp -lbpf -lpcap -lmnl -lisal

ROOMS   := net xdp rdma roce host
LIB_SRC := $(wildcard $(addsuffix /*.c,$(ROOMS)))
LIB_SRC := $(filter-out %.bpf.c,$(LIB_SRC))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
CLI_SRC := $(wildcard cli/*.c)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)

.PHONY: all
all: $(BUILD)/libnornic.a $(if $(CLI_SRC),$(BUILD)/nornic)

$(BUILD)/libnornic.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^

$(BUILD)/nornic: $(CLI_OBJ) $(BUILD)/libnornic.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -ljson-c

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# --- the XDP program ---
$(BUILD)/xdp/%.bpf.o: xdp/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) -O2 -g -target bpf -Wall -Werror -iquote . -I/usr/include/$(shell uname -m)-linux-gnu -c -o $@ $<

# --- tests: one Criterion program a room, of test/ROOM/test_*.c and test/support/*.c ---
TEST_ROOMS := $(sort $(patsubst test/%/,%,$(dir $(wildcard test/*/test_*.c))))
TEST_BIN   := $(TEST_ROOMS:%=$(BUILD)/test/%/run)
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/support/*.c))

define test_program
$(BUILD)/test/$(1)/run: $(patsubst %.c,$(BUILD)/%.o,$(wildcard test/$(1)/*.c)) $(SUPPORT_OBJ) $(BUILD)/libnornic.a
	$$(call say,LD,$$@)
	$$(Q)$(CC) $(ALL_LDFLAGS) -o $$@ $$^ $(LIBS) -ljson-c -lz -lcriterion
endef
$(foreach r,$(TEST_ROOMS),$(eval $(call test_program,$(r))))

.PHONY: tests
tests: $(TEST_BIN)

.PHONY: clean
clean:
	$(Q)rm -rf build

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
