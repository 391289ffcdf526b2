/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process says of itself, by a stand-in for its instance: this program has no runtime of sockets. */
#include <criterion/criterion.h>
#include <errno.h>
#include <iconv.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "sock/sock.h"
#include "sock/stat/json.h"

static struct smcr_counters counters;
static const char *reason = "none";

void smcr_sock_counters(struct smcr_counters *out)
{
    *out = counters;
}

static const struct smcr_group_stat group = {.id = 7,
                                             .server = true,
                                             .peer_id = {0xab, 0, 1, 2, 3, 4, 5, 0xff},
                                             .vlan_id = 9,
                                             .redundancy = "SYMMETRIC",
                                             .max_links = 3};

void smcr_sock_stat_visit(const struct smcr_stat_visitor *v)
{
    struct smcr_link_stat link = {.number = 1,
                                  .state = "ACTIVE",
                                  .port = "eth0",
                                  .qpn = 0xffffff,
                                  .peer_qpn = 2,
                                  .gid = nornic_addr_from_v4((const uint8_t[]){192, 0, 2, 1}),
                                  .peer_gid = {{0xfd, [15] = 1}},
                                  .mac = {{2, 0, 0, 0, 0, 0xfe}},
                                  .path_mtu_bytes = 4096,
                                  .user_id = 0xffffffff,
                                  .conns = 2};
    struct smcr_rmb_stat rmb = {.elem_bytes = 65536, .elems = 16, .used = 2};
    struct smcr_conn_stat conn = {.state = "ACTIVE",
                                  .local = link.gid,
                                  .remote = link.peer_gid,
                                  .local_port = 65535,
                                  .remote_port = 1,
                                  .alert_token = 5,
                                  .link = 1,
                                  .tx_bytes = UINT64_MAX,
                                  .window_bytes = 65532};
    v->group(v->ctx, &group);
    v->link(v->ctx, &group, &link);
    link.number = 2;
    v->link(v->ctx, &group, &link);
    v->rmb(v->ctx, &group, &rmb);
    v->conn(v->ctx, &group, &conn);
    conn.state = "CLC";
    v->conn(v->ctx, NULL, &conn);
}

void smcr_sock_fallbacks(void (*visit)(void *ctx, const char *reason, uint64_t count), void *ctx)
{
    visit(ctx, reason, 3);
}

/* Returns true where `len` bytes of `text` are UTF-8, as the C library reads it. */
static bool is_utf8(char *text, size_t len)
{
    uint32_t characters[1024];
    iconv_t reader = iconv_open("UTF-32", "UTF-8");
    cr_assert_neq(reader, (iconv_t)-1);
    while (len > 0) {
        char *to = (char *)characters;
        size_t room = sizeof characters;
        if (iconv(reader, &text, &len, &to, &room) == (size_t)-1 && errno != E2BIG)
            break;
    }
    iconv_close(reader);
    return len == 0;
}

/* Returns the answer, read as strictly as a reader can. The caller releases it by json_object_put(). The test
 * itself looks for control characters and for UTF-8: the strict mode of json-c 0.18 refuses every character
 * outside ASCII. */
static struct json_object *ask(void)
{
    size_t len = 0;
    char *text = smcr_stat_json(&len);
    cr_assert_not_null(text);
    cr_assert_eq(strlen(text), len);
    cr_assert_eq(text[len - 1], '\n');
    cr_assert_eq(strchr(text, '\n'), text + len - 1, "one line");
    struct json_tokener *tokener = json_tokener_new();
    cr_assert(is_utf8(text, len), "%s", text);
    for (size_t i = 0; i < len - 1; i++)
        cr_assert_geq((unsigned char)text[i], 0x20, "byte %zu of %s", i, text);
    struct json_object *o = json_tokener_parse_ex(tokener, text, (int)len - 1);
    cr_assert_not_null(o, "%s: %s", json_tokener_error_desc(json_tokener_get_error(tokener)), text);
    cr_assert_eq(json_tokener_get_parse_end(tokener), len - 1);
    json_tokener_free(tokener);
    free(text);
    return o;
}

static struct json_object *member(struct json_object *o, const char *key)
{
    struct json_object *found;
    cr_assert(json_object_object_get_ex(o, key, &found), "no %s", key);
    return found;
}

