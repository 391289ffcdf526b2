/* SPDX-License-Identifier: BSD-2-Clause */
/* The demo's two namespaces: what stands in them, and that nothing of them is left. */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/demo/lab.h"
#include "test/support/json.h"
#include "test/support/netns.h"

static struct demo_lab lab;
static bool is_up;
static struct nornic_error why;

/* With the name of the command, as its sweep tells by that whose lab is in use. */
static void lab_up(void)
{
    netns_need();
    prctl(PR_SET_NAME, "nornic");
    why = (struct nornic_error){""};
    cr_assert_eq(demo_lab_up(&lab, 4200, &why), 0, "%s", why.text);
    is_up = true;
}

static void lab_down(void)
{
    if (is_up)
        demo_lab_down(&lab);
}

TestSuite(demo_lab, .init = lab_up, .fini = lab_down, .timeout = 60);

static bool exists(int end)
{
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", lab.netns[end]);
    return access(path, F_OK) == 0;
}

/* What `ip addr` says of an interface there; the caller's to put. */
static struct json_object *interface_of(int end, const char *ifname)
{
    char command[160], text[8192];
    snprintf(command, sizeof command, "ip -n %s -j addr show dev %s", lab.netns[end], ifname);
    FILE *ip = popen(command, "r");
    cr_assert_not_null(ip);
    text[fread(text, 1, sizeof text - 1, ip)] = 0;
    cr_assert_eq(pclose(ip), 0, "%s", command);
    struct json_object *o = json_tokener_parse(text);
    cr_assert_not_null(o, "%s", text);
    return o;
}

static bool has_address(struct json_object *interfaces, const char *address, int prefix_bits)
{
    struct json_object *list = json_member(json_object_array_get_idx(interfaces, 0), "addr_info");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *one = json_object_array_get_idx(list, i);
        if (strcmp(json_object_get_string(json_member(one, "local")), address) == 0)
            return json_object_get_int(json_member(one, "prefixlen")) == prefix_bits &&
                   !json_object_object_get_ex(one, "tentative", NULL);
    }
    return false;
}

static bool is_link_up(int end, const char *ifname)
{
    struct json_object *o = interface_of(end, ifname);
    bool up =
        strcmp(json_object_get_string(json_member(json_object_array_get_idx(o, 0), "operstate")), "UP") == 0;
    json_object_put(o);
    return up;
}

Test(demo_lab, each_end_has_its_addresses_and_can_use_them_at_once)
{
    for (int end = 0; end < 2; end++) {
        struct json_object *o = interface_of(end, DEMO_LAB_IFNAME);
        cr_expect_eq(json_object_get_int(json_member(json_object_array_get_idx(o, 0), "mtu")), 4200);
        cr_expect(has_address(o, end ? "10.77.0.2" : "10.77.0.1", 30));
        cr_expect(has_address(o, end ? "fd77::2" : "fd77::1", 64));
        cr_expect(has_address(o, end ? "fe80::2" : "fe80::1", 64));
        cr_expect_eq(json_object_array_length(json_member(json_object_array_get_idx(o, 0), "addr_info")), 3,
                     "and no other");
        json_object_put(o);
        cr_expect(is_link_up(end, DEMO_LAB_IFNAME));
    }
}

Test(demo_lab, a_second_pair_is_a_network_of_its_own)
{
    cr_assert_eq(demo_lab_add_pair(&lab, 1500, &why), 0, "%s", why.text);
    for (int end = 0; end < 2; end++) {
        struct json_object *o = interface_of(end, DEMO_LAB_IFNAME2);
        cr_expect_eq(json_object_get_int(json_member(json_object_array_get_idx(o, 0), "mtu")), 1500);
        cr_expect(has_address(o, end ? "10.78.0.2" : "10.78.0.1", 30));
        cr_expect(has_address(o, end ? "fd78::2" : "fd78::1", 64));
        json_object_put(o);
    }
    cr_expect_neq(demo_lab_add_pair(&lab, 1500, &why), 0, "it is there already");
    cr_expect_not_null(strstr(why.text, "cannot make a network namespace or a veth pair: "), "%s", why.text);
}

Test(demo_lab, a_cable_that_is_cut_and_joined)
{
    cr_assert_eq(demo_lab_set_link(&lab, 0, DEMO_LAB_IFNAME, false, &why), 0, "%s", why.text);
    cr_expect_not(is_link_up(0, DEMO_LAB_IFNAME));
    cr_expect_not(is_link_up(1, DEMO_LAB_IFNAME), "the other end sees it");
    cr_assert_eq(demo_lab_set_link(&lab, 0, DEMO_LAB_IFNAME, true, &why), 0, "%s", why.text);
    cr_expect_neq(demo_lab_set_link(&lab, 1, "nn7", true, &why), 0);
    cr_expect_not_null(strstr(why.text, "nn7"), "%s", why.text);
}

Test(demo_lab, nothing_appears_here_and_a_thread_can_go_there)
{
    cr_expect_eq(access("/sys/class/net/nn1", F_OK), -1);
    cr_assert_eq(demo_lab_enter(lab.netns[1], &why), 0, "%s", why.text);
    cr_expect_neq(if_nametoindex(DEMO_LAB_IFNAME), 0);
    cr_expect_eq(demo_lab_enter("nn-demo-0-x", &why), -ENOENT);
    cr_expect_str_eq(why.text, "cannot enter the network namespace nn-demo-0-x: No such file or directory");
    cr_expect_neq(if_nametoindex(DEMO_LAB_IFNAME), 0, "it stays where it was");
}

Test(demo_lab, an_end_leaves_nothing)
{
    cr_expect(exists(0) && exists(1));
    demo_lab_down(&lab);
    cr_expect_not(exists(0) || exists(1));
    demo_lab_down(&lab); /* nor does it mind that nothing is there */
    cr_assert_eq(demo_lab_up(&lab, 1500, &why), 0, "the names are free again: %s", why.text);
}

Test(demo_lab, a_second_one_of_the_process_is_refused)
{
    struct demo_lab second;
    cr_expect_neq(demo_lab_up(&second, 1500, &why), 0);
    cr_expect_not_null(strstr(why.text, "File exists"), "%s", why.text);
}

/* By the name of the process: one that runs under its own is left alone. */
Test(demo_lab, what_a_dead_demo_left_is_swept)
{
    demo_lab_sweep();
    cr_expect(exists(0) && exists(1), "a nornic of that process id runs");
    prctl(PR_SET_NAME, "another");
    demo_lab_sweep();
    cr_expect_not(exists(0) || exists(1));
}
