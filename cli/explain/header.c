/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic header: the headers of the wire format, drawn from the tables that the engine is made of. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/option/value.h"
#include "explain/show/boxes.h"
#include "explain/packet/packet.h"
#include "explain/packet/registry.h"

#define DRAWN_BYTES_MAX 64 /* longer ones are listed only */

static const char help[] =
    "Usage: nornic header [KEY...]\n"
    "Draws headers of the wire format, 32 bits a row, and lists their fields: the first and the last bit,\n"
    "the name (as in the filters of `nornic explain`), the requirement that governs it. The drawing is made\n"
    "of the table that the engine reads and writes packets with. Above 64 bytes there is only the list.\n"
    "\n"
    "Without KEY: which headers there are. docs/wire-format.md explains them.\n"
    "\n"
    "Example:\n"
    "  $ nornic header aeth\n"
    "  aeth: ACK Extended Transport Header, 4 bytes\n"
    "\n"
    "Exit status: 0, or 2 when there is no such header.\n";

static void list_headers(void)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        printf("%-14s %3u bytes  %s\n", k->key, k->header->len_bytes, k->words);
}

static void put_fields(struct explain_text *out, const struct explain_layer_kind *kind)
{
    for (unsigned i = 0; i < kind->header->field_count; i++) {
        const struct net_field *f = &kind->header->fields[i];
        const char *rule = explain_field_rule(kind->key, f);
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

int cli_header(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct explain_text out = {0};
    int c, status = CLI_OK;
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (c != 'h')
            return cli_option_error(c, argv);
        fputs(help, stdout);
        return CLI_OK;
    }
    if (optind == argc)
        list_headers();
    for (int i = optind; i < argc && status == CLI_OK; i++) {
        const struct explain_layer_kind *kind = explain_layer_kind(argv[i], strlen(argv[i]));
        if (kind)
            put_header(&out, kind);
        else
            status = cli_fail("there is no header %s; `nornic header` lists them", argv[i]);
    }
    if (out.len)
        fputs(out.bytes, stdout);
    explain_text_free(&out);
    return status;
}
