/* SPDX-License-Identifier: BSD-2-Clause */
/* The names and the words of these files are those of the kernel's Documentation/ABI/stable/sysfs-class-
 * infiniband. */
#include "cli/run/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nornic/nornic.h"

#define UVERBS_ABI "6" /* of include/uapi/rdma/ib_user_verbs.h */
#define UCM_ABI    "4" /* of include/uapi/rdma/rdma_user_cm.h */

/* --- the devices --- */

static void look_at(const char *port, struct run_device *device)
{
    struct nornic_dev *dev;
    struct nornic_error why;
    struct nornic_port_attr attr;
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = port, .no_thread = true};
    if (nornic_dev_open(&config, &dev, &why) != 0)
        return;
    nornic_dev_query_port(dev, &attr, sizeof attr);
    device->is_up = attr.is_up;
    device->num_pkeys = attr.pkey_table_size;
    for (unsigned i = 0; i < device->num_pkeys; i++)
        (void)nornic_dev_query_pkey(dev, i, &device->pkeys[i]); /* the index is of the table */
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        device->has_gid[i] = nornic_dev_query_gid(dev, i, &device->gids[i]) == 0;
    (void)nornic_dev_close(dev, NULL); /* it has no objects */
}

void run_devices(const struct host_port_names *ports, struct run_device devices[HOST_PORT_NAMES_MAX])
{
    struct net_interface interface;
    for (unsigned i = 0; i < ports->count; i++) {
        struct run_device *device = &devices[i];
        *device = (struct run_device){.guid = host_port_guid(ports->at[i]),
                                      .num_pkeys = 1,
                                      .pkeys = {NORNIC_PKEY_DEFAULT},
                                      .is_iwarp = host_port_is_iwarp(ports->at[i])};
        snprintf(device->name, sizeof device->name, "nornic%u", i);
        snprintf(device->uverbs, sizeof device->uverbs, "uverbs%u", i);
        host_port_place(ports->at[i], &interface);
        snprintf(device->interface, sizeof device->interface, "%s", interface.name);
        look_at(ports->at[i], device);
    }
}

/* --- writing: the first failure is kept, and nothing is written after it --- */

struct writer {
    char base[PATH_MAX];
    int err;
    struct nornic_error *why;
};

static void failed(struct writer *to, const char *path)
{
    to->err = net_error_set(to->why, errno, "cannot make %s: %s", path, strerror(errno));
}

/* A directory and those above it, below the base. */
static void directory(struct writer *to, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", to->base, name);
    char *end = path + strlen(to->base);
    while (!to->err && end) {
        end = strchr(end + 1, '/');
        if (end)
            *end = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            failed(to, path);
        if (end)
            *end = '/';
    }
}

/* Writes a file of one line below the base, and makes its directory. */
__attribute__((format(printf, 3, 4))) static void file(struct writer *to, const char *name,
                                                       const char *format, ...)
{
    char path[2 * PATH_MAX], parent[PATH_MAX];
    va_list args;
    const char *slash = strrchr(name, '/');
    if (slash) {
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - name), name);
        directory(to, parent);
    }
    if (to->err)
        return;
    snprintf(path, sizeof path, "%s/%s", to->base, name);
    FILE *out = fopen(path, "we");
    if (!out) {
        failed(to, path);
        return;
    }
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    fputc('\n', out);
    if (fclose(out) != 0)
        failed(to, path);
}

static void symbolic(struct writer *to, const char *name, const char *target)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", to->base, name);
    if (!to->err && symlink(target, path) != 0)
        failed(to, path);
}

/* --- /sys/class --- */

static void guid_file(struct writer *to, const char *name, uint64_t guid)
{
    uint8_t b[8];
    memcpy(b, &guid, sizeof b);
    file(to, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]);
}

static void gid_files(struct writer *to, const struct run_device *device, unsigned index)
{
    char name[64];
    const uint8_t *b = device->gids[index].addr.b; /* an empty entry is all zeros */
    struct net_interface interface;
    struct nornic_error why;
    snprintf(name, sizeof name, "ports/1/gids/%u", index);
    file(to, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1],
         b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    if (!device->has_gid[index])
        return;
    snprintf(name, sizeof name, "ports/1/gid_attrs/types/%u", index);
    /* of a device that has no RoCE, such as siw, the kernel says what it says of InfiniBand */
    bool is_v2 = device->gids[index].type == NORNIC_GID_V2 && !device->is_iwarp;
    file(to, name, "%s", is_v2 ? "RoCE v2" : "IB/RoCE v1");
    snprintf(name, sizeof name, "ports/1/gid_attrs/ndevs/%u", index);
    bool is_known = net_interface_of_addr(&device->gids[index].addr, &interface, &why) == 0;
    file(to, name, "%s", is_known ? interface.name : device->interface);
}

static void pkey_file(struct writer *to, unsigned index, uint16_t pkey)
{
    char name[64];
    snprintf(name, sizeof name, "ports/1/pkeys/%u", index);
    file(to, name, "0x%04x", pkey);
}

