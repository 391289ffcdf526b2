/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

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
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct host_dev_config config = {.port = cases[i].name};
        struct host_dev *dev = NULL;
        struct net_error err = {""};
        cr_assert_eq(host_dev_open(&config, &dev, &err), cases[i].rc, "%s: %s", cases[i].name, err.text);
        cr_assert_not_null(strstr(err.text, cases[i].says), "%s: %s", cases[i].name, err.text);
        cr_assert_null(dev);
    }
}

Test(port_open, a_capture_that_cannot_be_written_closes_the_port)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(1500, 16, ends), 0);
    struct host_dev_config config = {.capture_path = "/nonexistent/nn.pcapng"};
    struct host_dev *dev = NULL;
    struct net_error err = {""};
    cr_assert_lt(host_dev_create_on(ends[0], &config, &dev, &err), 0);
    cr_assert_not_null(strstr(err.text, "/nonexistent/nn.pcapng"), "%s", err.text);
    cr_assert_null(dev);
    net_port_close(ends[1]);
}
