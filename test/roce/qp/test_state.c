/* SPDX-License-Identifier: BSD-2-Clause */
/* The table below is ROCE section 11.2 as it is printed there; the tests try every pair of states with every
 * single attribute missing or in excess. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "roce/qp/state.h"

#define TYPES 3
static const enum nornic_qp_type types[TYPES] = {NORNIC_QPT_RC, NORNIC_QPT_UC, NORNIC_QPT_UD};

static const struct {
    const char *id, *from, *to;
    struct {
        const char *required, *optional; /* NULL: the transition is invalid */
    } column[TYPES];
} rows[] = {
    {"ROCE-QP-20", "RESET", "INIT", {{"PK PT AF", ""}, {"PK PT AF", ""}, {"PK PT QK", ""}}},
    {"ROCE-QP-21", "INIT", "INIT", {{"", "PK PT AF"}, {"", "PK PT AF"}, {"", "PK PT QK"}}},
    {"ROCE-QP-22",
     "INIT",
     "RTR",
     {{"AV MTU DQ RP DR MR", "ALT AF PK"}, {"AV MTU DQ RP", "ALT AF PK"}, {"", "PK QK"}}},
    {"ROCE-QP-23",
     "RTR",
     "RTS",
     {{"TO RC RR SP RD", "CS ALT AF MR PM"}, {"SP", "CS ALT AF PM"}, {"SP", "CS QK"}}},
    {"ROCE-QP-24", "RTS", "RTS", {{"", "CS AF ALT PM MR"}, {"", "CS AF ALT PM"}, {"", "CS QK"}}},
    {"ROCE-QP-25", "RTS", "SQD", {{"", "SN"}, {"", "SN"}, {"", "SN"}}},
    {"ROCE-QP-26", "SQD", "RTS", {{"", "CS ALT AF MR PM"}, {"", "CS ALT AF PM"}, {"", "CS QK"}}},
    {"ROCE-QP-27",
     "SQD",
     "SQD",
     {{"", "PT AV TO RC RR RD DR ALT AF PK MR PM"}, {"", "AV ALT AF PK PM"}, {"", "PK QK"}}},
    {"ROCE-QP-28", "SQE", "RTS", {{NULL, NULL}, {"", "CS AF"}, {"", "CS QK"}}},
};

/* The names of the mask bits, by bit. */
static const char *const attr_names[21] = {"STATE", "CS",  "SN", "AF", "PK", "PT",  "QK",
                                           "AV",    "MTU", "TO", "RC", "RR", "RP",  "RD",
                                           "ALT",   "MR",  "SP", "DR", "PM", "CAP", "DQ"};

static uint32_t mask_of(const char *words)
{
    uint32_t mask = 0;
    for (char buf[80], *save, *w = strtok_r(strcpy(buf, words), " ", &save); w;
         w = strtok_r(NULL, " ", &save)) {
        unsigned bit = 0;
        while (strcmp(attr_names[bit], w) != 0)
            cr_assert_lt(++bit, 21, "%s", w);
        mask |= 1u << bit;
    }
    return mask;
}

struct rule {
    bool legal;
    uint32_t required, optional;
};

static struct rule rule_of(unsigned type, int from, int to)
{
    if (to == NORNIC_QPS_RESET) /* ROCE-QP-30 */
        return (struct rule){true, 0, 0};
    if (to == NORNIC_QPS_ERR) /* ROCE-QP-29, QP-31 */
        return (struct rule){from != NORNIC_QPS_RESET, 0, 0};
    for (unsigned i = 0; i < array_len(rows); i++)
        if (strcmp(rows[i].from, nornic_qp_state_name((enum nornic_qp_state)from)) == 0 &&
            strcmp(rows[i].to, nornic_qp_state_name((enum nornic_qp_state)to)) == 0 &&
            rows[i].column[type].required)
            return (struct rule){true, mask_of(rows[i].column[type].required),
                                 mask_of(rows[i].column[type].optional)};
    return (struct rule){false, 0, 0};
}

