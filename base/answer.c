/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/answer.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#define PATIENCE_S 2

void base_answer(int fd, char *text, size_t len)
{
    struct timeval limit = {.tv_sec = PATIENCE_S};
    size_t sent = 0;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    while (text && sent < len) {
        ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    free(text);
}