/* Element `i` of the array `key`, of `count`. */
static struct json_object *element(struct json_object *o, const char *key, size_t count, size_t i)
{
    struct json_object *array = member(o, key);
    cr_assert_eq(json_object_array_length(array), count, "%s", key);
    return json_object_array_get_idx(array, i);
}

#define EXPECT_NUMBER(o, key, value) \
    cr_expect_eq(json_object_get_uint64(member(o, key)), (uint64_t)(value), "%s", key)
#define EXPECT_TEXT(o, key, value) cr_expect_str_eq(json_object_get_string(member(o, key)), value, "%s", key)

Test(stat_json, groups_links_and_connections_are_told_whole)
{
    struct json_object *o = ask();
    struct json_object *g = element(o, "groups", 1, 0), *l = element(o, "links", 2, 0),
                       *c = element(o, "conns", 2, 0), *r = element(o, "rmbs", 1, 0);
    EXPECT_NUMBER(o, "pid", getpid());
    cr_expect_str_neq(json_object_get_string(member(o, "command")), "");
    EXPECT_NUMBER(g, "id", 7);
    EXPECT_TEXT(g, "peer_id", "ab000102030405ff");
    EXPECT_TEXT(g, "role", "server");
    EXPECT_TEXT(g, "redundancy", "SYMMETRIC");
    EXPECT_NUMBER(g, "max_links", 3);
    EXPECT_NUMBER(g, "vlan_id", 9);
    EXPECT_NUMBER(l, "group", 7);
    EXPECT_NUMBER(l, "number", 1);
    EXPECT_TEXT(l, "state", "ACTIVE");
    EXPECT_TEXT(l, "port", "eth0");
    EXPECT_NUMBER(l, "qpn", 0xffffff);
    EXPECT_NUMBER(l, "peer_qpn", 2);
    EXPECT_TEXT(l, "gid", "192.0.2.1");
    EXPECT_TEXT(l, "peer_gid", "fd00::1");
    EXPECT_TEXT(l, "mac", "02:00:00:00:00:fe");
    EXPECT_NUMBER(l, "path_mtu", 4096);
    EXPECT_NUMBER(l, "user_id", 0xffffffff);
    EXPECT_NUMBER(l, "conns", 2);
    EXPECT_NUMBER(element(o, "links", 2, 1), "number", 2);
    EXPECT_NUMBER(r, "elem_bytes", 65536);
    EXPECT_NUMBER(r, "used", 2);
    EXPECT_NUMBER(c, "group", 7);
    EXPECT_NUMBER(c, "local_port", 65535);
    EXPECT_NUMBER(c, "link", 1);
    EXPECT_NUMBER(c, "tx_bytes", UINT64_MAX);
    EXPECT_NUMBER(c, "window_bytes", 65532);
    EXPECT_NUMBER(element(o, "conns", 2, 1), "group", 0);
    EXPECT_TEXT(element(o, "conns", 2, 1), "state", "CLC");
    EXPECT_NUMBER(element(o, "fallbacks", 1, 0), "count", 3);
    json_object_put(o);
}

Test(stat_json, every_counter_has_its_own_value)
{
    uint64_t n = 1;
#define SET_(name, words) counters.name = n++ << 40;
    SMCR_COUNTERS(SET_)
    struct json_object *o = ask(), *all = member(o, "counters");
    n = 1;
#define EXPECT_(name, words) EXPECT_NUMBER(all, #name, n++ << 40);
    SMCR_COUNTERS(EXPECT_)
    json_object_put(o);
}

/* Arguments of a program may be any bytes, and are cut somewhere. */
Test(stat_json, what_is_no_text_stays_json)
{
    static const struct {
        const char *said, *read;
    } cases[] = {
        {"a \"b\" \\ / \x01\n\x1f", "a \"b\" \\ / \x01\n\x1f"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xb4", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xb4"},
        {"caf\xe9", "caf\xef\xbf\xbd"},
        {"cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \xff",
         "\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd"},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        reason = cases[i].said;
        struct json_object *o = ask();
        EXPECT_TEXT(element(o, "fallbacks", 1, 0), "reason", cases[i].read);
        json_object_put(o);
    }
}

Test(stat_json, a_socket_a_process)
{
    char path[SMCR_STAT_PATH_BYTES];
    smcr_stat_path(4294967295u, path);
    cr_expect_str_eq(path, "/run/nornic/smc-4294967295");
}
