/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/json.h"
#include "cli/node/tcp.h"

#define MAX_LINE_BYTES 262144u /* PERF_MAX_QPS queue pairs with room to spare */
#define SEND_NS        5000000000ull

static struct json_object *new_line(void)
{
    struct json_object *o = json_object_new_object();
    cli_json_add_count(o, "nornic_perf", PERF_VERSION);
    return o;
}

/* Sends `o` as a line and lets it go. */
static int send_line(int fd, struct json_object *o, struct nornic_error *why)
{
    size_t len;
    const char *text =
        json_object_to_json_string_length(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
    int err = cli_tcp_write(fd, text, len, SEND_NS, why);
    if (!err)
        err = cli_tcp_write(fd, "\n", 1, SEND_NS, why);
    json_object_put(o);
    return err;
}

/* Byte by byte: what follows the line stays unread, and three short lines are all that there is. The time is
 * that of the whole line: a peer that says a little now and then would otherwise hold this side for ever. */
static int read_text(int fd, uint64_t timeout_ns, char *line, struct nornic_error *why)
{
    uint64_t end_ns = host_now_ns() + timeout_ns;
    for (size_t n = 0; n < MAX_LINE_BYTES; n++) {
        uint64_t now_ns = host_now_ns();
        int err = cli_tcp_read(fd, line + n, 1, now_ns < end_ns ? end_ns - now_ns : 0, why);
        if (err)
            return err;
        if (line[n] == '\n') {
            line[n] = '\0';
            return 0;
        }
    }
    return net_error_set(why, EPROTO, "the peer's line is longer than %u bytes", MAX_LINE_BYTES);
}

static int check_line(struct json_object *o, struct nornic_error *why)
{
    struct json_object *version, *error;
    if (!json_object_object_get_ex(o, "nornic_perf", &version))
        return net_error_set(why, EPROTO, "the peer does not speak the exchange of nornic perf");
    if (json_object_get_int64(version) != PERF_VERSION)
        return net_error_set(why, EPROTO,
                             "the peer speaks version %" PRId64 " of the exchange, this side version %d: use "
                             "the same nornic on both",
                             json_object_get_int64(version), PERF_VERSION);
    if (json_object_object_get_ex(o, "error", &error) && json_object_is_type(error, json_type_string))
        return net_error_set(why, EREMOTEIO, "the peer gives up: %.200s", json_object_get_string(error));
    return 0;
}

/* Reads one line; `*out` is the caller's to let go. */
static int read_line(int fd, uint64_t timeout_ns, struct json_object **out, struct nornic_error *why)
{
    char *line = malloc(MAX_LINE_BYTES);
    if (!line)
        return net_error_set(why, ENOMEM, "no memory for the control exchange");
    struct json_object *o = NULL;
    int err = read_text(fd, timeout_ns, line, why);
    if (!err) {
        o = json_tokener_parse(line);
        err = check_line(o, why);
    }
    free(line);
    if (err)
        json_object_put(o);
    else
        *out = o;
    return err;
}

/* A member that is a whole number in [min, max]. */
static int get_count(struct json_object *o, const char *key, uint64_t min, uint64_t max, uint64_t *out,
                     struct nornic_error *why)
{
    struct json_object *member;
    if (!json_object_object_get_ex(o, key, &member) || !json_object_is_type(member, json_type_int))
        return net_error_set(why, EPROTO, "the peer's line has no number '%s'", key);
    *out = json_object_get_uint64(member);
    if (json_object_get_int64(member) < 0 || *out < min || *out > max)
        return net_error_set(why, EPROTO, "the peer's '%s' is out of range", key);
    return 0;
}

static int get_count32(struct json_object *o, const char *key, uint32_t max, uint32_t *out,
                       struct nornic_error *why)
{
    uint64_t value = 0;
    int err = get_count(o, key, 0, max, &value, why);
    *out = (uint32_t)value;
    return err;
}

static int get_gid(struct json_object *o, struct nornic_addr *gid, struct nornic_error *why)
{
    struct json_object *member;
    if (!json_object_object_get_ex(o, "gid", &member) || !json_object_is_type(member, json_type_string) ||
        nornic_addr_parse(json_object_get_string(member), gid) != 0)
        return net_error_set(why, EPROTO, "the peer's line names no GID");
    return 0;
}

static void add_qps(struct json_object *o, const struct perf_side *side)
{
    char text[NORNIC_ADDR_STR_SIZE];
    cli_json_add_text(o, "gid", nornic_addr_str(&side->gid, text));
    struct json_object *list = json_object_new_array();
    for (uint32_t q = 0; q < side->test.qps; q++) {
        struct json_object *qp = json_object_new_object();
        cli_json_add_count(qp, "qpn", side->qps[q].qpn);
        cli_json_add_count(qp, "psn", side->qps[q].psn);
        json_object_array_add(list, qp);
    }
    json_object_object_add(o, "qp_list", list);
}

static void add_transport(struct json_object *o, const struct perf_side *side)
{
    if (side->is_iwarp)
        cli_json_add_text(o, "transport", "iwarp");
}

/* Without a word about it, it is RoCE. */
static int check_transport(struct json_object *o, bool is_iwarp, struct nornic_error *why)
{
    struct json_object *member;
    bool says_iwarp = json_object_object_get_ex(o, "transport", &member) &&
                      json_object_is_type(member, json_type_string) &&
                      strcmp(json_object_get_string(member), "iwarp") == 0;
    if (says_iwarp == is_iwarp)
        return 0;
    return net_error_set(why, EPROTO,
                         "one side speaks iWARP and the other RoCE: use --port iwarp:ADDRESS on both, or on "
                         "none");
}

static int get_qps(struct json_object *o, uint32_t want, struct perf_peer *peers, struct nornic_error *why)
{
    struct json_object *list;
    if (!json_object_object_get_ex(o, "qp_list", &list) || !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) != want)
        return net_error_set(why, EPROTO, "the peer's line has no list of %u queue pairs", want);
    int err = 0;
    for (uint32_t q = 0; q < want && !err; q++) {
        struct json_object *qp = json_object_array_get_idx(list, q);
        err = get_count32(qp, "qpn", 0xffffff, &peers[q].qpn, why);
        if (!err)
            err = get_count32(qp, "psn", 0xffffff, &peers[q].psn, why);
    }
    return err;
}

