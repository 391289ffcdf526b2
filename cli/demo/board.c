/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/demo/demo.h"

#define DEMO_OP_NAME_(id, name, json, lesson)   name,
#define DEMO_OP_JSON_(id, name, json, lesson)   json,
#define DEMO_OP_LESSON_(id, name, json, lesson) lesson,
const char *const demo_op_name[DEMO_OP_COUNT] = {DEMO_OPS(DEMO_OP_NAME_)};
const char *const demo_op_json[DEMO_OP_COUNT] = {DEMO_OPS(DEMO_OP_JSON_)};
const char *const demo_op_lesson[DEMO_OP_COUNT] = {DEMO_OPS(DEMO_OP_LESSON_)};

/* The logs lie behind the board, each at a multiple of 64. */
static size_t log_offset(unsigned i)
{
    size_t board = (sizeof(struct demo_board) + 63) & ~(size_t)63;
    size_t log = (ladder_log_bytes(DEMO_LOG_EVENTS) + 63) & ~(size_t)63;
    return board + i * log;
}

struct demo_board *demo_board_map(int fd)
{
    void *p = mmap(NULL, log_offset(2), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct demo_board *demo_board_create(int *fd)
{
    *fd = memfd_create("nornic-demo", MFD_CLOEXEC);
    if (*fd < 0)
        return NULL;
    struct demo_board *board = ftruncate(*fd, (off_t)log_offset(2)) == 0 ? demo_board_map(*fd) : NULL;
    if (!board) {
        int saved = errno;
        close(*fd);
        errno = saved;
        return NULL;
    }
    ladder_log_init(demo_board_log(board, DEMO_A), DEMO_LOG_EVENTS);
    ladder_log_init(demo_board_log(board, DEMO_B), DEMO_LOG_EVENTS);
    atomic_store(&board->running, -1);
    return board;
}

void demo_board_unmap(struct demo_board *board)
{
    munmap(board, log_offset(2));
}

struct ladder_log *demo_board_log(struct demo_board *board, enum demo_role role)
{
    return (struct ladder_log *)((char *)board + log_offset(role));
}
