/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/boxes.h"

#include <stdio.h>

#include "explain/packet/registry.h"

#define ROW_BITS  32
#define ROW_CHARS (2 * ROW_BITS) /* a bit and what parts it from the next */
#define HEX_MAX   64             /* bytes of a layer shown in hex */

/* Writes `name` into the middle of `width` characters, cut where it is too long. */
static void centre(char *at, unsigned width, const char *name)
{
    size_t n = strlen(name);
    if (n > width)
        n = width;
    for (size_t i = 0; i < n; i++)
        at[(width - n) / 2 + i] = name[i];
}

/* One row of 32 bits: the names between bars, and the line below it, open where a field goes on. */
static void draw_row(struct explain_text *out, const struct net_header *h, unsigned row)
{
    char names[ROW_CHARS + 2], line[ROW_CHARS + 2];
    unsigned first = row * ROW_BITS, bits = h->len_bytes * 8u - first;
    unsigned width = 2 * (bits < ROW_BITS ? bits : ROW_BITS);
    memset(names, ' ', sizeof names);
    memset(line, '-', sizeof line);
    for (unsigned i = 0; i <= width; i += 2)
        line[i] = '+';
    names[0] = '|';
    for (unsigned i = 0; i < h->field_count; i++) {
        const struct net_field *f = &h->fields[i];
        unsigned from = f->first_bit, to = f->first_bit + f->width_bits;
        if (to <= first || from >= first + ROW_BITS)
            continue;
        unsigned left = from > first ? from - first : 0;
        unsigned right = to - first < ROW_BITS ? to - first : ROW_BITS;
        if (from >= first)
            centre(names + 2 * left + 1, 2 * (right - left) - 1, f->name);
        names[2 * right] = '|';
        if (to > first + ROW_BITS) /* goes on in the next row */
            memset(line + 2 * left + 1, ' ', 2 * (right - left) - 1);
    }
    explain_printf(out, "  %.*s\n  %.*s\n", (int)width + 1, names, (int)width + 1, line);
}

void explain_box(struct explain_text *out, const struct net_header *header)
{
    unsigned bits = header->len_bytes * 8u, width = bits < ROW_BITS ? bits : ROW_BITS;
    explain_put(out, "   ");
    for (unsigned i = 0; i < width; i += 10)
        explain_printf(out, "%u%s", i / 10, i + 10 < width ? "                   " : "");
    explain_put(out, "\n   ");
    for (unsigned i = 0; i < width; i++)
        explain_printf(out, "%u%s", i % 10, i + 1 < width ? " " : "");
    explain_put(out, "\n  ");
    for (unsigned i = 0; i < width; i++)
        explain_put(out, "+-");
    explain_put(out, "+\n");
    for (unsigned row = 0; row * ROW_BITS < bits; row++)
        draw_row(out, header, row);
}

static void put_hex_bytes(struct explain_text *out, const uint8_t *bytes, unsigned n)
{
    for (unsigned i = 0; i < n && i < HEX_MAX; i++) {
        if (i % 4 == 0)
            explain_put(out, " ");
        explain_put_hex(out, bytes[i], 2);
    }
    explain_put(out, n > HEX_MAX ? " ...\n" : "\n");
}

static void put_layer(struct explain_text *out, const struct explain_packet *p, unsigned layer)
{
    const struct explain_layer *l = &p->layers[layer];
    const struct net_header *h = l->kind->header;
    explain_printf(out, " %s: %s, %u bytes at %u", l->kind->key, l->kind->words, h->len_bytes, l->offset);
    if (!explain_layer_is_whole(l))
        explain_printf(out, ", %u of them captured", l->len_bytes);
    explain_put(out, ":");
    put_hex_bytes(out, p->frame + l->offset, l->len_bytes);
    if (h->len_bytes <= HEX_MAX)
        explain_box(out, h);
    for (unsigned i = 0; i < h->field_count; i++) {
        char text[600];
        const struct net_field *f = &h->fields[i];
        if (!explain_layer_holds(l, f))
            continue;
        const char *rule = explain_packet_rule(p, layer, f);
        explain_printf(out, "    %-20s %-40s %s%s\n", f->name,
                       explain_field_text(p, layer, f, text, sizeof text), rule ? rule : "",
                       explain_field_offends(p, layer, f) ? "  <-- here" : "");
    }
}

void explain_boxes_packet(struct explain_text *out, const struct explain_packet *p)
{
    for (unsigned i = 0; i < p->layer_count; i++)
        put_layer(out, p, i);
    if (p->payload_bytes) {
        explain_printf(out, " data: %u byte%s at %u:", p->payload_bytes, p->payload_bytes == 1 ? "" : "s",
                       p->payload_offset);
        put_hex_bytes(out, p->frame + p->payload_offset, p->payload_bytes);
    }
    if (p->verdict == ROCE_RX_DROP_ICRC)
        explain_printf(out, " ICRC: %08x found, %08x expected   ROCE-ICRC-7  <-- here\n",
                       explain_icrc_on_wire(p->roce.icrc_found), explain_icrc_on_wire(p->roce.icrc_expected));
    else if (explain_has_icrc(p))
        explain_printf(out, " ICRC: %08x, good\n", explain_icrc_on_wire(p->roce.icrc_found));
}
