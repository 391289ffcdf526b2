/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a long capture: how large they grow, how many are kept, and what is said of one that cannot be
 * written. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/sniff/files.h"

static char folder[64], path[128];
static struct nornic_error why;

static void make_folder(void)
{
    strcpy(folder, "/tmp/nn-test-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/run.pcapng", folder);
    why = (struct nornic_error){""};
}

/* Calls `take` (may be NULL) with each file of the folder; how many there are. */
static unsigned each_file(void (*take)(const char *name))
{
    unsigned n = 0;
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        n++;
        char name[512];
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        if (take)
            take(name);
    }
    closedir(dir);
    return n;
}

static void remove_file(const char *name)
{
    unlink(name);
}

static void remove_folder(void)
{
    each_file(remove_file);
    rmdir(folder);
}

TestSuite(sniff_files, .init = make_folder, .fini = remove_folder, .timeout = 30);

static uint64_t size_of(const char *name)
{
    struct stat st;
    return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* The name of file `number` in the folder. */
static const char *numbered(unsigned number)
{
    static char name[128];
    snprintf(name, sizeof name, "%s/run-%05u.pcapng", folder, number);
    return name;
}

static int add(struct sniff_files *files, uint32_t len_bytes, uint64_t time_ns)
{
    static uint8_t frame[5000];
    memset(frame, (int)(time_ns & 0xff), sizeof frame);
    struct net_capture_record record = {
        .data = frame, .len_bytes = len_bytes, .wire_bytes = len_bytes, .time_ns = time_ns};
    return sniff_files_add(files, &record, &why);
}

/* Records of a file, whose times follow on `*time_ns`. */
static unsigned records_in(const char *name, uint64_t *time_ns)
{
    struct net_capture *capture;
    struct net_capture_record record;
    unsigned n = 0;
    cr_assert_eq(net_capture_open(name, &capture, &why), 0, "%s", why.text);
    int got;
    while ((got = net_capture_next(capture, &record, &why)) > 0) {
        cr_expect_eq(record.time_ns, ++*time_ns, "%s, record %u", name, n);
        cr_expect_eq(record.data[0], (uint8_t)record.time_ns);
        n++;
    }
    cr_expect_eq(got, 0, "%s", why.text);
    net_capture_close(capture);
    return n;
}

static uint64_t first_time(const char *name)
{
    struct net_capture *capture;
    struct net_capture_record record;
    cr_assert_eq(net_capture_open(name, &capture, &why), 0, "%s", why.text);
    cr_assert_eq(net_capture_next(capture, &record, &why), 1, "%s", why.text);
    net_capture_close(capture);
    return record.time_ns;
}

Test(sniff_files, one_file_grows_without_end)
{
    struct sniff_files files = {.path = path, .ifname = "eth0", .rotate_count = 3};
    uint64_t time_ns = 0;
    cr_assert_eq(sniff_files_open(&files, &why), 0, "%s", why.text);
    for (unsigned i = 1; i <= 1000; i++)
        cr_assert_eq(add(&files, 60, i), 0, "%s", why.text);
    cr_assert_eq(sniff_files_close(&files, &why), 0, "%s", why.text);
    cr_expect_eq(each_file(NULL), 1);
    cr_expect_eq(records_in(path, &time_ns), 1000);
}

/* No record is lost or doubled at the seam, and no file is larger than it may be. */
Test(sniff_files, rotated_files_hold_every_record_once)
{
    struct sniff_files files = {.path = path, .ifname = "eth0", .rotate_bytes = 3000};
    uint64_t time_ns = 0;
    unsigned records = 0;
    cr_assert_eq(sniff_files_open(&files, &why), 0, "%s", why.text);
    for (unsigned i = 1; i <= 200; i++)
        cr_assert_eq(add(&files, 60 + i % 7, i), 0, "%s", why.text);
    cr_assert_eq(sniff_files_close(&files, &why), 0, "%s", why.text);
    cr_expect_gt(files.number, 3);
    cr_expect_eq(each_file(NULL), files.number);
    for (unsigned n = 1; n <= files.number; n++) {
        cr_expect_leq(size_of(numbered(n)), 3000, "file %u", n);
        if (n < files.number)
            cr_expect_gt(size_of(numbered(n)), 3000 - 44 - 68, "file %u had room for one more", n);
        records += records_in(numbered(n), &time_ns);
    }
    cr_expect_eq(records, 200);
}

/* To the byte: of two equal records both stay where they just fit, and the second moves on where one byte
 * lacks. */
Test(sniff_files, a_file_is_filled_to_the_last_byte)
{
    struct sniff_files files = {.path = path, .ifname = "eth0", .rotate_bytes = UINT64_MAX};
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    cr_assert_eq(add(&files, 61, 1), 0);
    cr_assert_eq(add(&files, 61, 2), 0);
    cr_assert_eq(sniff_files_close(&files, &why), 0);
    uint64_t both_bytes = size_of(numbered(1));
    for (unsigned short_by = 0; short_by < 2; short_by++) {
        files = (struct sniff_files){.path = path, .ifname = "eth0", .rotate_bytes = both_bytes - short_by};
        cr_assert_eq(sniff_files_open(&files, &why), 0);
        cr_assert_eq(add(&files, 61, 1), 0);
        cr_assert_eq(add(&files, 61, 2), 0);
        cr_assert_eq(sniff_files_close(&files, &why), 0);
        cr_expect_eq(files.number, 1 + short_by);
        cr_expect_leq(size_of(numbered(1)), both_bytes - short_by);
    }
}

/* One that no file could hold is kept all the same, in a file of its own. */
Test(sniff_files, a_record_larger_than_a_file_is_kept)
{
    struct sniff_files files = {.path = path, .ifname = "eth0", .rotate_bytes = 1000};
    uint64_t time_ns = 0;
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    for (unsigned i = 1; i <= 3; i++)
        cr_assert_eq(add(&files, 5000, i), 0, "%s", why.text);
    cr_assert_eq(sniff_files_close(&files, &why), 0);
    unsigned records = 0;
    for (unsigned n = 1; n <= files.number; n++)
        records += records_in(numbered(n), &time_ns);
    cr_expect_eq(records, 3);
}

Test(sniff_files, only_the_newest_are_kept)
{
    struct sniff_files files = {.path = path, .ifname = "eth0", .rotate_bytes = 1000, .rotate_count = 2};
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    for (unsigned i = 1; i <= 100; i++) {
        cr_assert_eq(add(&files, 60, i), 0, "%s", why.text);
        cr_assert_leq(each_file(NULL), 2);
    }
    cr_assert_eq(sniff_files_close(&files, &why), 0);
    cr_expect_eq(each_file(NULL), 2);
    cr_expect_eq(files.removed, files.number - 2);
    cr_expect_eq(access(numbered((unsigned)files.number - 2), F_OK), -1);
    uint64_t time_ns = first_time(numbered((unsigned)files.number - 1)) - 1;
    records_in(numbered((unsigned)files.number - 1), &time_ns);
    records_in(numbered((unsigned)files.number), &time_ns);
    cr_expect_eq(time_ns, 100, "they end with the last record");
}

Test(sniff_files, one_that_somebody_took_away_is_not_missed)
{
    struct sniff_files files = {.path = path, .ifname = "eth0", .rotate_bytes = 1000, .rotate_count = 1};
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    for (unsigned i = 1; i <= 50; i++) {
        unlink(numbered((unsigned)files.number));
        cr_assert_eq(add(&files, 60, i), 0, "%s", why.text);
    }
    cr_assert_eq(sniff_files_close(&files, &why), 0);
    cr_expect_gt(files.number, 3);
}

Test(sniff_files, one_of_that_name_is_replaced)
{
    struct sniff_files files = {.path = path, .ifname = "eth0"};
    uint64_t time_ns = 0;
    FILE *old = fopen(path, "w");
    cr_assert_not_null(old);
    for (unsigned i = 0; i < 1000; i++)
        fputs("what stood there before\n", old);
    fclose(old);
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    cr_assert_eq(add(&files, 60, 1), 0);
    cr_assert_eq(sniff_files_close(&files, &why), 0);
    cr_expect_eq(records_in(path, &time_ns), 1);
}

Test(sniff_files, what_was_flushed_can_be_read_while_it_grows)
{
    struct sniff_files files = {.path = path, .ifname = "eth0"};
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    for (unsigned i = 1; i <= 5; i++) {
        uint64_t time_ns = 0;
        cr_assert_eq(add(&files, 60, i), 0);
        cr_assert_eq(sniff_files_flush(&files, &why), 0);
        cr_expect_eq(records_in(path, &time_ns), i);
    }
    cr_assert_eq(sniff_files_close(&files, &why), 0);
}

/* --- what fails --- */

Test(sniff_files, where_none_can_be_made)
{
    struct sniff_files files = {.path = "/nonexistent/run.pcapng", .ifname = "eth0"};
    cr_expect_eq(sniff_files_open(&files, &why), -ENOENT);
    cr_expect_not_null(strstr(why.text, "/nonexistent/run.pcapng"), "%s", why.text);
    cr_expect_null(files.writer);
    files.rotate_bytes = 1000;
    cr_expect_eq(sniff_files_open(&files, &why), -ENOENT);
    cr_expect_not_null(strstr(why.text, "/nonexistent/run-00001.pcapng"), "%s", why.text);
}

Test(sniff_files, a_name_that_is_too_long)
{
    static char longest[PATH_MAX + 10];
    memset(longest, 'x', sizeof longest - 1);
    struct sniff_files files = {.path = longest, .ifname = "eth0"};
    cr_expect_eq(sniff_files_open(&files, &why), -ENAMETOOLONG);
    cr_expect_eq(strncmp(why.text, "the name of the capture file is too long: xxxx", 46), 0, "%s", why.text);
    cr_expect_eq(strcmp(why.text + strlen(why.text) - 4, "x..."), 0, "only its beginning: %s", why.text);
}

/* As on a full disk: the file may not grow beyond this. */
Test(sniff_files, a_full_disk_is_told_and_leaves_whole_records)
{
    struct sniff_files files = {.path = path, .ifname = "eth0"};
    uint64_t time_ns = 0;
    int err = 0;
    cr_assert_eq(sniff_files_open(&files, &why), 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){10000, RLIM_INFINITY}), 0);
    for (unsigned i = 1; i <= 10000 && !err; i++)
        err = add(&files, 60, i);
    if (!err)
        err = sniff_files_flush(&files, &why);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}), 0);
    cr_expect_eq(err, -EFBIG);
    char said[256];
    snprintf(said, sizeof said, "cannot write %s: File too large; what it holds is whole", path);
    cr_expect_str_eq(why.text, said);
    cr_expect_eq(sniff_files_close(&files, &why), -EFBIG, "and once more at the end");
    cr_expect_null(files.writer);
    cr_expect_eq(sniff_files_close(&files, &why), 0, "there is nothing left to close");
    cr_expect_gt(records_in(path, &time_ns), 50);
    cr_expect_leq(size_of(path), 10000);
}
