/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/iwarp_frames.h"

#include <assert.h>
#include <stdio.h>

/* clang-format off */
const struct iwarp_example iwarp_examples[IWARP_EX_COUNT] = {
    {"MPA Request rev1 C=1 'ping'",
     "4d504120 49442052 65712046 72616d65 40010004 70696e67"},
    {"MPA Reply rev1 C=1",
     "4d504120 49442052 65702046 72616d65 40010000"},
    {"MPA Request rev2 S A C D ird16 ord8 'ping'",
     "4d504120 49442052 65712046 72616d65 50020008 8010c008 70696e67"},
    {"MPA Reply rev2 S A C ird8 ord16",
     "4d504120 49442052 65702046 72616d65 50020004 80088010"},
    {"RTR Write stag 1 to 0",
     "000ec140 00000001 00000000 00000000 ebd34c5f"},
    {"RTR Read msn 1",
     "002e4141 00000000 00000001 00000001 00000000 00000001 00000000 00000000 00000000 "
     "00000001 00000000 00000000 27dbd7e7"},
    {"RTR Read's Response",
     "000ec142 00000001 00000000 00000000 21a3e83e"},
    {"Send msn1 'hello'",
     "00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 b990b10c"},
    {"Send+Inv msn2 'bye!' inv 00012301",
     "00164144 00012301 00000000 00000002 00000000 62796521 18eec76a"},
    {"Send+SE msn3 01",
     "00134145 00000000 00000000 00000003 00000000 01000000 191f7bf1"},
    {"Send+SE+Inv msn4 empty inv 00012402",
     "00124146 00012402 00000000 00000004 00000000 1e2dadce"},
    {"Write stag 00abcd01 to 1000 'ABCDE'",
     "0013c140 00abcd01 00000000 00001000 41424344 45000000 a46bca83"},
    {"Read Request msn1 sink 00112201:7f0000002000 8 octets src 00abcd01:1000",
     "002e4141 00000000 00000001 00000001 00000000 00112201 00007f00 00002000 00000008 "
     "00abcd01 00000000 00001000 3a88160d"},
    {"Read Response",
     "0016c142 00112201 00007f00 00002000 41424344 45000000 267fcc29"},
    {"FetchAdd msn2 id a1 +1 at 00abcd01:1008",
     "0046414a 00000000 00000001 00000002 00000000 00000000 000000a1 00abcd01 00000000 "
     "00001008 00000000 00000001 00000000 00000000 00000000 00000000 ffffffff ffffffff "
     "e0209a4f"},
    {"Atomic Response msn1 id a1 was 41",
     "001e414b 00000000 00000003 00000001 00000000 000000a1 00000000 00000029 bed18e97"},
    {"CmpSwap msn3 id a2 if 42 then 100",
     "0046414a 00000000 00000001 00000003 00000000 00000002 000000a2 00abcd01 00000000 "
     "00001008 00000000 00000064 ffffffff ffffffff 00000000 0000002a ffffffff ffffffff "
     "9e7f6f66"},
    {"Swap msn4 id a3 := 7",
     "0046414a 00000000 00000001 00000004 00000000 00000001 000000a3 00abcd01 00000000 "
     "00001008 00000000 00000007 ffffffff ffffffff 00000000 00000000 ffffffff ffffffff "
     "bdada39a"},
    {"Immediate msn5 0102030405060708",
     "001a4148 00000000 00000000 00000005 00000000 01020304 05060708 922360c6"},
    {"Immediate+SE msn6, 32-bit 11223344",
     "001a4149 00000000 00000000 00000006 00000000 11223344 00000000 629ac4f5"},
    {"Terminate 2/0/02 no headers",
     "00164147 00000000 00000002 00000001 00000000 20020000 7fe42585"},
    {"Terminate 1/2/02 for the Send above (segment length 23, 18-octet header)",
     "002a4147 00000000 00000002 00000001 00000000 1202c000 00174143 00000000 00000000 "
     "00000001 00000000 9b27256c"},
    {"Terminate 1/1/00 for a 5-octet Write to dead0001:1000 (14-octet header)",
     "00264147 00000000 00000002 00000001 00000000 1100c000 0013c140 dead0001 00000000 "
     "00001000 8eb50342"},
    {"Terminate 0/1/01 for a 16-octet Read Request (msn 5) at 00abcd01:1ff8 (18 + 28 octets)",
     "00464147 00000000 00000002 00000001 00000000 0101e000 002e4141 00000000 00000001 "
     "00000005 00000000 00112201 00007f00 00002000 00000010 00abcd01 00000000 00001ff8 "
     "d5ec1f5e"},
    {"Marked direction, first FPDU, Send msn1 'hello'",
     "00000000 00174143 00000000 00000000 00000001 00000000 68656c6c 6f000000 7a61e971"},
};
/* clang-format on */

size_t iwarp_example_bytes(enum iwarp_example_name name, uint8_t out[IWARP_EXAMPLE_MAX_BYTES])
{
    const char *p = iwarp_examples[name].hex;
    size_t n = 0;

    for (unsigned byte; sscanf(p, "%2x", &byte) == 1; n++) {
        assert(n < IWARP_EXAMPLE_MAX_BYTES);
        out[n] = (uint8_t)byte;
        p += 2;
        if (*p == ' ')
            p++;
    }
    return n;
}