static void port_files(struct writer *to, const struct run_device *device)
{
    file(to, "ports/1/state", "%s", device->is_up ? "4: ACTIVE" : "1: DOWN");
    file(to, "ports/1/phys_state", "%s", device->is_up ? "5: LinkUp" : "3: Disabled");
    file(to, "ports/1/link_layer", "Ethernet");
    file(to, "ports/1/rate", "100 Gb/sec (4X EDR)"); /* as ibv_query_port() has it */
    file(to, "ports/1/lid", "0x0");
    file(to, "ports/1/lid_mask_count", "0");
    file(to, "ports/1/sm_lid", "0x0");
    file(to, "ports/1/sm_sl", "0");
    file(to, "ports/1/cap_mask", "0x00010000");
    for (unsigned i = 0; i < device->num_pkeys; i++)
        pkey_file(to, i, device->pkeys[i]);
    directory(to, "ports/1/gid_attrs/types");
    directory(to, "ports/1/gid_attrs/ndevs");
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        gid_files(to, device, i);
}

/* All processors, as words of 32 bits: the device is as near to one as to another. */
static void processors_file(struct writer *to)
{
    char text[1024] = "";
    long count = sysconf(_SC_NPROCESSORS_CONF);
    size_t used = 0;
    for (long word = (count + 31) / 32 - 1; word >= 0 && used + 16 < sizeof text; word--) {
        long bits = count - 32 * word;
        used += (size_t)snprintf(text + used, sizeof text - used, "%08lx%s",
                                 bits >= 32 ? 0xffffffffUL : (1UL << bits) - 1, word ? "," : "");
    }
    file(to, "device/local_cpus", "%s", text);
}

static void parent_files(struct writer *to, const struct run_device *device)
{
    char name[64], target[64];
    file(to, "device/numa_node", "-1");
    processors_file(to);
    directory(to, "device/net");
    if (!device->interface[0])
        return;
    snprintf(name, sizeof name, "device/net/%s", device->interface);
    snprintf(target, sizeof target, "/sys/class/net/%s", device->interface);
    symbolic(to, name, target);
}

static int begin(struct writer *to, struct nornic_error *why, const char *format, const char *sys_class,
                 const char *name)
{
    *to = (struct writer){.why = why};
    snprintf(to->base, sizeof to->base, format, sys_class, name);
    if (mkdir(to->base, 0755) != 0 && errno != EEXIST)
        failed(to, to->base);
    return to->err;
}

static int device_files(const char *sys_class, const struct run_device *device, unsigned index,
                        struct nornic_error *why)
{
    struct writer to;
    if (begin(&to, why, "%s/infiniband/%s", sys_class, device->name) == 0) {
        file(&to, "node_type", "%s", device->is_iwarp ? "4: RNIC" : "1: CA");
        file(&to, "node_desc", "%s", device->name);
        file(&to, "fw_ver", "%s", nornic_version());
        guid_file(&to, "node_guid", device->guid);
        guid_file(&to, "sys_image_guid", device->guid);
        port_files(&to, device);
        parent_files(&to, device);
    }
    if (!to.err && begin(&to, why, "%s/infiniband_verbs/%s", sys_class, device->uverbs) == 0) {
        file(&to, "ibdev", "%s", device->name);
        file(&to, "abi_version", "1"); /* of no provider: none opens this */
        file(&to, "dev", "231:%u", 192 + index);
    }
    return to.err;
}

int run_files_of_sysfs(const char *sys_class, const struct run_device *devices, unsigned count,
                       struct nornic_error *why)
{
    struct writer to;
    if (begin(&to, why, "%s/%s", sys_class, "infiniband") != 0 ||
        begin(&to, why, "%s/%s", sys_class, "infiniband_verbs") != 0)
        return to.err;
    file(&to, "abi_version", UVERBS_ABI);
    if (to.err || begin(&to, why, "%s/%s", sys_class, "misc/rdma_cm") != 0)
        return to.err;
    file(&to, "abi_version", UCM_ABI);
    int err = to.err;
    for (unsigned i = 0; i < count && !err; i++)
        err = device_files(sys_class, &devices[i], i, why);
    return err;
}

/* --- /dev/infiniband --- */

static int null_device(const char *dev, const char *name, struct nornic_error *why)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dev, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return net_error_set(why, errno, "cannot make %s: %s", path, strerror(errno));
    close(fd);
    if (mount("/dev/null", path, NULL, MS_BIND, NULL) != 0)
        return net_error_set(why, errno, "cannot show /dev/null as %s: %s", path, strerror(errno));
    return 0;
}

int run_files_of_dev(const char *dev, unsigned count, struct nornic_error *why)
{
    char name[24];
    int err = null_device(dev, "rdma_cm", why);
    for (unsigned i = 0; i < count && !err; i++) {
        snprintf(name, sizeof name, "uverbs%u", i);
        err = null_device(dev, name, why);
    }
    return err;
}
