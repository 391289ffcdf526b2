/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/port/cc.h"

#define VALUE_BYTES 256

/* Takes `value` of an option, "" without one. False: `value` is not legal. `why` has the legal values, and
 * the taker may write a better sentence. */
typedef bool option_taker(const char *value, struct host_port_options *out, struct nornic_error *why);

static bool take_number(const char *value, unsigned long least, unsigned long most, unsigned long *out)
{
    char *end;
    errno = 0;
    bool is_hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
    *out = strtoul(value, &end, is_hex ? 16 : 10);
    return *value >= '0' && *value <= '9' && !*end && !errno && *out >= least && *out <= most;
}

static bool take_cc(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    return host_port_cc(value, '+', &out->cc, why) == 0;
}

static bool take_apm(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    out->path_migration = true;
    return !*value;
}

static bool take_masked(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    out->masked_atomics = true;
    return !*value;
}

static bool take_entropy(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    out->entropy = true;
    return !*value;
}

static bool take_dscp(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    unsigned long dscp;
    bool is_legal = take_number(value, 0, 63, &dscp);
    out->traffic_class = (uint8_t)(dscp << 2);
    return is_legal;
}

static bool take_hops(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    unsigned long hops;
    bool is_legal = take_number(value, 1, 255, &hops);
    out->hop_limit = (uint8_t)hops;
    return is_legal;
}

/* Reads a P_Key. The low 15 bits of a valid one are not 0. */
static bool read_pkey(const char *value, uint16_t *out)
{
    unsigned long pkey;
    bool is_legal = take_number(value, 1, 0xffff, &pkey) && (pkey & 0x7fff);
    *out = is_legal ? (uint16_t)pkey : 0;
    return is_legal;
}

static bool take_pkey(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    return out->num_pkeys < HOST_PORT_PKEYS && read_pkey(value, &out->pkeys[out->num_pkeys++]);
}

static bool take_first_pkey(const char *value, struct host_port_options *out, struct nornic_error *why)
{
    (void)why;
    return read_pkey(value, &out->first_pkey);
}

static const struct {
    const char *name;
    option_taker *take;
    const char *legal;
    bool is_of_iwarp; /* the kernel's TCP has it */
} options[] = {
    {"cc", take_cc, "no value, or settings as in line-rate=25G+gain=5", false},
    {"apm", take_apm, "no value", false},
    {"masked-atomics", take_masked, "no value", false},
    {"entropy", take_entropy, "no value", false},
    {"dscp", take_dscp, "0 to 63", true},
    {"hops", take_hops, "1 to 255", true},
    {"pkey", take_pkey, "0x0001 to 0xffff without 0x8000, and at most 16 of them", false},
    {"pkey0", take_first_pkey, "0x0001 to 0xffff without 0x8000", false},
};

static bool is_iwarp(const char *port)
{
    return strncmp(port, "iwarp:", 6) == 0;
}

unsigned host_port_name_bytes(const char *port)
{
    return (unsigned)strcspn(port, ",");
}

/* Reads the option of `bytes` octets at `at`. */
static int take_one(const char *port, const char *at, size_t bytes, struct host_port_options *out,
                    struct nornic_error *why)
{
    char value[VALUE_BYTES] = "";
    size_t name_bytes = strcspn(at, "=,");
    if (name_bytes < bytes && bytes - name_bytes <= sizeof value)
        snprintf(value, sizeof value, "%.*s", (int)(bytes - name_bytes - 1), at + name_bytes + 1);
    for (unsigned i = 0; i < array_len(options); i++) {
        if (strlen(options[i].name) != name_bytes || strncmp(options[i].name, at, name_bytes) != 0)
            continue;
        if (is_iwarp(port) && !options[i].is_of_iwarp)
            return net_error_set(
                why, EINVAL,
                "port '%s': an iWARP device has no option %s, since the kernel's TCP carries its "
                "packets: there are dscp=0..63 and hops=1..255",
                port, options[i].name);
        struct nornic_error legal;
        snprintf(legal.text, sizeof legal.text, "legal is %s", options[i].legal);
        if (options[i].take(value, out, &legal) && bytes - name_bytes <= sizeof value)
            return 0;
        return net_error_set(why, EINVAL, "port '%s': option %s has the value '%s': %s", port,
                             options[i].name, value, legal.text);
    }
    return net_error_set(why, EINVAL, "port '%s': no option '%.*s': there are %sdscp=0..63%s hops=1..255%s",
                         port, (int)bytes, at, is_iwarp(port) ? "" : "cc, apm, masked-atomics, entropy, ",
                         is_iwarp(port) ? " and" : ",",
                         is_iwarp(port) ? "" : ", pkey=0x8001 and pkey0=0x8001");
}

int host_port_options(const char *port, struct host_port_options *out, struct nornic_error *why)
{
    *out = (struct host_port_options){0};
    const char *at = port + host_port_name_bytes(port);
    while (*at == ',') {
        size_t bytes = strcspn(++at, ",");
        int err = take_one(port, at, bytes, out, why);
        if (err)
            return err;
        at += bytes;
    }
    return 0;
}
