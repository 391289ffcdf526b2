/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts of rdma-core's rc_pingpong.c (v17 to v64): the buffer is set to 0x7b before it is registered
 * (uc_pingpong.c and ud_pingpong.c: on the client; srq_pingpong.c: to 0); with -c the client stores
 * `page index % sizeof(char)`, which is 0, at the start of each page before its first send, and the
 * server, after the last exchange, expects that there. Neither changes the buffer between exchanges. */
#include "cli/pingpong/pingpong.h"

#include <string.h>

#include "cli/node/pattern.h"

#define STOCK_BYTE 0x7b
#define STOCK_PAGE 4096u

static uint8_t stock_byte(enum pingpong_form form, uint32_t at)
{
    if (form == PINGPONG_FORM_STOCK_ZERO || (form == PINGPONG_FORM_STOCK_CHECKED && at % STOCK_PAGE == 0))
        return 0;
    return STOCK_BYTE;
}

void pingpong_fill(enum pingpong_form form, uint64_t key, uint8_t *buf, uint32_t len_bytes)
{
    if (form == PINGPONG_FORM_COUNTED) {
        cli_pattern_fill(key, buf, len_bytes);
        return;
    }
    memset(buf, form == PINGPONG_FORM_STOCK_ZERO ? 0 : STOCK_BYTE, len_bytes);
    for (uint32_t at = 0; at < len_bytes; at += STOCK_PAGE)
        buf[at] = stock_byte(form, at);
}

uint32_t pingpong_compare(enum pingpong_form form, uint64_t key, const uint8_t *buf, uint32_t len_bytes)
{
    if (form == PINGPONG_FORM_COUNTED)
        return (uint32_t)cli_pattern_compare(key, buf, len_bytes);
    for (uint32_t at = 0; at < len_bytes; at++)
        if (buf[at] != stock_byte(form, at))
            return at;
    return len_bytes;
}
