/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NORNIC_CLI_COLUMNS_H
#define NORNIC_CLI_COLUMNS_H

/* The width of the terminal behind a descriptor, in characters; `usual` where there is none. */
unsigned cli_columns(int fd, unsigned usual);

#endif
