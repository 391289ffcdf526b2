/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/dev.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "net/impair.h"
#include "net/pcap_file.h"
#include "roce/wire/ip_id_restore.h"

/* What turns host_now_ns() into time since 1970. */
static uint64_t epoch_offset_ns(void)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec - host_now_ns();
}

int host_port_wrap(struct net_port **port, struct net_port **capture, const struct host_dev_config *config,
                   struct nornic_error *why)
{
    *capture = NULL;
    /* The capture lies below the impairment, so that it shows what is on the wire. */
    if (config->capture_path) {
        int err = net_pcap_capture_wrap(*port, config->capture_path, epoch_offset_ns(), port, why);
        if (err)
            return err;
        *capture = *port;
        net_pcap_capture_clock(*capture, host_now_ns);
        if ((*port)->limits.is_udp_socket)
            net_pcap_capture_restore(*capture, roce_ip_id_restore);
    }
    const struct nornic_impair *impair = &config->impair;
    if (!impair->loss_ppm && !impair->duplicate_ppm && !impair->reorder_ppm && !impair->corrupt_ppm &&
        !impair->ecn_ppm)
        return 0;
    struct net_impair_config line = {
        .seed = impair->seed,
        .loss_ppm = impair->loss_ppm,
        .duplicate_ppm = impair->duplicate_ppm,
        .reorder_ppm = impair->reorder_ppm,
        .corrupt_ppm = impair->corrupt_ppm,
        .ecn_ppm = impair->ecn_ppm,
        .on_rx = true,
        .on_tx = true,
    };
    int err = net_impair_wrap(*port, &line, port);
    return !err ? 0 : net_error_set(why, -err, "cannot impair the port: %s", strerror(-err));
}

int host_dev_capture_flush(struct host_dev *dev)
{
    if (!dev->capture)
        return 0;
    host_dev_lock(dev);
    int err = net_pcap_capture_flush(dev->capture);
    host_dev_unlock(dev);
    return err;
}
