/* SPDX-License-Identifier: BSD-2-Clause */
#include "sock/rendezvous/rendezvous.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/smc_mark.h"
#include "sock/rendezvous/cgroup.h"
#include "sock/rendezvous/map.h"
#include "sock/rendezvous/option_object.h"

struct smcr_rendezvous_ctl {
    struct bpf_object *object; /* NULL: the administrator's, who has enabled the cgroup; all else is unset */
    struct smcr_cgroup cgroup;
    int map_fd;
    int link_fd;
};

/* libbpf tells its troubles on stderr; the user gets one sentence from us instead. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
    (void)level;
    (void)format;
    (void)args;
    return 0;
}

static int cannot_load(int err, struct nornic_error *why)
{
    if (err == -EPERM || err == -EACCES)
        return net_error_set(
            why, -err,
            "the TCP option of SMC-R needs BPF: root, or the capabilities CAP_BPF and CAP_NET_ADMIN");
    return net_error_set(why, -err, "the kernel does not take the BPF program of SMC-R's TCP option: %s",
                         strerror(-err));
}

static int set_mode(const struct bpf_object *object, bool all_offer, struct nornic_error *why)
{
    uint32_t first = 0, mode = all_offer;
    int fd = bpf_object__find_map_fd_by_name(object, SMCR_RENDEZVOUS_MODE_MAP);
    int err = bpf_map_update_elem(fd, &first, &mode, BPF_ANY);
    return err ? net_error_set(why, -err,
                               "cannot tell the BPF program of SMC-R's TCP option which sockets offer: %s",
                               strerror(-err))
               : 0;
}

int smcr_rendezvous_load(bool all_offer, struct bpf_object **out, struct nornic_error *why)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "nornic");
    libbpf_print_fn_t print = libbpf_set_print(say_nothing);
    *out = bpf_object__open_mem(smcr_rendezvous_object, smcr_rendezvous_object_bytes, &options);
    int err = *out ? bpf_object__load(*out) : -errno;
    libbpf_set_print(print);
    if (!err)
        err = set_mode(*out, all_offer, why);
    else
        err = cannot_load(err, why);
    if (err) {
        bpf_object__close(*out);
        *out = NULL;
    }
    return err;
}

static int attach(struct smcr_rendezvous_ctl *ctl, struct nornic_error *why)
{
    struct bpf_program *program = bpf_object__find_program_by_name(ctl->object, SMCR_RENDEZVOUS_PROGRAM);
    ctl->link_fd = bpf_link_create(bpf_program__fd(program), ctl->cgroup.fd, BPF_CGROUP_SOCK_OPS, NULL);
    if (ctl->link_fd >= 0)
        return 0;
    return net_error_set(why, -ctl->link_fd, "cannot attach the BPF program of SMC-R's TCP option to %s: %s",
                         ctl->cgroup.own, strerror(-ctl->link_fd));
}

int smcr_rendezvous_open(struct smcr_rendezvous_ctl **out, bool all_offer, struct nornic_error *why)
{
    struct smcr_rendezvous_ctl *ctl = calloc(1, sizeof *ctl);
    if (!ctl)
        return net_error_set(why, ENOMEM, "out of memory");
    int err = smcr_rendezvous_load(all_offer, &ctl->object, why);
    if (err)
        goto free_ctl;
    ctl->map_fd = bpf_object__find_map_fd_by_name(ctl->object, SMCR_RENDEZVOUS_MAP);
    err = smcr_cgroup_enter(&ctl->cgroup, why);
    if (err)
        goto close_object;
    err = attach(ctl, why);
    if (err)
        goto leave;
    *out = ctl;
    return 0;

leave:
    smcr_cgroup_leave(&ctl->cgroup);
close_object:
    bpf_object__close(ctl->object);
free_ctl:
    free(ctl);
    return err;
}

bool smcr_rendezvous_use_enabled(struct smcr_rendezvous_ctl **out)
{
    struct smcr_rendezvous_ctl *ctl = smc_mark_is_enabled() ? calloc(1, sizeof *ctl) : NULL;
    *out = ctl;
    return ctl != NULL;
}

void smcr_rendezvous_close(struct smcr_rendezvous_ctl *ctl)
{
    if (ctl->object) {
        close(ctl->link_fd);
        smcr_cgroup_leave(&ctl->cgroup);
        bpf_object__close(ctl->object);
    }
    free(ctl);
}

int smcr_rendezvous_admit(const struct smcr_rendezvous_ctl *ctl, pid_t pid)
{
    return ctl->object ? smcr_cgroup_admit(&ctl->cgroup, pid) : -EOPNOTSUPP;
}

const struct smcr_cgroup *smcr_rendezvous_cgroup(const struct smcr_rendezvous_ctl *ctl)
{
    return ctl->object ? &ctl->cgroup : NULL;
}

int smcr_rendezvous_want(struct smcr_rendezvous_ctl *ctl, int tcp_fd, bool wants)
{
    struct smcr_rendezvous value = {.wants = wants};
    /* A listener's children are asked about their SYN, and its repeated SYN-ACKs too (SMCR-REN-03). */
    if (!smc_mark_set(tcp_fd, wants ? SMC_MARK_ASKED : 0))
        return -errno;
    return !ctl->object ? 0 : bpf_map_update_elem(ctl->map_fd, &tcp_fd, &value, BPF_ANY);
}

bool smcr_rendezvous_seen(struct smcr_rendezvous_ctl *ctl, int tcp_fd)
{
    struct smcr_rendezvous value;
    if (ctl->object && bpf_map_lookup_elem(ctl->map_fd, &tcp_fd, &value) == 0 && value.seen != 0)
        return true;
    return smc_mark(tcp_fd) == SMC_MARK_SEEN;
}
