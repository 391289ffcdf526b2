/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/pcap.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct net_capture *pcap_open(const char *name)
{
    char path[200];
    struct net_capture *capture;
    struct nornic_error why;
    snprintf(path, sizeof path, "pcaps/%s.pcap", name);
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    return capture;
}
