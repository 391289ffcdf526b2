/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/device/open.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/error.h"

/* NORNIC_CAPTURE: a file name, of which %p is the process's number. Contexts after the first of a process add
 * theirs. False: none is wanted. */
static bool capture_path(unsigned number, char *out, size_t out_bytes)
{
    const char *wanted = getenv("NORNIC_CAPTURE");
    if (!wanted || !*wanted)
        return false;
    const char *place = strstr(wanted, "%p");
    int n = place ? snprintf(out, out_bytes, "%.*s%ld%s", (int)(place - wanted), wanted, (long)getpid(),
                             place + 2)
                  : snprintf(out, out_bytes, "%s", wanted);
    if (number && n > 0 && (size_t)n < out_bytes)
        snprintf(out + n, out_bytes - (size_t)n, ".%u", number + 1);
    return true;
}

struct rate {
    const char *name;
    size_t offset;
};

/* NORNIC_IMPAIR: "loss=10000,reorder=5000,seed=7", rates in parts per million. 0 or -EINVAL. */
static int parse_impair(const char *text, struct nornic_impair *out, struct nornic_error *why)
{
    static const struct rate rates[] = {
        {"loss", offsetof(struct nornic_impair, loss_ppm)},
        {"duplicate", offsetof(struct nornic_impair, duplicate_ppm)},
        {"reorder", offsetof(struct nornic_impair, reorder_ppm)},
        {"corrupt", offsetof(struct nornic_impair, corrupt_ppm)},
        {"ecn", offsetof(struct nornic_impair, ecn_ppm)},
    };
    while (*text) {
        size_t name_bytes = strcspn(text, "=");
        char *end = NULL;
        const char *digits = text + name_bytes + (text[name_bytes] != 0);
        errno = 0;
        unsigned long long value = isdigit((unsigned char)*digits) ? strtoull(digits, &end, 10) : 0;
        bool known = false;
        for (unsigned i = 0; i < array_len(rates) && !known; i++)
            if ((known = strlen(rates[i].name) == name_bytes && !strncmp(text, rates[i].name, name_bytes)))
                *(uint32_t *)(void *)((char *)out + rates[i].offset) = (uint32_t)value;
        if (!known && name_bytes == 4 && !strncmp(text, "seed", 4)) {
            out->seed = value;
            known = true;
        }
        if (!known || !end || errno || (*end && *end != ',') ||
            (value > 1000000 && strncmp(text, "seed", 4) != 0))
            return net_error_set(why, EINVAL,
                                 "NORNIC_IMPAIR: '%s' is none of loss, duplicate, reorder, corrupt, ecn "
                                 "(=0..1000000 parts per million) and seed (=number)",
                                 text);
        text = *end ? end + 1 : end;
    }
    return 0;
}

int verbs_open_engine(const struct verbs_device *device, unsigned number, struct nornic_dev **out,
                      struct nornic_error *why)
{
    char path[4096];
    const char *impair = getenv("NORNIC_IMPAIR");
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = device->port};
    if (capture_path(number, path, sizeof path))
        config.capture_path = path;
    int err = impair ? parse_impair(impair, &config.impair, why) : 0;
    return err ? err : nornic_dev_open(&config, out, why);
}
