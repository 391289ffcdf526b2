/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/steer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "xdp/steer_object.h"

int xdp_needs_privileges(const char *ifname, int errno_value, struct nornic_error *why)
{
    return net_error_set(
        why, errno_value,
        "XDP on %s needs root, or the capabilities CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF; those of "
        "a user namespace do not do",
        ifname);
}

int xdp_mtu_too_large(const struct net_interface *interface, struct nornic_error *why)
{
    const char *name = interface->name;
    return net_error_set(
        why, ERANGE,
        "MTU %u of %s is too large for XDP: at most %u; set it with `ip link set %s mtu %u`, or "
        "use --port packet:%s",
        interface->mtu_bytes, name, XDP_MTU_ONE_BUFFER, name, XDP_MTU_ONE_BUFFER, name);
}

int xdp_in_use(const char *ifname, struct nornic_error *why)
{
    return net_error_set(why, EBUSY,
                         "another running nornic has its XDP program on %s; end it first, or use another "
                         "interface",
                         ifname);
}

/* Opens the program `id` and reads its name. Returns its descriptor or -errno. */
static int open_program(uint32_t id, char name[BPF_OBJ_NAME_LEN])
{
    struct bpf_prog_info info = {0};
    uint32_t info_bytes = sizeof info;
    int fd = bpf_prog_get_fd_by_id(id);
    if (fd < 0)
        return fd;
    int err = bpf_obj_get_info_by_fd(fd, &info, &info_bytes);
    if (err < 0) {
        close(fd);
        return err;
    }
    snprintf(name, BPF_OBJ_NAME_LEN, "%s", info.name);
    return fd;
}

/* Takes off a program of ours that has no link, hence no owner. With a link the kernel refuses. */
static int remove_ours(const struct net_interface *interface, uint32_t mode_flag, int program_fd,
                       struct nornic_error *why)
{
    LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = program_fd);
    int err = bpf_xdp_detach((int)interface->index, mode_flag | XDP_FLAGS_REPLACE, &options);
    if (err == -EPERM || err == -EACCES)
        return xdp_needs_privileges(interface->name, -err, why);
    return err < 0 ? xdp_in_use(interface->name, why) : 0;
}

static int clear_program(const struct net_interface *interface, uint32_t id, uint32_t mode_flag,
                         struct nornic_error *why)
{
    char name[BPF_OBJ_NAME_LEN] = "";
    if (id == 0)
        return 0;
    int fd = open_program(id, name);
    if (fd == -ENOENT) /* gone since it was asked for */
        return 0;
    if (fd == -EPERM || fd == -EACCES)
        return xdp_needs_privileges(interface->name, -fd, why);
    if (fd < 0)
        return net_error_set(why, -fd, "cannot look at the XDP program (id %u) on %s: %s", id,
                             interface->name, strerror(-fd));
    int err;
    if (strcmp(name, XDP_STEER_PROGRAM) == 0)
        err = remove_ours(interface, mode_flag, fd, why);
    else
        err = net_error_set(why, EBUSY,
                            "%s already runs the XDP program \"%s\" (id %u), which is not nornic's: take it "
                            "off with `ip link set dev %s xdp off`, or use --port packet:%s",
                            interface->name, name, id, interface->name, interface->name);
    close(fd);
    return err;
}

int xdp_steer_clear(const struct net_interface *interface, struct nornic_error *why)
{
    LIBBPF_OPTS(bpf_xdp_query_opts, query);
    libbpf_print_fn_t print = libbpf_set_print(NULL); /* the user gets one sentence from us instead */
    int err = bpf_xdp_query((int)interface->index, 0, &query);
    if (err < 0)
        net_error_set(why, -err, "cannot ask for the XDP program on %s: %s", interface->name, strerror(-err));
    else
        err = clear_program(interface, query.drv_prog_id, XDP_FLAGS_DRV_MODE, why);
    if (!err)
        err = clear_program(interface, query.skb_prog_id, XDP_FLAGS_SKB_MODE, why);
    if (!err)
        err = clear_program(interface, query.hw_prog_id, XDP_FLAGS_HW_MODE, why);
    libbpf_set_print(print);
    return err;
}