/* Attributes whose values are all fine for a QP in `cur`. */
static struct nornic_qp_attr good_attr(int cur, int to)
{
    return (struct nornic_qp_attr){.state = (enum nornic_qp_state)to,
                                   .cur_state = (enum nornic_qp_state)cur,
                                   .access_flags = NORNIC_ACCESS_REMOTE_READ,
                                   .port = 1,
                                   .path_mtu = NORNIC_MTU_1024,
                                   .timeout = 14,
                                   .retry_cnt = 7,
                                   .rnr_retry = 7,
                                   .min_rnr_timer = 12,
                                   .rq_psn = 0xffffff,
                                   .sq_psn = 0xffffff,
                                   .max_rd_atomic = 16,
                                   .max_dest_rd_atomic = 16,
                                   .dest_qpn = 17};
}

static void try(unsigned type, int from, int to, uint32_t mask, bool legal)
{
    struct nornic_qp_attr attr = good_attr(from, to);
    enum nornic_qp_state next = NORNIC_QPS_COUNT;
    int err = roce_qp_check_modify(types[type], (enum nornic_qp_state)from, &attr, mask, &next);
    cr_assert_eq(err, legal ? 0 : -EINVAL, "column %u, %d -> %d, mask %06x: %d", type, from, to, mask, err);
    cr_assert_eq((int)next, legal ? to : NORNIC_QPS_COUNT, "column %u, %d -> %d, mask %06x", type, from, to,
                 mask);
}

/* covers: ROCE-QP-20, ROCE-QP-21, ROCE-QP-22, ROCE-QP-23, ROCE-QP-24, ROCE-QP-25, ROCE-QP-26, ROCE-QP-27 */
/* covers: ROCE-QP-28, ROCE-QP-29, ROCE-QP-30, ROCE-QP-31 */
Test(qp_state, every_pair_of_states_with_each_attribute_missing_or_in_excess)
{
    for (unsigned type = 0; type < TYPES; type++)
        for (int from = 0; from < NORNIC_QPS_COUNT; from++)
            for (int to = 0; to < NORNIC_QPS_COUNT; to++) {
                struct rule rule = rule_of(type, from, to);
                uint32_t base = NORNIC_QP_STATE | rule.required;
                try(type, from, to, base, rule.legal);
                try(type, from, to, base | (rule.optional & ~(uint32_t)NORNIC_QP_ALT_PATH), rule.legal);
                for (unsigned bit = 1; bit < 32; bit++) {
                    uint32_t one = 1u << bit;
                    if (rule.required & one)
                        try(type, from, to, base & ~one, false);
                    else
                        try(type, from, to, base | one, rule.legal && (rule.optional & one));
                }
            }
}

/* covers: ROCE-QP-20, ROCE-QP-31 */
Test(qp_state, how_many_transitions_there_are)
{
    static const int expected[TYPES] = {7 + 6 + 8, 7 + 6 + 9, 7 + 6 + 9};
    for (unsigned type = 0; type < TYPES; type++) {
        int count = 0;
        for (int from = 0; from < NORNIC_QPS_COUNT; from++)
            for (int to = 0; to < NORNIC_QPS_COUNT; to++)
                count += rule_of(type, from, to).legal;
        cr_assert_eq(count, expected[type]);
    }
}

Test(qp_state, without_a_state_the_qp_stays)
{
    for (unsigned type = 0; type < TYPES; type++)
        for (int cur = 0; cur < NORNIC_QPS_COUNT; cur++) {
            struct rule rule = rule_of(type, cur, cur);
            struct nornic_qp_attr attr = good_attr(cur, NORNIC_QPS_RTR); /* .state is not looked at */
            enum nornic_qp_state next = NORNIC_QPS_COUNT;
            uint32_t mask = rule.optional & ~(uint32_t)NORNIC_QP_ALT_PATH;
            int err = roce_qp_check_modify(types[type], (enum nornic_qp_state)cur, &attr, mask, &next);
            cr_assert_eq(err, rule.legal ? 0 : -EINVAL, "column %u state %d", type, cur);
            cr_assert_eq((int)next, rule.legal ? cur : NORNIC_QPS_COUNT);
        }
}

