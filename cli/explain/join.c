/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/join.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/explain/reading.h"
#include "cli/stop.h"
#include "explain/packet/train.h"

/* They are read twice, so that a pipe will not do. */
static int check_file(const char *path)
{
    struct stat s;
    if (strcmp(path, "-") == 0)
        return cli_fail("--join reads each capture twice: save standard input to a file first");
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
        return cli_fail("--join reads each capture twice: %s is no file, save what comes through it first",
                        path);
    return CLI_OK;
}

/* CLI_OK, or CLI_ERROR after a sentence; with *is_cut what comes before the place that it names was read. */
static int read_side(struct explain_join *join, unsigned side, const char *path, bool *is_cut)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet packet;
    uint64_t number = 0;
    int err = net_capture_open(path, &capture, &why);
    if (err)
        return cli_fail("%s", why.text);
    while (!cli_stopped() && (err = net_capture_next(capture, &record, &why)) > 0) {
        struct explain_cutter cutter;
        int refused = 0;
        explain_cutter_begin(&cutter, &record, ++number);
        cli_reading(path, number);
        while (!refused && explain_cutter_next(&cutter, &packet))
            refused = explain_join_take(join, side, &packet);
        explain_cutter_end(&cutter);
        if (!refused)
            continue;
        net_capture_close(capture);
        cli_reading_end();
        return refused == -EFBIG
                   ? cli_fail("%s: the captures have more packets than --join keeps: cut both to the "
                              "same time (editcap -A -B)",
                              path)
                   : cli_fail("out of memory");
    }
    net_capture_close(capture);
    cli_reading_end();
    if (cli_stopped())
        return cli_fail("%s: interrupted, before both captures were read", path);
    *is_cut = err < 0;
    return err < 0 ? cli_fail("%s", why.text) : CLI_OK;
}

int cli_join_read(const char *const paths[2], struct explain_join **out)
{
    struct nornic_error why;
    *out = NULL;
    for (unsigned side = 0; side < 2; side++)
        if (check_file(paths[side]) != CLI_OK)
            return CLI_ERROR;
    struct explain_join *join = explain_join_create(0);
    if (!join)
        return cli_fail("out of memory");
    int status = CLI_OK;
    bool goes_on = true;
    for (unsigned side = 0; side < 2 && goes_on; side++) {
        bool is_cut = false;
        if (read_side(join, side, paths[side], &is_cut) == CLI_OK)
            continue;
        status = CLI_ERROR;
        goes_on = is_cut;
    }
    if (goes_on && explain_join_finish(join, &why) != 0) {
        status = cli_fail("%s and %s cannot be joined: %s", paths[0], paths[1], why.text);
        goes_on = false;
    }
    *out = goes_on ? join : NULL;
    if (!goes_on)
        explain_join_destroy(join);
    return status;
}

/* A file, and where in it the reader is. */
struct reader {
    struct net_capture *capture;
    struct explain_cutter cutter; /* of the record */
    struct explain_packet packet; /* the last that was read */
    uint64_t at;                  /* the record's number; 0: none was read */
};

/* Reads the next packet. 1; 0: there is none; or a failure. */
static int read_packet(struct reader *r, struct nornic_error *why)
{
    struct net_capture_record record;
    int found = 1;
    while (found > 0 && !(r->at && explain_cutter_next(&r->cutter, &r->packet))) {
        found = net_capture_next(r->capture, &record, why);
        if (found > 0)
            explain_cutter_begin(&r->cutter, &record, ++r->at);
    }
    return found;
}

/* Reads on to that packet of that record. 1; 0: the file has become shorter; or a failure. */
static int seek(struct reader *r, uint64_t number, uint32_t train_packet, struct nornic_error *why)
{
    int found = 1;
    while (found > 0 && (r->at < number || (r->at == number && r->packet.train.packet < train_packet)))
        found = read_packet(r, why);
    return found;
}

static int walk(struct reader readers[2], const char *const paths[2], struct explain_join *join,
                cli_join_take take, void *ctx)
{
    struct explain_join_place place;
    struct nornic_error why;
    while (!cli_stopped() && explain_join_step(join, &place)) {
        struct reader *r = &readers[place.side];
        int found = seek(r, place.record[place.side], place.train_packet[place.side], &why);
        if (found <= 0)
            return found < 0 ? cli_fail("%s", why.text)
                             : cli_fail("%s has changed while it was read", paths[place.side]);
        struct explain_packet packet = r->packet; /* which the analysis may change */
        packet.number = place.number;
        packet.time_ns = place.time_ns[place.side];
        if (!take(ctx, &packet, &place))
            break;
    }
    return CLI_OK;
}

int cli_join_walk(const char *const paths[2], struct explain_join *join, cli_join_take take, void *ctx)
{
    struct reader readers[2] = {{0}};
    struct nornic_error why;
    int status = CLI_OK;
    for (unsigned side = 0; side < 2 && status == CLI_OK; side++)
        if (net_capture_open(paths[side], &readers[side].capture, &why) != 0)
            status = cli_fail("%s", why.text);
    if (status == CLI_OK)
        status = walk(readers, paths, join, take, ctx);
    for (unsigned side = 0; side < 2; side++)
        if (readers[side].capture) {
            explain_cutter_end(&readers[side].cutter);
            net_capture_close(readers[side].capture);
        }
    return status;
}
