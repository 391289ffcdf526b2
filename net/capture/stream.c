/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* fopencookie */
#include "net/capture/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/base.h"

#define BUFFER_BYTES  65536
#define GZIP_MAGIC    "\x1f\x8b"
#define GZIP_HEADERED (MAX_WBITS + 16) /* of inflateInit2(): data in gzip's format only */

struct net_capture_stream {
    int fd;
    bool is_packed;
    bool has_ended; /* there are no more raw bytes */
    const char *failure;
    z_stream z;
    bool is_between; /* packed: one member has ended, and no byte of the next was seen */
    FILE *file;      /* reads the unpacked bytes from here; NULL: closed */
    char stdio[BUFFER_BYTES];
    uint8_t raw[BUFFER_BYTES];
    size_t raw_at, raw_end; /* not unpacked yet */
    uint8_t plain[BUFFER_BYTES];
    size_t plain_at, plain_end; /* not read yet */
};

/* Waits for raw bytes; 0: there are no more. A signal that the program takes without SA_RESTART ends that,
 * too: a pipe may have nothing to say for hours. */
static size_t read_raw(struct net_capture_stream *s, void *bytes, size_t max)
{
    ssize_t n = s->has_ended ? 0 : read(s->fd, bytes, max);
    if (n < 0)
        s->failure = strerror(errno);
    s->has_ended |= n <= 0;
    return n > 0 ? (size_t)n : 0;
}

/* Waits for raw bytes where there are none; false: there are no more. */
static bool refill(struct net_capture_stream *s)
{
    if (s->raw_at < s->raw_end)
        return true;
    s->raw_at = 0;
    s->raw_end = read_raw(s, s->raw, sizeof s->raw);
    return s->raw_end > 0;
}

/* Unpacks what there is, behind what was unpacked and not read; waits until that gives a byte. False: no more
 * come. */
static bool unpack(struct net_capture_stream *s)
{
    if (s->plain_at == s->plain_end)
        s->plain_at = s->plain_end = 0;
    size_t before = s->plain_end;
    while (s->plain_end == before) {
        if (!refill(s)) {
            if (!s->is_between && !s->failure)
                s->failure = "the gzip data ends early";
            return false;
        }
        if (s->is_between && inflateReset(&s->z) != Z_OK)
            return false;
        s->z.next_in = s->raw + s->raw_at;
        s->z.avail_in = (uInt)(s->raw_end - s->raw_at);
        s->z.next_out = s->plain + s->plain_end;
        s->z.avail_out = (uInt)(sizeof s->plain - s->plain_end);
        int got = inflate(&s->z, Z_SYNC_FLUSH);
        s->raw_at = s->raw_end - s->z.avail_in;
        s->plain_end = sizeof s->plain - s->z.avail_out;
        s->is_between = got == Z_STREAM_END;
        if (got != Z_OK && got != Z_STREAM_END && got != Z_BUF_ERROR) {
            s->failure = "the gzip data is damaged";
            s->has_ended = true;
            s->raw_at = s->raw_end;
            return s->plain_end > before;
        }
    }
    return true;
}

/* As read(): at least a byte, 0 at the end, -1 where it came early. */
static ssize_t stream_read(void *cookie, char *bytes, size_t max)
{
    struct net_capture_stream *s = cookie;
    bool is_copied = s->is_packed ? s->plain_at < s->plain_end || unpack(s) : s->raw_at < s->raw_end;
    size_t got = is_copied || s->is_packed ? 0 : read_raw(s, bytes, max);
    if (!is_copied)
        return got == 0 && s->failure ? -1 : (ssize_t)got;
    const uint8_t *from = s->is_packed ? s->plain + s->plain_at : s->raw + s->raw_at;
    size_t n = s->is_packed ? s->plain_end - s->plain_at : s->raw_end - s->raw_at;
    n = n < max ? n : max;
    memcpy(bytes, from, n);
    *(s->is_packed ? &s->plain_at : &s->raw_at) += n;
    return (ssize_t)n;
}

/* The first `most` raw bytes, if so many come. 0, or the -errno of a read that failed. */
static int gather_raw(struct net_capture_stream *s, size_t most)
{
    int err = 0;
    while (s->raw_end < most && !s->has_ended) {
        ssize_t n = read(s->fd, s->raw + s->raw_end, most - s->raw_end);
        err = n < 0 ? -errno : 0;
        if (err)
            s->failure = strerror(-err);
        s->has_ended = n <= 0;
        s->raw_end += n > 0 ? (size_t)n : 0;
    }
    return err;
}

/* Whoever closes stdio's stream (libpcap closes what it reads) does it once. */
static int note_closed(void *cookie)
{
    ((struct net_capture_stream *)cookie)->file = NULL;
    return 0;
}

static int open_fd(const char *path, int *out, struct nornic_error *why)
{
    struct stat st;
    *out = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (*out < 0)
        return net_error_set(why, errno, "cannot open %s: %s", path, strerror(errno));
    if (fstat(*out, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (*out != STDIN_FILENO)
            close(*out);
        return net_error_set(why, EISDIR, "%s is a directory; name a capture file in it", path);
    }
    return 0;
}

int net_capture_stream_open(const char *path, struct net_capture_stream **out, struct nornic_error *why)
{
    int fd;
    int err = open_fd(path, &fd, why);
    if (err)
        return err;
    struct net_capture_stream *s = calloc(1, sizeof *s);
    if (s)
        s->fd = fd;
    FILE *file =
        s ? fopencookie(s, "r", (cookie_io_functions_t){.read = stream_read, .close = note_closed}) : NULL;
    if (!file) {
        free(s);
        if (fd != STDIN_FILENO)
            close(fd);
        return net_error_set(why, ENOMEM, "no memory to read %s", path);
    }
    s->file = file;
    setvbuf(file, s->stdio, _IOFBF, sizeof s->stdio);
    err = gather_raw(s, 2);
    if (err) {
        net_capture_stream_close(s);
        return net_error_set(why, -err, "cannot read %s: %s", path, strerror(-err));
    }
    s->is_packed = s->raw_end >= 2 && memcmp(s->raw, GZIP_MAGIC, 2) == 0;
    if (s->is_packed && inflateInit2(&s->z, GZIP_HEADERED) != Z_OK) {
        s->is_packed = false;
        net_capture_stream_close(s);
        return net_error_set(why, ENOMEM, "no memory to unpack %s", path);
    }
    *out = s;
    return 0;
}

size_t net_capture_stream_peek(struct net_capture_stream *s, uint8_t *bytes, size_t max)
{
    while (s->is_packed && s->plain_end < max && unpack(s))
        continue;
    if (!s->is_packed)
        (void)gather_raw(s, max); /* a failure is in the stream */
    size_t n = s->is_packed ? s->plain_end : s->raw_end;
    n = n < max ? n : max;
    memcpy(bytes, s->is_packed ? s->plain : s->raw, n);
    return n;
}

FILE *net_capture_stream_file(struct net_capture_stream *s)
{
    return s->file;
}

const char *net_capture_stream_failure(const struct net_capture_stream *s)
{
    return s->failure;
}

void net_capture_stream_close(struct net_capture_stream *s)
{
    if (s->file)
        fclose(s->file);
    if (s->is_packed)
        inflateEnd(&s->z);
    if (s->fd != STDIN_FILENO)
        close(s->fd);
    free(s);
}
