/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic header: the headers of the wire format, drawn from the tables that the engine is made of. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "explain/packet/packet.h"
#include "explain/packet/registry.h"
#include "explain/show/boxes.h"
#include "explain/show/values.h"

#define DRAWN_BYTES_MAX 64 /* longer ones are listed only */

static void list_headers(void)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        printf("%-21s %3u bytes  %s\n", k->key, k->header->len_bytes, k->words);
}

static void put_fields(struct explain_text *out, const struct explain_layer_kind *kind)
{
    for (unsigned i = 0; i < kind->header->field_count; i++) {
        const struct net_field *f = &kind->header->fields[i];
        const char *rule = explain_field_rule(kind->id, f);
        char bits[24];
        if (f->width_bits == 1)
            snprintf(bits, sizeof bits, "%u", f->first_bit);
        else
            snprintf(bits, sizeof bits, "%u-%u", f->first_bit, f->first_bit + f->width_bits - 1u);
        explain_printf(out, "    bits %-10s %-20s %s\n", bits, f->name, rule ? rule : "");
    }
}

static void put_header(struct explain_text *out, const struct explain_layer_kind *kind)
{
    explain_printf(out, "%s: %s, %u bytes\n", kind->key, kind->words, kind->header->len_bytes);
    if (kind->header->len_bytes <= DRAWN_BYTES_MAX)
        explain_box(out, kind->header);
    put_fields(out, kind);
}

/* "bth", or "bth.opcode": a header, or the values of a field. CLI_OK, or CLI_ERROR after a sentence. */
static int put_named(struct explain_text *out, const char *name)
{
    const char *dot = strchr(name, '.');
    const struct explain_layer_kind *kind = explain_layer_kind(name, strcspn(name, "."));
    if (!kind)
        return cli_fail("there is no header %.*s; `nornic header` lists them", (int)strcspn(name, "."), name);
    if (!dot) {
        put_header(out, kind);
        return CLI_OK;
    }
    const struct net_field *field = explain_header_field(kind->header, dot + 1, strlen(dot + 1));
    if (!field)
        return cli_fail("%s has no field %s; `nornic header %s` lists them", kind->key, dot + 1, kind->key);
    if (!explain_has_values(kind, field))
        return cli_fail("the values of %s are numbers, without names; aeth.syndrome has some", name);
    explain_values(out, kind, field);
    return CLI_OK;
}

/* --- the command --- */

struct settings {
    struct cli_words keys;
};

static int run(void *options)
{
    const struct settings *settings = options;
    struct explain_text out = {0};
    int status = CLI_OK;
    if (settings->keys.count == 0)
        list_headers();
    for (unsigned i = 0; i < settings->keys.count && status == CLI_OK; i++)
        status = put_named(&out, settings->keys.at[i]);
    if (out.len)
        fputs(out.bytes, stdout);
    explain_text_free(&out);
    return status;
}

const struct cli_command header_command = {
    .name = "header",
    .summary = "draw the headers of the wire format and list their fields",
    .usage = "header [KEY | KEY.FIELD]...",
    .about =
        "Draws headers of the wire format, 32 bits a row, and lists their fields: the first and the "
        "last bit, the name (as in the filters of `nornic explain`), the requirement that governs it. "
        "The drawing is made of the table that the engine reads and writes packets with. Above 64 "
        "bytes there is only the list.\n\n"
        "With KEY.FIELD: what the values of that field mean, such as the codes of aeth.syndrome, the headers "
        "behind each bth.opcode, the times of cm_path.ack_timeout, the reasons of cm_rej.reason.\n\n"
        "Without KEY: which headers there are. docs/wire-format.md explains them.",
    .operands = (const struct cli_operand[]){{.name = "KEY",
                                              .kind = CLI_TEXT,
                                              .is_optional = true,
                                              .is_many = true,
                                              .offset = offsetof(struct settings, keys)},
                                             {.name = NULL}},
    .examples = "Example:\n"
                "  $ nornic header aeth\n"
                "  aeth: ACK Extended Transport Header, 4 bytes\n"
                "  $ nornic header cm_req.path_mtu\n"
                "  cm_req.path_mtu: connection request, 4 bits, ROCE-CM-10\n",
    .status = {"drawn", NULL, "there is no such header"},
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
