/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors beside the port's that a device listens to: the kernel's news about its interface, answers
 * about neighbours. They are rare; the path of frames does not pay for them. Internal to host/. */
#ifndef NORNIC_HOST_SOURCES_H
#define NORNIC_HOST_SOURCES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct host_source {
    /* Called in a round, under the device's lock, when the descriptor is readable. It may take any source
     * out. */
    void (*ready)(struct host_source *source, uint64_t now_ns);
    int fd;
};

struct host_sources {
    int fd;                  /* epoll: polls readable when one of them does; -1: there are none */
    atomic_bool is_readable; /* a sleeper saw it so */
    uint64_t looked_ns;      /* when a round last looked */
};

/* 0 or -errno. */
int host_sources_init(struct host_sources *sources);
void host_sources_deinit(struct host_sources *sources);

/* Under the device's lock. The source stays where it is until it is taken out. 0 or -errno. */
int host_source_add(struct host_sources *sources, struct host_source *source);
void host_source_remove(struct host_sources *sources, struct host_source *source);

/* Calls those that are readable, if a sleeper saw one, or if nobody has looked for a millisecond (a device
 * that never sleeps). Returns whether there were any. */
bool host_sources_round(struct host_sources *sources, uint64_t now_ns);

#endif
