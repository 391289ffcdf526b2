/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/report/json.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/utf8.h"
#include "host/host.h"

void cli_json_add_text(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, json_object_new_string(text ? text : ""));
}

void cli_json_add_count(struct json_object *object, const char *key, uint64_t value)
{
    json_object_object_add(object, key, json_object_new_uint64(value));
}

void cli_json_add_real(struct json_object *object, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.3f", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

void cli_json_add_usec(struct json_object *object, const char *key, const struct histogram *h)
{
    struct json_object *o = json_object_new_object();
    cli_json_add_real(o, "min", (double)h->min / 1e3);
    cli_json_add_real(o, "median", (double)histogram_quantile(h, 0.5) / 1e3);
    cli_json_add_real(o, "p99", (double)histogram_quantile(h, 0.99) / 1e3);
    cli_json_add_real(o, "p99_9", (double)histogram_quantile(h, 0.999) / 1e3);
    cli_json_add_real(o, "max", (double)h->max / 1e3);
    json_object_object_add(object, key, o);
}

const char *cli_json_text(struct json_object *object, const char *key)
{
    struct json_object *value;
    bool is_text =
        json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_string);
    return is_text ? json_object_get_string(value) : "";
}

uint64_t cli_json_count(struct json_object *object, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(object, key, &value) ? json_object_get_uint64(value) : 0;
}

size_t cli_json_length(struct json_object *array)
{
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static bool is_plain(char letter)
{
    return letter >= ' ' && letter <= '~';
}

const char *cli_json_plain(struct json_object *object, const char *key)
{
    const char *text = cli_json_text(object, key), *rest = text;
    while (is_plain(*rest))
        rest++;
    char *clean = *rest ? strdup(text) : NULL;
    if (!clean)
        return *rest ? "" : text;
    for (char *at = clean + (rest - text); *at; at++)
        *at = is_plain(*at) ? *at : '?';
    json_object_set_string(json_object_object_get(object, key), clean);
    free(clean);
    return cli_json_text(object, key);
}

void cli_json_put_plain(const char *text)
{
    for (; *text; text++)
        putchar(is_plain(*text) ? *text : '?');
}

/* Bytes that have come by `end_ns`, 0 at the end of the stream, or -1. */
static ssize_t read_by(int fd, char *bytes, size_t cap_bytes, uint64_t end_ns)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint64_t now_ns = host_now_ns();
    if (now_ns >= end_ns) /* also when bytes are there: who keeps sending gets no longer */
        return -1;
    int left_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
    return poll(&readable, 1, left_ms) == 1 ? read(fd, bytes, cap_bytes) : -1;
}

struct json_object *cli_json_read(int fd, size_t max_bytes, uint64_t limit_ns)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object *o = NULL;
    const uint64_t end_ns = host_now_ns() + limit_ns;
    char bytes[16384];
    size_t total = 0;
    ssize_t n = 0;
    while (tokener && !o && total < max_bytes && (n = read_by(fd, bytes, sizeof bytes, end_ns)) > 0) {
        total += (size_t)n;
        o = json_tokener_parse_ex(tokener, bytes, (int)n);
        if (!o && json_tokener_get_error(tokener) != json_tokener_continue)
            break;
    }
    if (tokener)
        json_tokener_free(tokener);
    return o;
}

bool cli_json_write(FILE *to, struct json_object *object, int flags)
{
    const char *text = json_object_to_json_string_ext(object, flags);
    char *clean = text ? strdup(text) : NULL;
    if (clean)
        fprintf(to, "%s\n", utf8_clean(clean));
    free(clean);
    return clean != NULL;
}

void cli_json_print(struct json_object *object)
{
    (void)cli_json_write(stdout, object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    json_object_put(object);
}
