/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/iwarp/setup_script.h"

#include <criterion/criterion.h>
#include <string.h>

struct iwarp_setup one, other;

const struct iwarp_setup_config usual = {.ird = 16, .ord = 8};

/* A frame, with four octets of RFC 6581 where `flags` has S. */
static size_t frame(uint8_t *to, const char *key, uint8_t flags, uint8_t rev, uint32_t enhanced,
                    const char *private_data)
{
    size_t len = 20, n = strlen(private_data);
    memcpy(to, key, 16);
    to[16] = flags;
    to[17] = rev;
    if (flags & FLAG_S && rev == 2) {
        for (int i = 0; i < 4; i++)
            to[len++] = (uint8_t)(enhanced >> (24 - 8 * i));
    }
    memcpy(to + len, private_data, n);
    len += n;
    to[18] = (uint8_t)((len - 20) >> 8);
    to[19] = (uint8_t)(len - 20);
    return len;
}

size_t request(uint8_t *to, uint8_t flags, uint8_t rev, uint32_t enhanced, const char *private_data)
{
    return frame(to, "MPA ID Req Frame", flags, rev, enhanced, private_data);
}

size_t reply(uint8_t *to, uint8_t flags, uint8_t rev, uint32_t enhanced, const char *private_data)
{
    return frame(to, "MPA ID Rep Frame", flags, rev, enhanced, private_data);
}

void expect_output(const struct iwarp_setup *s, enum iwarp_example_name name)
{
    uint8_t wanted[IWARP_EXAMPLE_MAX_BYTES];
    size_t wanted_len = iwarp_example_bytes(name, wanted), len;
    const uint8_t *out = iwarp_setup_output(s, &len);
    cr_assert_eq(len, wanted_len);
    cr_expect_arr_eq(out, wanted, len, "%s", iwarp_examples[name].title);
}

void expect_private_data(const struct iwarp_setup *s, const char *wanted)
{
    size_t len;
    const uint8_t *data = iwarp_setup_private_data(s, &len);
    cr_assert_eq(len, strlen(wanted));
    cr_expect_arr_eq(data, wanted, len);
}

void take_request(const struct iwarp_setup_config *config, uint8_t flags, uint8_t rev, uint32_t enhanced)
{
    uint8_t bytes[64];
    size_t len = request(bytes, flags, rev, enhanced, "");
    cr_assert_eq(iwarp_setup_listen(&one, config, 0), 0);
    iwarp_setup_input(&one, bytes, len);
}

uint8_t reply_of(uint32_t *enhanced)
{
    size_t len;
    const uint8_t *p = iwarp_setup_output(&one, &len);
    cr_assert_geq(len, 20);
    cr_assert_arr_eq(p, "MPA ID Rep Frame", 16);
    *enhanced = len >= 24 ? (uint32_t)p[20] << 24 | (uint32_t)p[21] << 16 | (uint32_t)p[22] << 8 | p[23] : 0;
    return p[16];
}

void take_reply(const struct iwarp_setup_config *config, uint8_t flags, uint8_t rev, uint32_t enhanced)
{
    uint8_t bytes[64];
    size_t len = reply(bytes, flags, rev, enhanced, "");
    cr_assert_eq(iwarp_setup_connect(&one, config, NULL, 0, 0), 0);
    iwarp_setup_input(&one, bytes, len);
}

void expect_failure(enum iwarp_setup_failure failure, uint16_t term, const char *what)
{
    cr_expect_eq(one.state, IWARP_SETUP_FAILED, "%s", what);
    cr_expect_eq(one.failure, failure, "%s: %d", what, one.failure);
    cr_expect_eq(one.term, term, "%s: %04x", what, one.term);
    cr_expect_eq(one.deadline_ns, UINT64_MAX, "%s", what);
}
