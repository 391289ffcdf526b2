/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening the XDP port: what is in the way gets a sentence, and nothing stays behind. */
#define _GNU_SOURCE /* unshare() */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/packet.h"
#include "test/support/netns.h"
#include "xdp/steer.h"
#include "xdp/xdp.h"

static struct netns_veth veth;

static void setup(void)
{
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 0);
}

static void teardown(void)
{
    netns_veth_destroy(&veth);
}

TestSuite(xdp_open, .init = setup, .fini = teardown, .timeout = 30);

static int open_nn0(struct xdp_config config, struct net_port **port, struct nornic_error *why)
{
    *port = NULL;
    why->text[0] = '\0';
    if (!config.ifname)
        config.ifname = "nn0";
    return xdp_port_open(&config, port, why);
}

/* The id of whatever XDP program is on nn0; 0: none. */
static uint32_t attached_id(void)
{
    LIBBPF_OPTS(bpf_xdp_query_opts, query);
    cr_assert_eq(bpf_xdp_query((int)if_nametoindex("nn0"), 0, &query), 0);
    return query.prog_id;
}

static int load_pass_all(const char *name)
{
    static const struct bpf_insn pass[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_EXIT},
    };
    int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, name, "GPL", pass, 2, NULL);
    cr_assert_geq(fd, 0);
    return fd;
}

Test(xdp_open, auto_is_native_on_veth_and_close_detaches)
{
    struct net_port *port;
    struct nornic_error why;
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    cr_expect_str_eq(port->name, "xdp:nn0");
    cr_expect_eq(strncmp(port->mode, "native, need-wakeup, copy", 25), 0, "%s", port->mode);
    cr_expect_eq(port->limits.mtu_bytes, 1500);
    cr_expect_geq(net_port_fd(port), 0);
    cr_expect_neq(attached_id(), 0);
    net_port_close(port);
    cr_expect_eq(attached_id(), 0);
}

/* What busy polling asks for: a call that sends polls the receive queue on its way. */
Test(xdp_open, calls_poll_the_queue)
{
    struct net_port *port;
    struct nornic_error why;
    int busy_poll_us = 0;
    socklen_t len = sizeof busy_poll_us;
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    cr_assert_eq(getsockopt(net_port_fd(port), SOL_SOCKET, SO_BUSY_POLL, &busy_poll_us, &len), 0);
    cr_expect_gt(busy_poll_us, 0);
    net_port_close(port);
}

Test(xdp_open, loopback_falls_back_to_generic)
{
    struct net_port *port;
    struct nornic_error why;
    cr_assert_eq(netns_run(&veth, 0, "ip link set lo mtu 1500"), 0);
    cr_assert_eq(open_nn0((struct xdp_config){.ifname = "lo"}, &port, &why), 0, "%s", why.text);
    cr_expect_eq(strncmp(port->mode, "generic, ", 9), 0, "%s", port->mode);
    net_port_close(port);
    cr_expect_eq(open_nn0((struct xdp_config){.ifname = "lo", .mode = XDP_MODE_NATIVE}, &port, &why),
                 -EOPNOTSUPP);
    cr_expect(strstr(why.text, "no native XDP"), "%s", why.text);
}

Test(xdp_open, wrong_interface_queue_and_ring_are_named)
{
    struct net_port *port;
    struct nornic_error why;
    cr_expect_eq(open_nn0((struct xdp_config){.ifname = "nowhere0"}, &port, &why), -ENODEV);
    cr_expect(strstr(why.text, "nowhere0"), "%s", why.text);
    cr_expect_eq(open_nn0((struct xdp_config){.queue = 7}, &port, &why), -EINVAL);
    cr_expect(strstr(why.text, "nn0 has no receive queue 7"), "%s", why.text);
    cr_expect_eq(open_nn0((struct xdp_config){.queue = 256}, &port, &why), -EINVAL);
    cr_expect(strstr(why.text, "at most 255"), "%s", why.text);
    cr_expect_eq(open_nn0((struct xdp_config){.ring_frames = 1000}, &port, &why), -EINVAL);
    cr_expect(strstr(why.text, "1000"), "%s", why.text);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 down"), 0);
    cr_expect_eq(open_nn0((struct xdp_config){0}, &port, &why), -ENETDOWN);
    cr_expect(strstr(why.text, "ip link set nn0 up"), "%s", why.text);
}

Test(xdp_open, second_user_of_an_interface_is_refused)
{
    struct net_port *port, *second;
    struct nornic_error why;
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    uint32_t id = attached_id();
    cr_expect_eq(open_nn0((struct xdp_config){0}, &second, &why), -EBUSY);
    cr_expect(strstr(why.text, "another running nornic"), "%s", why.text);
    cr_expect_eq(attached_id(), id, "the first user keeps its program");
    net_port_close(port);
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    net_port_close(port);
}

