/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/notice.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define TEXT_BYTES 400
#define SAID_MAX   16

static struct {
    pthread_mutex_t lock;
    uint64_t said[SAID_MAX]; /* sums of the sentences */
    unsigned count;
} notices = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* FNV-1a */
static uint64_t sum_of(const char *text)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return sum;
}

/* Notes the sentence. Returns false if it was said before, or too many were. */
static bool is_new(const char *text)
{
    const uint64_t sum = sum_of(text);
    pthread_mutex_lock(&notices.lock);
    bool is_room = notices.count < SAID_MAX;
    for (unsigned i = 0; i < notices.count; i++)
        is_room &= notices.said[i] != sum;
    if (is_room)
        notices.said[notices.count++] = sum;
    pthread_mutex_unlock(&notices.lock);
    return is_room;
}

void base_notice(const char *format, ...)
{
    char text[TEXT_BYTES];
    const int before = errno;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (is_new(text))
        fprintf(stderr, "nornic: %s\n", text);
    errno = before;
}

/* "name:password:uid:..." The file alone: a name service would wait for the network. */
static bool read_name(unsigned uid, char name[32])
{
    char line[512];
    bool is_found = false;
    FILE *from = fopen("/etc/passwd", "re");
    while (from && !is_found && fgets(line, sizeof line, from)) {
        unsigned of;
        is_found = sscanf(line, "%31[A-Za-z0-9._-]:%*[^:]:%u:", name, &of) == 2 && of == uid;
    }
    if (from)
        fclose(from);
    return is_found;
}

const char *base_user(unsigned uid, char text[BASE_USER_SIZE])
{
    char name[32];
    if (read_name(uid, name))
        snprintf(text, BASE_USER_SIZE, "user %s (uid %u)", name, uid);
    else
        snprintf(text, BASE_USER_SIZE, "user %u", uid);
    return text;
}

/* "pid (name) state ..."; the name may hold anything. */
bool base_is_stopped(int pid)
{
    char path[32], line[256];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *from = pid > 0 ? fopen(path, "re") : NULL;
    const char *end = from && fgets(line, sizeof line, from) ? strrchr(line, ')') : NULL;
    if (from)
        fclose(from);
    return end && (strncmp(end, ") T", 3) == 0 || strncmp(end, ") t", 3) == 0);
}
