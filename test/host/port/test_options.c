/* SPDX-License-Identifier: BSD-2-Clause */
/* Options behind the name of a port. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/port/names.h"
#include "host/port/options.h"

Test(port_options, each_is_read)
{
    struct host_port_options o;
    cr_assert_eq(host_port_options("udp:eth0", &o, NULL), 0);
    cr_expect(!o.cc.on && !o.path_migration && !o.masked_atomics && !o.entropy && !o.hop_limit &&
              !o.traffic_class && !o.num_pkeys);
    cr_assert_eq(host_port_options("udp:eth0,cc,apm,masked-atomics,entropy,dscp=26,hops=9,pkey=0x8001,pkey=2",
                                   &o, NULL),
                 0);
    cr_expect(o.cc.on && o.path_migration && o.masked_atomics && o.entropy);
    cr_expect_eq(o.traffic_class, 0x68);
    cr_expect_eq(o.hop_limit, 9);
    cr_expect(o.num_pkeys == 2 && o.pkeys[0] == 0x8001 && o.pkeys[1] == 2);
    cr_expect_eq(o.first_pkey, 0);
    cr_assert_eq(host_port_options("udp:eth0,pkey0=0x8003", &o, NULL), 0);
    cr_expect_eq(o.first_pkey, 0x8003);
    cr_expect_eq(host_port_name_bytes("udp:eth0,cc"), 8);
    cr_assert_eq(host_port_options("udp:eth0,cc=line-rate=2.5G+cnp-interval=4us+dscp=46,dscp=26", &o, NULL),
                 0);
    cr_expect(o.cc.on && o.cc.line_rate_bps == UINT64_C(2500000000));
    cr_expect(o.cc.cnp_interval_ns == 4000 && o.cc.cnp_dscp == 46 && o.traffic_class == 0x68);
    cr_assert_eq(host_port_options("iwarp:eth0,dscp=10,hops=3", &o, NULL), 0);
    cr_expect(o.traffic_class == 0x28 && o.hop_limit == 3);
}

Test(port_options, a_wrong_one_is_named_with_the_legal_ones)
{
    static const struct {
        const char *port, *says;
    } cases[] = {
        {"udp:eth0,", "no option ''"},
        {"udp:eth0,speed=1", "no option 'speed=1'"},
        {"udp:eth0,cc=1", "cc has the value '1': 1: give NAME=VALUE, where NAME is one of line-rate"},
        {"udp:eth0,cc=gain=9999", "'gain=9999': gain 9999: give a whole number from 1 to 1024"},
        {"udp:eth0,cc=gain=5+", "give NAME=VALUE"},
        {"udp:eth0,cc=alpha-period=2us", "must be longer than the cnp-interval"},
        {"iwarp:eth0,cc", "no option cc, since"},
        {"iwarp:eth0,dscp=3,pkey=0x8001", "there are dscp=0..63 and hops=1..255"},
        {"iwarp:eth0,entropy", "no option entropy"},
        {"iwarp:eth0,speed", "'speed': there are dscp=0..63 and hops=1..255"},
        {"udp:eth0,speed", "entropy, dscp=0..63, hops=1..255, pkey=0x8001 and pkey0=0x8001"},
        {"iwarp:eth0,hops=256", "1 to 255"},
        {"udp:eth0,entropy=1", "entropy has the value"},
        {"udp:eth0,dscp", "dscp has the value ''"},
        {"udp:eth0,dscp=64", "'64'"},
        {"udp:eth0,dscp=-1", "0 to 63"},
        {"udp:eth0,hops=0", "1 to 255"},
        {"udp:eth0,hops=9x", "'9x'"},
        {"udp:eth0,pkey=0x8000", "0x0001"},
        {"udp:eth0,pkey=0x10000", "pkey"},
        {"udp:eth0,pkey0=0", "pkey0 has the value '0'"},
        {"udp:eth0,pkey0=0x8000", "without 0x8000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct host_port_options o;
        struct nornic_error why = {""};
        cr_expect_eq(host_port_options(cases[i].port, &o, &why), -EINVAL, "%s", cases[i].port);
        cr_expect_not_null(strstr(why.text, cases[i].says), "%s: %s", cases[i].port, why.text);
    }
}

Test(port_options, a_long_value_is_refused)
{
    struct host_port_options o;
    struct nornic_error why = {""};
    char port[512];
    snprintf(port, sizeof port, "udp:eth0,dscp=%0300d", 26);
    cr_expect_eq(host_port_options(port, &o, &why), -EINVAL);
    cr_expect_not_null(strstr(why.text, "dscp"));
}

Test(port_options, a_list_of_ports_has_them_behind_each)
{
    struct host_port_names names;
    host_port_names("udp:eth0,cc,dscp=26 udp:eth1,iwarp:eth2", &names);
    cr_assert_eq(names.count, 3);
    cr_expect_str_eq(names.at[0], "udp:eth0,cc,dscp=26");
    cr_expect_str_eq(names.at[1], "udp:eth1");
    cr_expect_str_eq(names.at[2], "iwarp:eth2");
    cr_expect_eq(host_port_guid("udp:192.0.2.1"), host_port_guid("udp:192.0.2.1,cc"), "one port, one GUID");
}