int xdp_steer_load(struct xdp_steer *steer, bool frags, bool roce_v1, struct nornic_error *why)
{
    const struct net_gate_program program = {
        .elf = xdp_steer_object,
        .elf_bytes = xdp_steer_object_bytes,
        .name = XDP_STEER_PROGRAM,
        .roce_v1 = roce_v1,
        .extra_flags = frags ? BPF_F_XDP_HAS_FRAGS : 0,
    };
    steer->link_fd = -1;
    int err = net_gate_load(&steer->gate, &program);
    if (err == -EPERM || err == -EACCES)
        return net_error_set(
            why, -err, "loading the XDP program needs root, or the capabilities CAP_NET_ADMIN and CAP_BPF");
    if (err)
        return net_error_set(why, -err, "the kernel does not take the XDP program: %s", strerror(-err));
    return 0;
}

int xdp_steer_bind(struct xdp_steer *steer, uint32_t queue, int socket_fd)
{
    int map_fd = bpf_object__find_map_fd_by_name(steer->gate.object, XDP_STEER_MAP);
    return bpf_map_update_elem(map_fd, &queue, &socket_fd, BPF_ANY);
}

static int link_program(struct xdp_steer *steer, unsigned ifindex, uint32_t mode_flag)
{
    LIBBPF_OPTS(bpf_link_create_opts, options, .flags = mode_flag);
    int fd = bpf_link_create(steer->gate.program_fd, (int)ifindex, BPF_XDP, &options);
    if (fd < 0)
        return fd;
    steer->link_fd = fd;
    steer->is_native = mode_flag == XDP_FLAGS_DRV_MODE;
    return 0;
}

static int explain_attach(const struct net_interface *interface, enum xdp_mode mode, int err,
                          struct nornic_error *why)
{
    const char *name = interface->name;
    if (err == -EPERM || err == -EACCES)
        return xdp_needs_privileges(name, -err, why);
    if (err == -EBUSY || err == -EEXIST)
        return xdp_in_use(name, why);
    if (interface->mtu_bytes > XDP_MTU_ONE_BUFFER && (err == -ERANGE || err == -EINVAL))
        return xdp_mtu_too_large(interface, why);
    if (mode == XDP_MODE_NATIVE && err == -EOPNOTSUPP)
        return net_error_set(why, EOPNOTSUPP,
                             "the driver of %s has no native XDP: use the generic mode, or --port packet:%s",
                             name, name);
    return net_error_set(why, -err, "cannot put the XDP program on %s: %s; --port packet:%s needs no XDP",
                         name, strerror(-err), name);
}

int xdp_steer_attach(struct xdp_steer *steer, const struct net_interface *interface, enum xdp_mode mode,
                     struct nornic_error *why)
{
    int err = -EOPNOTSUPP;
    if (mode != XDP_MODE_GENERIC)
        err = link_program(steer, interface->index, XDP_FLAGS_DRV_MODE);
    /* What is in the way of both modes is a program or a privilege; all else is the driver's. */
    bool is_driver_trouble = err != -EBUSY && err != -EEXIST && err != -EPERM && err != -EACCES;
    if (mode == XDP_MODE_GENERIC || (mode == XDP_MODE_AUTO && err < 0 && is_driver_trouble))
        err = link_program(steer, interface->index, XDP_FLAGS_SKB_MODE);
    return err < 0 ? explain_attach(interface, mode, err, why) : 0;
}

void xdp_steer_close(struct xdp_steer *steer)
{
    if (steer->link_fd >= 0)
        close(steer->link_fd);
    steer->link_fd = -1;
    net_gate_unload(&steer->gate);
}
