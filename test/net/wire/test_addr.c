/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "nornic/addr.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "net/error.h"

Test(addr, text_and_back)
{
    static const char *const texts[] = {
        "0.0.0.0", "10.0.0.1", "255.255.255.255",   "::",
        "::1",     "fe80::1",  "2001:db8::a:0:0:1", "ff02::1:ff00:1",
    };
    for (size_t i = 0; i < array_len(texts); i++) {
        struct nornic_addr a;
        char buf[NORNIC_ADDR_STR_SIZE];
        cr_assert_eq(nornic_addr_parse(texts[i], &a), 0, "%s", texts[i]);
        cr_assert_str_eq(nornic_addr_str(&a, buf), texts[i]);
    }
}

/* RFC 5952, section 4: lower case, no leading zeros, the longest run of zeros shortened, the first of equal
 * ones, and never a single group. */
Test(addr, ipv6_text_is_the_one_of_rfc_5952)
{
    static const char *const pairs[][2] = {
        {"2001:0DB8:0:0:0:0:0002:1", "2001:db8::2:1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
    };
    for (size_t i = 0; i < array_len(pairs); i++) {
        struct nornic_addr a;
        char buf[NORNIC_ADDR_STR_SIZE];
        cr_assert_eq(nornic_addr_parse(pairs[i][0], &a), 0);
        cr_assert_str_eq(nornic_addr_str(&a, buf), pairs[i][1]);
    }
}

/* covers: ROCE-FRM-39 */
Test(addr, ROCE_FRM_39_ipv4_is_kept_mapped)
{
    static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [13] = 1, [14] = 2, [15] = 3};
    struct nornic_addr a, b;
    cr_assert_eq(nornic_addr_parse("10.1.2.3", &a), 0);
    cr_assert_arr_eq(a.b, mapped, 16);
    cr_assert(nornic_addr_is_v4(&a));
    cr_assert_eq(nornic_addr_parse("::ffff:10.1.2.3", &b), 0);
    cr_assert(nornic_addr_equal(&a, &b));
    cr_assert_eq(nornic_addr_parse("fe80::1", &b), 0);
    cr_assert_not(nornic_addr_is_v4(&b));
}

Test(addr, what_is_no_address_is_refused)
{
    static const char *const texts[] = {"",        "10.0.0", "10.0.0.256", "10.0.0.1 ", "fe80::1%eth0",
                                        "1::2::3", "host"};
    for (size_t i = 0; i < array_len(texts); i++) {
        struct nornic_addr a;
        cr_assert_eq(nornic_addr_parse(texts[i], &a), -EINVAL, "'%s'", texts[i]);
    }
}

Test(addr, multicast_of_both_families)
{
    static const struct {
        const char *text;
        bool is_multicast;
    } cases[] = {{"224.0.0.1", true},  {"239.255.255.255", true}, {"223.255.255.255", false},
                 {"240.0.0.0", false}, {"ff02::1", true},         {"fe80::1", false}};
    for (size_t i = 0; i < array_len(cases); i++) {
        struct nornic_addr a;
        cr_assert_eq(nornic_addr_parse(cases[i].text, &a), 0);
        cr_assert_eq(nornic_addr_is_multicast(&a), cases[i].is_multicast, "%s", cases[i].text);
    }
}

Test(addr, mac_text)
{
    char buf[NORNIC_MAC_STR_SIZE];
    cr_assert_str_eq(nornic_mac_str(&(struct nornic_mac){{0x02, 0, 0x0a, 0xff, 0x10, 1}}, buf),
                     "02:00:0a:ff:10:01");
}

Test(error, sentence_and_errno)
{
    struct nornic_error why;
    cr_assert_eq(net_error_set(&why, ENODEV, "no interface %s", "eth9"), -ENODEV);
    cr_assert_str_eq(why.text, "no interface eth9");
    cr_assert_eq(net_error_set(NULL, EIO, "nobody asks"), -EIO);
    char long_name[1000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    cr_assert_eq(net_error_set(&why, ENOENT, "%s", long_name), -ENOENT);
    cr_assert_eq(strlen(why.text), sizeof why.text - 1);
}
