/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "explain/page/html.h"

#define CHUNK_BYTES    (1u << 18) /* are gathered before they are written */
#define PROGRESS_EVERY 16384      /* packets */

struct cli_page {
    struct explain_html *html;
    struct explain_text text;
    FILE *file;
    const char *path;
    uint64_t packets;
    int error; /* errno of the first write that failed */
    bool progress;
};

static void write_out(struct cli_page *page, size_t at_least)
{
    if (page->text.len < at_least)
        return;
    if (!page->error && page->text.len &&
        fwrite(page->text.bytes, 1, page->text.len, page->file) != page->text.len)
        page->error = errno;
    explain_text_clear(&page->text);
}

static void forget(struct cli_page *page)
{
    explain_html_destroy(page->html);
    explain_text_free(&page->text);
    free(page);
}

struct cli_page *cli_page_open(const char *path, bool is_whole)
{
    struct cli_page *page = calloc(1, sizeof *page);
    if (page)
        page->html = explain_html_create(is_whole);
    if (!page || !page->html) {
        free(page);
        cli_fail("out of memory");
        return NULL;
    }
    page->path = path;
    page->file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!page->file) {
        cli_fail("--html %s: cannot be written: %s", path, strerror(errno));
        forget(page);
        return NULL;
    }
    page->progress = page->file != stdout && isatty(STDERR_FILENO);
    explain_html_begin(page->html, &page->text);
    return page;
}

void cli_page_capture(struct cli_page *page, const char *tour)
{
    explain_html_open(page->html, &page->text, tour);
}

void cli_page_capture_end(struct cli_page *page, uint64_t total, const struct explain_analysis *analysis,
                          const char *story)
{
    explain_html_close(page->html, &page->text, total, analysis, story);
    write_out(page, CHUNK_BYTES);
}

void cli_page_file(struct cli_page *page, const char *name)
{
    explain_html_file(page->html, &page->text, name);
}

void cli_page_packet(struct cli_page *page, const struct explain_packet *packet,
                     const struct explain_meaning *meaning)
{
    explain_html_packet(page->html, &page->text, packet, meaning);
    write_out(page, CHUNK_BYTES);
    if (page->progress && ++page->packets % PROGRESS_EVERY == 0)
        fprintf(stderr, "\r%" PRIu64 " packets", page->packets);
}

void cli_page_ends(struct cli_page *page, const struct explain_join_place *place)
{
    struct explain_html_ends ends = {.from = place->from,
                                     .fate = explain_fate_key(place->fate),
                                     .sure = explain_sure_key(place->sure),
                                     .is_overtaken = place->is_overtaken};
    for (unsigned side = 0; side < 2; side++) {
        ends.has[side] = place->record[side] != 0;
        ends.time_ns[side] = place->time_ns[side];
    }
    explain_html_ends(page->html, &page->text, &ends);
}

void cli_page_operation(struct cli_page *page, const struct explain_operation *operation)
{
    explain_html_operation(&page->text, operation);
}

void cli_page_finding(struct cli_page *page, const struct explain_finding *finding)
{
    explain_html_finding(page->html, &page->text, finding);
    write_out(page, CHUNK_BYTES);
}

/* Half a page is worth nothing: it becomes empty. Its name stays, since the sandbox removes none. */
static void empty_file(FILE *file)
{
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fileno(file), 0) != 0)
        return; /* the sentence names the failure before this one */
}

int cli_page_close(struct cli_page *page)
{
    explain_html_end(page->html, &page->text);
    if (page->text.has_failed && !page->error)
        page->error = ENOMEM;
    write_out(page, 1);
    bool is_stdout = page->file == stdout;
    if (fflush(page->file) != 0 && !page->error)
        page->error = errno;
    if (page->error && !is_stdout)
        empty_file(page->file);
    if (!is_stdout && fclose(page->file) != 0 && !page->error)
        page->error = errno;
    if (page->progress)
        fputs("\r\033[K", stderr);
    int status = CLI_OK, error = page->error;
    if (error)
        status = cli_fail("--html %s: cannot be written: %s", page->path, strerror(error));
    forget(page);
    return status;
}