Test(qp_state, ROCE_QP_31_a_wrong_current_state_is_refused)
{
    enum nornic_qp_state next;
    static const struct {
        int cur, to;
        uint32_t required;
    } edges[] = {{NORNIC_QPS_RTR, NORNIC_QPS_RTS,
                  NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_SQ_PSN |
                      NORNIC_QP_MAX_QP_RD_ATOMIC},
                 {NORNIC_QPS_RTS, NORNIC_QPS_RTS, 0},
                 {NORNIC_QPS_SQD, NORNIC_QPS_RTS, 0}};
    for (unsigned i = 0; i < 3; i++)
        for (int claimed = 0; claimed <= NORNIC_QPS_COUNT; claimed++) {
            struct nornic_qp_attr attr = good_attr(edges[i].cur, edges[i].to);
            attr.cur_state = (enum nornic_qp_state)claimed;
            int err = roce_qp_check_modify(NORNIC_QPT_RC, (enum nornic_qp_state)edges[i].cur, &attr,
                                           NORNIC_QP_STATE | NORNIC_QP_CUR_STATE | edges[i].required, &next);
            cr_assert_eq(err, claimed == edges[i].cur ? 0 : -EINVAL, "edge %u, %d claimed", i, claimed);
        }
}

Test(qp_state, states_and_types_that_do_not_exist_are_refused)
{
    struct nornic_qp_attr attr = good_attr(0, 0);
    enum nornic_qp_state next;
    static const int no_states[] = {-1, NORNIC_QPS_COUNT, 256};
    for (int i = 0; i < 3; i++) {
        attr.state = (enum nornic_qp_state)no_states[i];
        cr_assert_eq(roce_qp_check_modify(NORNIC_QPT_RC, NORNIC_QPS_RTS, &attr, NORNIC_QP_STATE, &next),
                     -EINVAL);
    }
    attr.state = NORNIC_QPS_RESET;
    cr_assert_eq(roce_qp_check_modify((enum nornic_qp_type)5, NORNIC_QPS_RTS, &attr, NORNIC_QP_STATE, &next),
                 -EINVAL);
    cr_assert_eq(roce_qp_check_modify(NORNIC_QPT_RC, NORNIC_QPS_COUNT, &attr, NORNIC_QP_STATE, &next),
                 -EINVAL);
}

/* A legal change of RC whose mask has `bit`. */
static bool accepts(const struct nornic_qp_attr *values, uint32_t bit)
{
    static const int edges[][2] = {{NORNIC_QPS_RESET, NORNIC_QPS_INIT},
                                   {NORNIC_QPS_INIT, NORNIC_QPS_RTR},
                                   {NORNIC_QPS_RTR, NORNIC_QPS_RTS},
                                   {NORNIC_QPS_RTS, NORNIC_QPS_RTS},
                                   {NORNIC_QPS_SQD, NORNIC_QPS_SQD}};
    bool accepted = false, tried = false;
    for (unsigned i = 0; i < 5; i++) {
        struct rule rule = rule_of(0, edges[i][0], edges[i][1]);
        if (!((rule.required | rule.optional) & bit))
            continue;
        struct nornic_qp_attr attr = *values;
        enum nornic_qp_state next;
        attr.state = (enum nornic_qp_state)edges[i][1];
        bool ok = roce_qp_check_modify(NORNIC_QPT_RC, (enum nornic_qp_state)edges[i][0], &attr,
                                       NORNIC_QP_STATE | rule.required | bit, &next) == 0;
        cr_assert(!tried || ok == accepted, "the same on every edge");
        tried = true;
        accepted = ok;
    }
    cr_assert(tried);
    return accepted;
}

