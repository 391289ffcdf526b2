/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/wire/ip_id.h"

#include "base/hash.h"

#define CRC_POLYNOMIAL 0xedb88320u /* of CRC-32, reflected: bit 31 is the coefficient of x^0 */
#define CRC_X_INVERSE  0xdb710641u /* x^-1: times x it is 1, which is bit 31 alone */
#define FIELD_BYTES    24          /* the identification and what lies between it and the BTH */

/* a * b modulo the polynomial. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b & 1 ? b >> 1 ^ CRC_POLYNOMIAL : b >> 1;
    }
    return product;
}

/* x^(-8 * bytes), by squaring. */
static uint32_t unwind_of(uint32_t bytes)
{
    uint32_t power = CRC_X_INVERSE, result = 1u << 31;
    for (unsigned i = 0; i < 3; i++) /* x^-8 */
        power = multiply(power, power);
    for (; bytes; bytes >>= 1) {
        if (bytes & 1)
            result = multiply(result, power);
        power = multiply(power, power);
    }
    return result;
}

bool roce_ip_id_find(struct roce_ip_ids *ids, uint32_t residual, uint32_t len_bytes, uint16_t *difference)
{
    uint32_t slot = len_bytes / 4 & (ROCE_IP_ID_LENGTHS - 1);
    if (ids->lengths[slot].unwind == 0 || ids->lengths[slot].len_bytes != len_bytes) {
        ids->lengths[slot].len_bytes = len_bytes;
        ids->lengths[slot].unwind = unwind_of(FIELD_BYTES + len_bytes);
    }
    uint32_t field = multiply(residual, ids->lengths[slot].unwind);
    *difference = (uint16_t)((field & 0xff) << 8 | field >> 8);
    return field >> 16 == 0;
}

bool roce_ip_id_admit(struct roce_ip_ids *ids, const struct nornic_addr *src, uint16_t id)
{
    uint64_t hash = hash_bytes(0, src->b, sizeof src->b);
    struct roce_ip_id_peer *peer = &ids->peers[hash & (ROCE_IP_ID_PEERS - 1)];
    bool is_new = !nornic_addr_equal(&peer->addr, src);
    if (is_new)
        *peer =
            (struct roce_ip_id_peer){.addr = *src, .foreign = id < ROCE_OWN_IP_IDS ? 0 : ROCE_FOREIGN_IP_IDS};
    if (id < ROCE_OWN_IP_IDS)
        return true;
    if (peer->foreign < ROCE_FOREIGN_IP_IDS)
        return ++peer->foreign == ROCE_FOREIGN_IP_IDS;
    return true;
}