int perf_control_send_test(int fd, const struct perf_side *side, struct nornic_error *why)
{
    const struct perf_test *t = &side->test;
    struct json_object *o = new_line();
    cli_json_add_text(o, "op", perf_op_name(t->op));
    cli_json_add_count(o, "size", t->size_bytes);
    cli_json_add_count(o, "depth", t->depth);
    cli_json_add_count(o, "qps", t->qps);
    cli_json_add_count(o, "pmtu", t->pmtu_bytes);
    cli_json_add_count(o, "verify", t->verify);
    add_transport(o, side);
    add_qps(o, side);
    return send_line(fd, o, why);
}

static int get_op(struct json_object *o, enum perf_op *op, struct nornic_error *why)
{
    struct json_object *member;
    if (json_object_object_get_ex(o, "op", &member) && json_object_is_type(member, json_type_string) &&
        perf_op_parse(json_object_get_string(member), op))
        return 0;
    return net_error_set(why, EPROTO, "the peer asks for an operation that this side does not know");
}

static int get_test(struct json_object *o, struct perf_test *t, struct nornic_error *why)
{
    uint32_t verify = 0;
    int err = get_op(o, &t->op, why);
    if (!err)
        err = get_count32(o, "size", UINT32_MAX, &t->size_bytes, why);
    if (!err)
        err = get_count32(o, "depth", PERF_MAX_DEPTH, &t->depth, why);
    if (!err)
        err = get_count32(o, "qps", PERF_MAX_QPS, &t->qps, why);
    if (!err)
        err = get_count32(o, "pmtu", 4096, &t->pmtu_bytes, why);
    if (!err)
        err = get_count32(o, "verify", 1, &verify, why);
    t->verify = verify != 0;
    if (!err && perf_op_is_atomic(t->op) && t->size_bytes != PERF_ATOMIC_BYTES)
        err = net_error_set(why, EPROTO, "the peer's atomics have %u bytes and not 8", t->size_bytes);
    return err;
}