#define CHECK_VALUES(member, bit, highest)                                   \
    for (unsigned v = 0; v < 256; v++) {                                     \
        struct nornic_qp_attr attr = good_attr(0, 0);                        \
        attr.member = (uint8_t)v;                                            \
        cr_assert_eq(accepts(&attr, bit), v <= (highest), #member " %u", v); \
    }

/* covers: ROCE-VB-5 */
Test(qp_state, ROCE_QP_32_counts_and_timers){
    CHECK_VALUES(timeout, NORNIC_QP_TIMEOUT, 31) CHECK_VALUES(retry_cnt, NORNIC_QP_RETRY_CNT, 7)
        CHECK_VALUES(rnr_retry, NORNIC_QP_RNR_RETRY, 7)
            CHECK_VALUES(min_rnr_timer, NORNIC_QP_MIN_RNR_TIMER, 31)
                CHECK_VALUES(max_rd_atomic, NORNIC_QP_MAX_QP_RD_ATOMIC, 128)
                    CHECK_VALUES(max_dest_rd_atomic, NORNIC_QP_MAX_DEST_RD_ATOMIC, 128)
                        CHECK_VALUES(av.sl, NORNIC_QP_AV, 7) /* ROCE-VB-5 */
    CHECK_VALUES(alt_av.sl, NORNIC_QP_ALT_PATH, 7)           /* ROCE-VB-5 */
}

Test(qp_state, ROCE_QP_32_port_mtu_and_peer)
{
    struct nornic_qp_attr attr = good_attr(0, 0);
    for (unsigned v = 0; v < 256; v++) {
        attr.port = (uint8_t)v;
        cr_assert_eq(accepts(&attr, NORNIC_QP_PORT), v == 1, "port %u", v);
        attr = good_attr(0, 0);
        attr.path_mtu = (enum nornic_mtu)v;
        cr_assert_eq(accepts(&attr, NORNIC_QP_PATH_MTU), v >= 1 && v <= 5, "mtu %u", v);
        attr = good_attr(0, 0);
    }
    static const struct {
        uint32_t qpn;
        bool valid;
    } peers[] = {{0, false},         {1, false},         {2, true},
                 {17, true},         {0xfffffe, true},   {0xffffff, false},
                 {0x1000000, false}, {0x1000011, false}, {UINT32_MAX, false}};
    for (unsigned i = 0; i < array_len(peers); i++) {
        attr.dest_qpn = peers[i].qpn;
        cr_assert_eq(accepts(&attr, NORNIC_QP_DEST_QPN), peers[i].valid, "QPN %x", peers[i].qpn);
    }
}

Test(qp_state, ROCE_QP_32_access_flags_are_remote_rights)
{
    const uint32_t rights =
        NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC;
    for (uint32_t flags = 0; flags < 256; flags++) {
        struct nornic_qp_attr attr = good_attr(0, 0);
        attr.access_flags = flags;
        cr_assert_eq(accepts(&attr, NORNIC_QP_ACCESS_FLAGS), (flags & ~rights) == 0, "%u", flags);
    }
}

Test(qp_state, ROCE_QP_32_values_not_in_the_mask_are_not_judged)
{
    struct nornic_qp_attr attr;
    memset(&attr, 0xff, sizeof attr);
    attr.state = NORNIC_QPS_RTS;
    enum nornic_qp_state next;
    cr_assert_eq(roce_qp_check_modify(NORNIC_QPT_RC, NORNIC_QPS_SQD, &attr, NORNIC_QP_STATE, &next), 0);
    cr_assert_eq(next, NORNIC_QPS_RTS);
}

Test(qp_state, ROCE_QP_33_armed_is_not_set_but_reached)
{
    struct nornic_qp_attr attr = good_attr(0, 0);
    for (unsigned v = 0; v < 256; v++) {
        attr.path_mig_state = (uint8_t)v;
        cr_assert_eq(accepts(&attr, NORNIC_QP_PATH_MIG_STATE), v <= 1, "%u", v);
    }
}

Test(qp_state, names)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    for (int i = 0; i < NORNIC_QPS_COUNT; i++)
        cr_assert_str_eq(nornic_qp_state_name((enum nornic_qp_state)i), names[i]);
    cr_assert_str_eq(nornic_qp_state_name(NORNIC_QPS_COUNT), "unknown state");
}

Test(mtu, ROCE_HDR_24_values)
{
    static const uint32_t bytes[] = {0, 256, 512, 1024, 2048, 4096, 0, 0};
    for (unsigned i = 0; i < 8; i++)
        cr_assert_eq(nornic_mtu_bytes((enum nornic_mtu)i), bytes[i]);
    for (uint32_t b = 0; b < 10000; b++) {
        int expected = b == 256 ? 1 : b == 512 ? 2 : b == 1024 ? 3 : b == 2048 ? 4 : b == 4096 ? 5 : 0;
        cr_assert_eq((int)nornic_mtu_from_bytes(b), expected, "%u", b);
    }
}

Test(mtu, ROCE_INT_25_path_mtu_of_an_interface)
{
    static const struct {
        uint32_t port;
        int mtu;
    } cases[] = {{0, 0},    {351, 0},  {352, 1},  {607, 1},  {608, 2},  {1119, 2}, {1120, 3},      {1500, 3},
                 {2143, 3}, {2144, 4}, {4191, 4}, {4192, 5}, {4200, 5}, {9000, 5}, {UINT32_MAX, 5}};
    for (unsigned i = 0; i < array_len(cases); i++)
        cr_assert_eq((int)nornic_mtu_for_port(cases[i].port), cases[i].mtu, "%u", cases[i].port);
}
