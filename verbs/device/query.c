/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device and its port are: attributes, GIDs, P_Keys. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/api/config.h"
#include "verbs/abi/newer.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/abi/private.h"

/* Numbers that nothing limits but memory. */
#define MANY         (1 << 20)
#define VENDOR_ID    0x006e72 /* none that the IEEE gave away: "nr" */
#define MAX_DM_BYTES (UINT64_C(64) << 20)
#define ODP_OF_ALL                                                                                \
    (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | \
     IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV)
#define WIDTH_4X      2
#define SPEED_25_GBPS 32   /* 4 lanes of EDR: what a software port could be is no number */
#define PORT_SPEED    1000 /* of both, in units of 100 Mbit/s */
#define LINK_UP       5
#define LINK_DISABLED 3

/* --- the device --- */

static uint32_t cap_flags(const struct nornic_dev_attr *attr)
{
    return attr->cap_flags & (IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_AUTO_PATH_MIG |
                              IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
                              IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW |
                              IBV_DEVICE_XRC | IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
    struct verbs_context_own *own = verbs_own(context);
    struct nornic_dev_attr attr;
    nornic_dev_query(own->dev, &attr, sizeof attr);
    *device_attr = (struct ibv_device_attr){
        .node_guid = own->device->guid,
        .sys_image_guid = own->device->guid,
        .max_mr_size = UINT64_MAX,
        .page_size_cap = ~UINT64_C(0xfff),
        .vendor_id = VENDOR_ID,
        .vendor_part_id = 1,
        .hw_ver = nornic_version_number(),
        .max_qp = (int)attr.max_qp,
        .max_qp_wr = (int)attr.max_qp_wr,
        .device_cap_flags = cap_flags(&attr),
        .max_sge = (int)attr.max_sge,
        .max_sge_rd = (int)attr.max_sge,
        .max_cq = VERBS_OBJECTS_MAX,
        .max_cqe = (int)attr.max_cqe,
        .max_mr = (int)attr.max_mr,
        .max_pd = VERBS_OBJECTS_MAX,
        .max_qp_rd_atom = attr.max_qp_rd_atomic,
        .max_res_rd_atom = (int)(attr.max_qp * attr.max_qp_rd_atomic),
        .max_qp_init_rd_atom = attr.max_qp_init_rd_atomic,
        .atomic_cap = (enum ibv_atomic_cap)attr.atomic_cap,
        .max_mw = (int)attr.max_mr,
        .max_mcast_grp = 8192,
        .max_mcast_qp_attach = (int)attr.max_qp,
        .max_total_mcast_qp_attach = MANY,
        .max_ah = VERBS_OBJECTS_MAX,
        .max_srq = VERBS_OBJECTS_MAX,
        .max_srq_wr = (int)attr.max_srq_wr,
        .max_srq_sge = (int)attr.max_sge,
        .max_pkeys = attr.max_pkeys,
        .local_ca_ack_delay = attr.local_ca_ack_delay,
        .phys_port_cnt = 1,
    };
    snprintf(device_attr->fw_ver, sizeof device_attr->fw_ver, "%s", nornic_version());
    return 0;
}

int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                          struct ibv_device_attr_ex *attr, size_t attr_bytes)
{
    struct ibv_device_attr_ex full = {.phys_port_cnt_ex = 1};
    char byte = 0;
    if (input && input->comp_mask)
        return verbs_fail(EINVAL, "query_device_ex: comp_mask 0x%x is not known", input->comp_mask);
    ibv_query_device(context, &full.orig_attr);
    full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
    full.completion_timestamp_mask = UINT64_MAX; /* in nanoseconds, so the clock has 1,000,000 kHz */
    full.hca_core_clock = 1000000;
    full.max_dm_size = MAX_DM_BYTES;
    /* No page is pinned, so all memory comes on demand. */
    full.odp_caps = (struct ibv_odp_caps){
        .general_caps =
            IBV_ODP_SUPPORT | (nornic_memory_check(&byte, 1, true) ? 0 : IBV_ODP_SUPPORT_IMPLICIT),
        .per_transport_caps = {.rc_odp_caps = ODP_OF_ALL,
                               .uc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
                                              IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_SRQ_RECV,
                               .ud_odp_caps =
                                   IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV},
    };
    full.xrc_odp_caps = ODP_OF_ALL;
    host_config_give(attr, attr_bytes, &full, sizeof full);
    return 0;
}

int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
    (void)context;
    if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
        return verbs_fail(EINVAL, "query_rt_values: comp_mask 0x%x is not known", values->comp_mask);
    if (values->comp_mask)
        clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
    return 0;
}

/* --- the port --- */

int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
                     size_t attr_bytes)
{
    struct nornic_port_attr port;
    if (port_num != VERBS_PORT_NUM)
        return verbs_fail(EINVAL, "there is no port %u: the device has one", port_num);
    nornic_dev_query_port(verbs_own(context)->dev, &port, sizeof port);
    const struct ibv_port_attr full = {
        .state = port.is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
        .max_mtu = (enum ibv_mtu)port.max_mtu,
        .active_mtu = port.active_mtu ? (enum ibv_mtu)port.active_mtu : IBV_MTU_256,
        .gid_tbl_len = port.gid_table_size,
        .port_cap_flags = port.cap_flags | IBV_PORT_IP_BASED_GIDS,
        .max_msg_sz = port.max_msg_bytes,
        .bad_pkey_cntr = port.bad_pkey_counter,
        .qkey_viol_cntr = port.qkey_viol_counter,
        .pkey_tbl_len = port.pkey_table_size,
        .max_vl_num = 1,
        .active_width = WIDTH_4X,
        .active_speed = SPEED_25_GBPS,
        .phys_state = port.is_up ? LINK_UP : LINK_DISABLED,
        .link_layer = IBV_LINK_LAYER_ETHERNET,
        .flags = IBV_QPF_GRH_REQUIRED,
    };
    host_config_give(attr, attr_bytes, &full, sizeof full);
    return 0;
}