int perf_control_read_test(int fd, uint64_t timeout_ns, bool is_iwarp, struct perf_test *test,
                           struct nornic_addr *gid, struct perf_peer *peers, struct nornic_error *why)
{
    struct json_object *o = NULL;
    int err = read_line(fd, timeout_ns, &o, why);
    if (err)
        return err;
    err = check_transport(o, is_iwarp, why);
    if (!err)
        err = get_test(o, test, why);
    if (!err)
        err = get_gid(o, gid, why);
    if (!err)
        err = get_qps(o, test->qps, peers, why);
    json_object_put(o);
    return err;
}

int perf_control_send_answer(int fd, const struct perf_side *side, struct nornic_error *why)
{
    struct json_object *o = new_line();
    add_qps(o, side);
    cli_json_add_count(o, "addr", side->memory.remote_addr);
    cli_json_add_count(o, "rkey", side->memory.rkey);
    add_transport(o, side);
    if (side->is_iwarp)
        cli_json_add_count(o, "tcp_port", side->tcp_port);
    return send_line(fd, o, why);
}

int perf_control_read_answer(int fd, struct perf_side *side, struct nornic_error *why)
{
    struct json_object *o = NULL;
    struct perf_peer peers[PERF_MAX_QPS] = {{0}};
    uint32_t tcp_port = 0;
    int err = read_line(fd, side->timeout_ns, &o, why);
    if (err)
        return err;
    err = check_transport(o, side->is_iwarp, why);
    if (!err)
        err = get_gid(o, &side->peer_gid, why);
    if (!err && side->is_iwarp)
        err = get_count32(o, "tcp_port", UINT16_MAX, &tcp_port, why);
    side->tcp_port = (uint16_t)tcp_port;
    if (!err)
        err = get_count(o, "addr", 0, UINT64_MAX, &side->peer_addr, why);
    if (!err)
        err = get_count32(o, "rkey", UINT32_MAX, &side->peer_rkey, why);
    if (!err)
        err = get_qps(o, side->test.qps, peers, why);
    for (uint32_t q = 0; !err && q < side->test.qps; q++) {
        side->qps[q].peer_qpn = peers[q].qpn;
        side->qps[q].peer_psn = peers[q].psn;
    }
    json_object_put(o);
    return err;
}

int perf_control_send_ops(int fd, const struct perf_side *side, struct nornic_error *why)
{
    struct json_object *o = new_line();
    struct json_object *list = json_object_new_array();
    for (uint32_t q = 0; q < side->test.qps; q++)
        json_object_array_add(list, json_object_new_uint64(side->qps[q].done));
    json_object_object_add(o, "ops", list);
    return send_line(fd, o, why);
}

int perf_control_read_ops(int fd, const struct perf_side *side, uint64_t *ops, struct nornic_error *why)
{
    struct json_object *o = NULL, *list = NULL;
    int err = read_line(fd, side->timeout_ns, &o, why);
    if (err)
        return err;
    if (!json_object_object_get_ex(o, "ops", &list) || !json_object_is_type(list, json_type_array) ||
        json_object_array_length(list) != side->test.qps)
        err = net_error_set(why, EPROTO, "the peer's line does not say how many operations it did");
    for (uint32_t q = 0; !err && q < side->test.qps; q++)
        ops[q] = json_object_get_uint64(json_object_array_get_idx(list, q));
    json_object_put(o);
    return err;
}

int perf_control_send_checked(int fd, uint64_t checked, struct nornic_error *why)
{
    struct json_object *o = new_line();
    cli_json_add_count(o, "checked", checked);
    return send_line(fd, o, why);
}

int perf_control_read_checked(int fd, uint64_t timeout_ns, uint64_t *checked, struct nornic_error *why)
{
    struct json_object *o = NULL;
    int err = read_line(fd, timeout_ns, &o, why);
    if (err)
        return err;
    err = get_count(o, "checked", 0, UINT64_MAX, checked, why);
    json_object_put(o);
    return err;
}

void perf_control_send_error(int fd, const char *why)
{
    struct json_object *o = new_line();
    cli_json_add_text(o, "error", why);
    send_line(fd, o, NULL);
}
