/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading option values. Each function returns 0, or CLI_ERROR after it has printed one sentence that names
 * the option, the value and what is accepted. `option` is how the user knows it: "--size". */
#ifndef NORNIC_CLI_OPTION_VALUE_H
#define NORNIC_CLI_OPTION_VALUE_H

#include <stdint.h>

/* A whole number in [min, max], decimal or 0x hexadecimal. */
int cli_parse_count(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Bytes in [min, max]: a whole number, or one with K, M or G (times 1024, 1024^2, 1024^3). */
int cli_parse_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out_bytes);

/* A time in [min_ns, max_ns]: a number, with a fraction where wanted, and ns, us, ms, s or m; seconds without
 * a unit. */
int cli_parse_duration(const char *option, const char *text, uint64_t min_ns, uint64_t max_ns,
                       uint64_t *out_ns);

/* A rate from 0 to 1 as "1%", "0.5%" or "200ppm", in parts per million. */
int cli_parse_ppm(const char *option, const char *text, uint32_t *out_ppm);

/* A path MTU: 256, 512, 1024, 2048 or 4096. */
int cli_parse_pmtu(const char *option, const char *text, uint32_t *out_bytes);

/* A port by name: "xdp:IFACE[:native|:generic]", "packet:IFACE", "udp:IFACE", "udp:ADDR" or "memory". Whether
 * the interface exists is for the opening to say. */
int cli_parse_port(const char *option, const char *text, const char **out);

/* The sentence for what getopt_long() rejected: `c` is what it returned ('?' or ':', with an option string
 * that begins with ':' and opterr 0). Returns CLI_ERROR. */
int cli_option_error(int c, char **argv);

#endif
