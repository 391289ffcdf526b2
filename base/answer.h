/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of a socket that reports about its process. */
#ifndef NORNIC_BASE_ANSWER_H
#define NORNIC_BASE_ANSWER_H

#include <stddef.h>

/* Sends `text` of `len` bytes (NULL: nothing) to the reader at the stream socket `fd`, then frees it. A
 * reader that takes no byte for 2 seconds gets the beginning only. Blocks; `fd` stays open. */
void base_answer(int fd, char *text, size_t len);

#endif
