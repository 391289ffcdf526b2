/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/term.h"

#include "base/base.h"

static const char *const layer_names[] = {"RDMAP", "DDP", "MPA"};
_Static_assert(array_len(layer_names) == IWARP_LAYER_COUNT, "a word a layer");

#define TYPES 3
static const char *const type_names[][TYPES] = {
    {"local catastrophic error", "remote protection error", "remote operation error"},
    {"local catastrophic error", "tagged buffer error", "untagged buffer error"},
    {"MPA error", NULL, NULL},
};
_Static_assert(array_len(type_names) == IWARP_LAYER_COUNT, "a row a layer");

static const struct {
    uint16_t value;
    const char *words;
} codes[] = {
#define ROW(name, value, words) {value, words},
    IWARP_TERM_CODES(ROW)
#undef ROW
};

const char *iwarp_term_layer_name(uint64_t value)
{
    return value < array_len(layer_names) ? layer_names[value] : NULL;
}

const char *iwarp_term_type_name(uint8_t layer, uint8_t etype)
{
    return layer < IWARP_LAYER_COUNT && etype < TYPES ? type_names[layer][etype] : NULL;
}

const char *iwarp_term_code_name(uint16_t value)
{
    uint16_t wanted = value >> 8 == IWARP_TERM_RDMAP_LOCAL >> 8 ? IWARP_TERM_RDMAP_LOCAL : value;
    for (size_t i = 0; i < array_len(codes); i++)
        if (codes[i].value == wanted)
            return codes[i].words;
    return NULL;
}

bool iwarp_term_is_turned(const struct iwarp_term *h, struct iwarp_term *meant)
{
    uint8_t flags = h->resv13 >> 8; /* the low five bits of the octet of M, D and R */
    *meant = (struct iwarp_term){
        .layer = h->etype,
        .etype = h->layer,
        .code = h->code,
        .m = flags & 1,
        .d = flags >> 1 & 1,
        .r = flags >> 2 & 1,
    };
    bool is_defined = iwarp_term_code_name(iwarp_term_value(h));
    bool has_flags = h->m || h->d || h->r || !flags;
    return iwarp_term_code_name(iwarp_term_value(meant)) && (!is_defined || !has_flags);
}
