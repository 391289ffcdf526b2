/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "host/host.h"
#include "net/memory.h"

/* What a user mistypes is answered with a sentence that names it. */
Test(port_open, bad_names_are_named)
{
    static const struct {
        const char *name;
        int rc;
        const char *says;
    } cases[] = {
        {"", -EINVAL, "no port ''"},
        {"eth0", -EINVAL, "no port 'eth0'"},
        {"dpdk:eth0", -EINVAL, "no port 'dpdk:eth0'"},
        {"xdp:", -EINVAL, "interface name"},
        {"xdp::native", -EINVAL, "interface name"},
        {"packet:", -EINVAL, "interface name"},
        {"packet:nn-a-name-too-long", -EINVAL, "1 to 15"},
        {"xdp:nn-none:fast", -EINVAL, "'fast'"},
        {"xdp:nn-none", -ENODEV, "nn-none"},
        {"xdp:nn-none:generic", -ENODEV, "nn-none"},
        {"packet:nn-none", -ENODEV, "nn-none"},
        {"udp:nn-none", -ENODEV, "nn-none"},
        {"udp:fe80::1%nn-none", -ENODEV, "nn-none"},
        {"udp:fe80::1%lo", -EADDRNOTAVAIL, "fe80::1 is no address"},
        {"udp:fe80::1%", -ENODEV, "fe80::1%"},
        {"udp:fe80::1%nn-a-name-too-long", -EINVAL, "1 to 15"},
        {"udp:127.0.0.1%lo", -EINVAL, "only a link-local address"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        struct host_dev_config config = {.port = cases[i].name};
        struct host_dev *dev = NULL;
        struct nornic_error why = {""};
        cr_assert_eq(host_dev_open(&config, &dev, &why), cases[i].rc, "%s: %s", cases[i].name, why.text);
        cr_assert_not_null(strstr(why.text, cases[i].says), "%s: %s", cases[i].name, why.text);
        cr_assert_null(dev);
    }
}

Test(port_open, a_capture_that_cannot_be_written_closes_the_port)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(1500, 16, ends), 0);
    struct host_dev_config config = {.capture_path = "/nonexistent/nn.pcapng"};
    struct host_dev *dev = NULL;
    struct nornic_error why = {""};
    cr_assert_lt(host_dev_create_on(ends[0], &config, &dev, &why), 0);
    cr_assert_not_null(strstr(why.text, "/nonexistent/nn.pcapng"), "%s", why.text);
    cr_assert_null(dev);
    net_port_close(ends[1]);
}

/* The disk is full: the file cannot even take what is buffered at the end. */
Test(port_open, a_capture_cut_short_is_told)
{
    char path[] = "/tmp/nn-capture-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(1500, 16, ends), 0);
    struct host_dev_config config = {.capture_path = path, .impair = {.loss_ppm = 1}, .no_thread = true};
    struct host_dev *dev = NULL;
    cr_assert_eq(host_dev_create_on(ends[0], &config, &dev, NULL), 0);
    cr_expect_eq(host_dev_capture_flush(dev), 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 512, .rlim_max = 512}), 0);
    for (int i = 0; i < 16; i++) {
        struct net_frame buf;
        cr_assert_eq(net_port_tx_reserve(ends[1], &buf, 1), 1);
        memset(buf.data, 0xff, 60);
        buf.len_bytes = 60;
        net_port_tx_flush(ends[1], &buf, 1, 0);
        host_round(dev, NULL);
    }
    cr_expect_eq(host_dev_capture_flush(dev), -EFBIG);
    cr_assert_eq(host_dev_close(dev, NULL), 0, "objects are left");
    net_port_close(ends[1]);
    close(fd);
    unlink(path);
}