Test(xdp_open, foreign_program_is_named_and_left_alone)
{
    struct net_port *port;
    struct nornic_error why;
    int fd = load_pass_all("someone_else");
    for (int generic = 0; generic < 2; generic++) {
        uint32_t flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
        cr_assert_eq(bpf_xdp_attach((int)if_nametoindex("nn0"), fd, flags, NULL), 0);
        cr_expect_eq(open_nn0((struct xdp_config){0}, &port, &why), -EBUSY);
        cr_expect(strstr(why.text, "\"someone_else\""), "%s", why.text);
        cr_expect(strstr(why.text, "ip link set dev nn0 xdp off"), "%s", why.text);
        cr_expect_neq(attached_id(), 0);
        cr_assert_eq(bpf_xdp_detach((int)if_nametoindex("nn0"), flags, NULL), 0);
    }
    close(fd);
}

Test(xdp_open, program_of_ours_without_an_owner_is_replaced)
{
    struct net_port *port;
    struct nornic_error why;
    int fd = load_pass_all(XDP_STEER_PROGRAM);
    cr_assert_eq(bpf_xdp_attach((int)if_nametoindex("nn0"), fd, XDP_FLAGS_DRV_MODE, NULL), 0);
    close(fd);
    uint32_t stale_id = attached_id();
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    cr_expect_neq(attached_id(), stale_id);
    net_port_close(port);
    cr_expect_eq(attached_id(), 0);
}

/* A process that holds a port on nn0 and does nothing else. */
static pid_t start_holder(void)
{
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        struct net_port *port;
        struct nornic_error why;
        if (open_nn0((struct xdp_config){0}, &port, &why) < 0 || write(ready[1], "+", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte;
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

Test(xdp_open, killed_holder_leaves_nothing_attached)
{
    struct net_port *port;
    struct nornic_error why;
    pid_t pid = start_holder();
    cr_expect_neq(attached_id(), 0);
    cr_expect_eq(open_nn0((struct xdp_config){0}, &port, &why), -EBUSY);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_expect_eq(attached_id(), 0);
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    net_port_close(port);
}

Test(xdp_open, without_capabilities_the_sentence_names_them)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};
        struct net_port *port;
        struct nornic_error why;
        if (syscall(SYS_capset, &head, none) != 0)
            _exit(2);
        int result = open_nn0((struct xdp_config){0}, &port, &why);
        _exit(result == -EPERM && strstr(why.text, "CAP_NET_ADMIN") && strstr(why.text, "nn0") ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
}

/* A packet port sees what comes before XDP would take it, so either can be there, not both. */
Test(xdp_open, a_packet_port_and_a_program_refuse_each_other)
{
    struct net_port *packet, *port;
    struct nornic_error why;
    struct net_packet_config config = {.ifname = "nn0", .ring_frames = 256};
    cr_assert_eq(net_packet_open(&config, &packet, &why), 0, "%s", why.text);
    cr_expect_eq(open_nn0((struct xdp_config){0}, &port, &why), -EBUSY);
    cr_expect(strstr(why.text, "packet port on nn0"), "%s", why.text);
    cr_expect_eq(attached_id(), 0, "the packet port goes on");
    net_port_close(packet);
    cr_assert_eq(open_nn0((struct xdp_config){0}, &port, &why), 0, "%s", why.text);
    cr_expect_eq(net_packet_open(&config, &packet, &why), -EBUSY);
    cr_expect(strstr(why.text, "XDP program") && strstr(why.text, "nn0"), "%s", why.text);
    net_port_close(port);
    cr_assert_eq(net_packet_open(&config, &packet, &why), 0, "%s", why.text);
    net_port_close(packet);
}

/* What is missing there is CAP_BPF; the limit of locked memory, which the kernel complains of first, is not.
 */
static int open_in_user_namespace(void)
{
    struct net_port *port;
    struct nornic_error why = {""};
    struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return 3;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) != 0 ||
        setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){65536, 65536}) != 0)
        return 2;
    int err = xdp_port_open(&(struct xdp_config){.ifname = "lo"}, &port, &why);
    return err == -EPERM && strstr(why.text, "CAP_BPF") && strstr(why.text, "user namespace") ? 0 : 1;
}

Test(xdp_open, in_a_user_namespace_the_sentence_names_what_is_missing)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(open_in_user_namespace());
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        cr_skip_test("no user namespaces here");
    cr_expect_eq(status, 0);
}

Test(xdp_open, mtu_beyond_one_buffer_is_explained_where_the_kernel_has_no_multi_buffer)
{
    struct net_interface interface;
    struct nornic_error why;
    interface = (struct net_interface){.name = "eth0", .mtu_bytes = 9000};
    cr_expect_eq(xdp_mtu_too_large(&interface, &why), -ERANGE);
    cr_expect_str_eq(why.text,
                     "MTU 9000 of eth0 is too large for XDP: at most 3498; set it with `ip link set eth0 "
                     "mtu 3498`, or use --port packet:eth0");
}

Test(xdp_open, single_buffer_program_refuses_a_jumbo_peer)
{
    struct xdp_steer steer;
    struct net_interface interface;
    struct nornic_error why;
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 mtu 9000"), 0);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 mtu 9000"), 0);
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0);
    cr_assert_eq(xdp_steer_load(&steer, false, false, &why), 0, "%s", why.text);
    cr_expect_eq(xdp_steer_attach(&steer, &interface, XDP_MODE_NATIVE, &why), -ERANGE);
    cr_expect(strstr(why.text, "MTU 9000 of nn0 is too large for XDP: at most 3498"), "%s", why.text);
    xdp_steer_close(&steer);
}
