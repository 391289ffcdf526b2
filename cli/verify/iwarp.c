/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/verify/iwarp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

static uint64_t named(const struct cli_verify_iwarp *w)
{
    return min_u64(w->bad_count, CLI_BAD_FPDUS_MAX);
}

static bool add_bad(struct cli_verify_iwarp *w, const struct explain_finding *f)
{
    if (!w->bad)
        w->bad = calloc(CLI_BAD_FPDUS_MAX, sizeof *w->bad);
    if (!w->bad)
        return false;
    if (w->bad_count < CLI_BAD_FPDUS_MAX)
        w->bad[w->bad_count] = *f;
    w->bad_count++;
    return true;
}

bool cli_verify_iwarp_take(struct cli_verify_iwarp *w, struct explain_packet *packet)
{
    struct explain_meaning m;
    if (!w->follower && explain_iwarp_may_begin(packet)) {
        w->follower = explain_iwarp_create(0);
        if (!w->follower)
            return false;
    }
    if (!w->follower)
        return true;
    explain_meaning_clear(&m);
    explain_iwarp_take(w->follower, packet, &m);
    w->conns = explain_iwarp_conn_count(w->follower);
    w->fpdus += m.iwarp.fpdus;
    for (unsigned crc = 0; crc <= EXPLAIN_CRC_UNSEEN; crc++)
        w->crcs[crc] += m.iwarp.crcs[crc];
    bool is_kept = true;
    for (unsigned i = 0; i < m.remark_count; i++) {
        m.remarks[i].number = packet->number;
        if (m.remarks[i].kind == EXPLAIN_FIND_IWARP_CRC || m.remarks[i].kind == EXPLAIN_FIND_IWARP_FRAMING)
            is_kept &= add_bad(w, &m.remarks[i]);
    }
    return is_kept;
}

void cli_verify_iwarp_add(struct cli_verify_iwarp *total, const struct cli_verify_iwarp *file)
{
    total->conns += file->conns;
    total->fpdus += file->fpdus;
    for (unsigned crc = 0; crc <= EXPLAIN_CRC_UNSEEN; crc++)
        total->crcs[crc] += file->crcs[crc];
}

void cli_verify_iwarp_end(struct cli_verify_iwarp *w)
{
    if (w->follower)
        explain_iwarp_destroy(w->follower);
    free(w->bad);
}

void cli_verify_iwarp_print(const struct cli_verify_iwarp *w)
{
    if (!w->conns)
        return;
    printf("  iWARP: %" PRIu32 " connection%s, %" PRIu64 " FPDU%s: CRC good %" PRIu64 ", bad %" PRIu64
           ", not in use %" PRIu64,
           w->conns, plural_s(w->conns), w->fpdus, plural_s(w->fpdus), w->crcs[EXPLAIN_CRC_GOOD],
           w->crcs[EXPLAIN_CRC_BAD], w->crcs[EXPLAIN_CRC_OFF]);
    if (w->crcs[EXPLAIN_CRC_UNSEEN])
        printf(", not checked %" PRIu64, w->crcs[EXPLAIN_CRC_UNSEEN]);
    putchar('\n');
    for (uint64_t i = 0; i < named(w); i++)
        printf("  frame %" PRIu64 ": %s (%s)\n", w->bad[i].number, w->bad[i].words, w->bad[i].rule);
    if (w->bad_count > named(w))
        printf("  ... and %" PRIu64 " more\n", w->bad_count - named(w));
}

void cli_verify_iwarp_to_json(const struct cli_verify_iwarp *w, json_object *object)
{
    if (!w->conns)
        return;
    json_object *o = json_object_new_object(), *bad = json_object_new_array();
    json_object_object_add(o, "connections", json_object_new_int64(w->conns));
    json_object_object_add(o, "fpdus", json_object_new_uint64(w->fpdus));
    for (unsigned crc = 0; crc <= EXPLAIN_CRC_UNSEEN; crc++) {
        char key[16];
        snprintf(key, sizeof key, "crc_%s", explain_crc_key(crc));
        json_object_object_add(o, key, json_object_new_uint64(w->crcs[crc]));
    }
    for (uint64_t i = 0; i < named(w); i++) {
        json_object *f = json_object_new_object();
        json_object_object_add(f, "n", json_object_new_uint64(w->bad[i].number));
        json_object_object_add(f, "rule", json_object_new_string(w->bad[i].rule));
        json_object_object_add(f, "words", json_object_new_string(w->bad[i].words));
        json_object_array_add(bad, f);
    }
    json_object_object_add(o, "bad_fpdus", bad);
    json_object_object_add(object, "iwarp", o);
}