/* Programs of before the structure grew: its first part. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *port_attr)
{
    return verbs_query_port(context, port_num, (struct ibv_port_attr *)(void *)port_attr,
                            offsetof(struct ibv_port_attr, port_cap_flags2));
}

int verbs_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *speed)
{
    (void)context;
    if (port_num != VERBS_PORT_NUM)
        return verbs_fail(EINVAL, "there is no port %u: the device has one", port_num);
    *speed = PORT_SPEED;
    return 0;
}

/* --- GIDs --- */

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
    struct nornic_gid found;
    if (port_num != VERBS_PORT_NUM || index < 0 || index >= NORNIC_GID_MAX) {
        verbs_fail(EINVAL, "there is no GID %d of port %u", index, port_num);
        return -1;
    }
    memset(gid, 0, sizeof *gid); /* an empty entry, as the kernel shows it */
    if (nornic_dev_query_gid(verbs_own(context)->dev, (unsigned)index, &found) == 0)
        memcpy(gid->raw, found.addr.b, sizeof gid->raw);
    return 0;
}

static bool entry_at(struct ibv_context *context, unsigned index, struct ibv_gid_entry *out)
{
    struct nornic_gid found;
    bool is_iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP; /* which has nothing of RoCE */
    if (nornic_dev_query_gid(verbs_own(context)->dev, index, &found) != 0)
        return false;
    *out = (struct ibv_gid_entry){
        .gid_index = index,
        .port_num = VERBS_PORT_NUM,
        .ndev_ifindex = nornic_dev_query_ifindex(verbs_own(context)->dev, index),
        .gid_type = is_iwarp                      ? IBV_GID_TYPE_IB
                    : found.type == NORNIC_GID_V2 ? IBV_GID_TYPE_ROCE_V2
                                                  : IBV_GID_TYPE_ROCE_V1,
    };
    memcpy(out->gid.raw, found.addr.b, sizeof out->gid.raw);
    return true;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
    struct ibv_gid_entry found;
    if (port_num != VERBS_PORT_NUM || flags || gid_index >= NORNIC_GID_MAX)
        return verbs_fail(EINVAL, "there is no GID %u of port %u (flags 0x%x)", gid_index, port_num, flags);
    if (!entry_at(context, gid_index, &found))
        return verbs_fail(ENODATA, "GID %u is empty", gid_index);
    host_config_give(entry, entry_size, &found, sizeof found);
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size)
{
    struct ibv_gid_entry found;
    size_t count = 0;
    if (flags)
        return -verbs_fail(EINVAL, "query_gid_table: flags 0x%x are not known", flags);
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        if (!entry_at(context, i, &found))
            continue;
        if (count == max_entries)
            return -verbs_fail(EINVAL, "the GID table has more than %zu entries", max_entries);
        host_config_give((char *)entries + count++ * entry_size, entry_size, &found, sizeof found);
    }
    return (ssize_t)count;
}

/* For ibv_devinfo and pyverbs: what sysfs would say, as a number of enum ibv_gid_type_sysfs (0: IB or RoCE
 * v1, 1: RoCE v2). An empty entry has the kind of the first. */
VERBS_PRIVATE(int verbs_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index,
                                       unsigned *type),
              verbs_query_gid_type, ibv_query_gid_type);

int verbs_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, unsigned *type)
{
    struct ibv_gid_entry found;
    if (port_num != VERBS_PORT_NUM || index >= NORNIC_GID_MAX) {
        verbs_fail(EINVAL, "there is no GID %u of port %u", index, port_num);
        return -1;
    }
    *type = entry_at(context, index, &found) && found.gid_type == IBV_GID_TYPE_ROCE_V2;
    return 0;
}

/* --- P_Keys --- */

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
    uint16_t found;
    if (port_num != VERBS_PORT_NUM || index < 0 ||
        nornic_dev_query_pkey(verbs_own(context)->dev, (unsigned)index, &found) != 0) {
        verbs_fail(EINVAL, "there is no P_Key %d of port %u", index, port_num);
        return -1;
    }
    *pkey = htons(found);
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
    __be16 found;
    for (int i = 0; i < NORNIC_PKEY_MAX && ibv_query_pkey(context, port_num, i, &found) == 0; i++)
        if (found == pkey)
            return i;
    verbs_fail(EINVAL, "port %u has no P_Key 0x%04x", port_num, ntohs(pkey));
    return -1;
}

/* --- files of the kernel --- */

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

const char *ibv_get_sysfs_path(void)
{
    return "/sys";
}

/* The file below a directory of sysfs: its length without the newline, or -1. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buf, size);
    int err = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0) {
        verbs_fail(err, "%s cannot be read", path);
        return -1;
    }
    if (got > 0 && buf[got - 1] == '\n')
        buf[--got] = '\0';
    else if ((size_t)got < size)
        buf[got] = '\0';
    return (int)got;
}
