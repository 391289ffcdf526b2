/* SPDX-License-Identifier: BSD-2-Clause */
/* A device as the kernel shows an adapter in files: /sys/class/infiniband, /sys/class/infiniband_verbs,
 * /sys/class/misc/rdma_cm, /dev/infiniband. Some programs look at these and not at libibverbs alone. */
#ifndef NORNIC_CLI_RUN_FILES_H
#define NORNIC_CLI_RUN_FILES_H

#include <stdbool.h>

#include "host/port/names.h"
#include "nornic/device.h"

struct run_device {
    char name[24];      /* "nornic0" */
    char uverbs[24];    /* "uverbs0" */
    uint64_t guid;      /* in network order */
    char interface[16]; /* "": nobody knows */
    bool is_up;
    bool is_iwarp;
    bool has_gid[NORNIC_GID_MAX];
    struct nornic_gid gids[NORNIC_GID_MAX];
    uint16_t num_pkeys;
    uint16_t pkeys[NORNIC_PKEY_MAX];
};

/* The devices that libibverbs will have for these ports. Each port is opened once, to see its GIDs, and
 * closed; one that cannot be opened is a device that is down. */
void run_devices(const struct host_port_names *ports, struct run_device devices[HOST_PORT_NAMES_MAX]);

/* Writes the files of `count` devices below three directories that are there: the classes infiniband and
 * infiniband_verbs, and rdma_cm of class misc. 0, or -errno with a sentence that names the file. */
int run_files_of_sysfs(const char *sys_class, const struct run_device *devices, unsigned count,
                       struct nornic_error *why);

/* Makes /dev/infiniband's files below the directory `dev`: uverbs0, uverbs1, ... and rdma_cm, of which
 * each is /dev/null, since it is only looked at. For who may mount. 0, or -errno with a sentence that
 * names the file. */
int run_files_of_dev(const char *dev, unsigned count, struct nornic_error *why);

#endif
