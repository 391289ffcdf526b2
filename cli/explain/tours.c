/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memfd_create() */
#include "cli/explain/tours.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/explain/html.h"
#include "cli/explain/reading.h"
#include "cli/explain/tale.h"
#include "explain/analysis.h"
#include "explain/packet/train.h"

/* The file as bytes of this program, and what follows them. */
#define CAPTURE(name, file)                                                                               \
    __asm__(".pushsection .rodata\n"                                                                      \
            ".globl tour_" #name "\n.hidden tour_" #name "\ntour_" #name ":\n.incbin \"" file "\"\n"      \
            ".globl tour_" #name "_end\n.hidden tour_" #name "_end\ntour_" #name "_end:\n.popsection\n"); \
    extern const char tour_##name[], tour_##name##_end[]

CAPTURE(loss, "pcaps/lossy_loss.pcap");
CAPTURE(rnr, "pcaps/rc_rnr.pcap");
CAPTURE(ackloss, "pcaps/lossy_ackloss.pcap");
CAPTURE(cm, "pcaps/cm_rping.pcap");
CAPTURE(cnp, "pcaps/nornic_cnp.pcap");
CAPTURE(smcr, "pcaps/smcr_failover.pcap");

struct tour {
    const char *keys; /* of the lessons, as explain/page/tours.js has them */
    const char *name; /* of the capture */
    const char *from, *to;
};

static const struct tour tours[] = {
    {"loss", "lossy_loss.pcap", tour_loss, tour_loss_end},
    {"rnr", "rc_rnr.pcap", tour_rnr, tour_rnr_end},
    {"timeout read atomic", "lossy_ackloss.pcap", tour_ackloss, tour_ackloss_end},
    {"cm", "cm_rping.pcap", tour_cm, tour_cm_end},
    {"cnp", "nornic_cnp.pcap", tour_cnp, tour_cnp_end},
    {"smcr", "smcr_failover.pcap", tour_smcr, tour_smcr_end},
};

/* Reads the capture through the reader of all captures, which takes a path. 0, or -errno with `why`. */
static int read_tour(struct cli_page *page, struct explain_analysis *analysis, struct cli_tale *tale,
                     const char *path, uint64_t *total, struct nornic_error *why)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct explain_cutter cutter;
    struct explain_packet packet;
    struct explain_meaning meaning;
    int err = net_capture_open(path, &capture, why);
    if (err)
        return err;
    while ((err = net_capture_next(capture, &record, why)) > 0) {
        explain_cutter_begin(&cutter, &record, ++*total);
        while (explain_cutter_next(&cutter, &packet)) {
            explain_analysis_next(analysis, &packet, &meaning);
            cli_tale_take(tale, &packet, &meaning);
            if (packet.kind != EXPLAIN_OTHER)
                cli_page_packet(page, &packet, &meaning);
            for (unsigned i = 0; i < tale->done_count; i++)
                cli_page_operation(page, &tale->done[i]);
        }
    }
    net_capture_close(capture);
    return err;
}

static void put_end(struct cli_page *page, struct explain_analysis *analysis, struct cli_tale *tale,
                    uint64_t total)
{
    struct explain_text story = {0};
    struct explain_finding findings[16];
    unsigned n;
    while ((n = explain_analysis_end(analysis, findings, array_len(findings))) > 0)
        for (unsigned i = 0; i < n; i++) {
            cli_page_finding(page, &findings[i]);
            explain_story_finding(&tale->story, &findings[i]);
        }
    cli_tale_lines(&story, tale, analysis);
    cli_page_capture_end(page, total, analysis, story.bytes ? story.bytes : "");
    explain_text_free(&story);
}

static int put_tour(struct cli_page *page, const struct tour *tour)
{
    struct nornic_error why = {0};
    struct explain_analysis *analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    int fd = memfd_create("capture", MFD_CLOEXEC), err = 0;
    size_t bytes = (size_t)(tour->to - tour->from);
    struct cli_tale tale;
    uint64_t total = 0;
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool has_tale = cli_tale_init(&tale);
    if (!analysis || !has_tale || fd < 0 || write(fd, tour->from, bytes) != (ssize_t)bytes ||
        lseek(fd, 0, SEEK_SET))
        err = -ENOMEM;
    cli_page_capture(page, tour->keys);
    cli_page_file(page, tour->name);
    if (!err)
        err = read_tour(page, analysis, &tale, path, &total, &why);
    if (!err)
        put_end(page, analysis, &tale, total);
    if (fd >= 0)
        close(fd);
    cli_tale_deinit(&tale);
    if (analysis)
        explain_analysis_destroy(analysis);
    return err ? cli_fail("the lesson of %s: %s", tour->name, *why.text ? why.text : strerror(-err)) : CLI_OK;
}

int cli_explain_tours(const char *path, const struct cli_sandbox_options *sandbox)
{
    struct cli_page *page = cli_page_open(path, false);
    int status = page ? CLI_OK : CLI_ERROR;
    cli_reading_confine(sandbox, NULL, 0);
    for (unsigned i = 0; i < array_len(tours) && status == CLI_OK; i++)
        status = put_tour(page, &tours[i]);
    if (page && cli_page_close(page) != CLI_OK)
        status = CLI_ERROR;
    return status;
}
