/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine of an engine: ports by name, the clock, the kernel's addresses, routes and neighbours,
 * the lock and the progress thread (contracts 1 and 3 of docs/architecture.md). */
#ifndef NORNIC_HOST_HOST_H
#define NORNIC_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "host/port/options.h"
#include "net/error.h"
#include "net/kernel/kernel.h"
#include "net/port.h"
#include "roce/roce.h"

struct host_dev;
struct nornic_cq;
struct nornic_dev;

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t host_now_ns(void);

struct host_dev_config {
    const char *port; /* as host_port_open() has it: "udp:ADDR"; for memory see host_dev_create_on(), which
                       * takes its options */
    const char *capture_path;         /* pcapng of everything that crosses the port, or NULL */
    struct nornic_impair impair;      /* all zero: none; acts on frames both ways */
    uint32_t first_qpn, num_qpns;     /* as roce_dev_config has them; both 0: drawn */
    uint32_t window_pkts;             /* unacknowledged request packets of a QP; 0: the engine's default */
    struct roce_cc_config cc;         /* congestion management; its line rate is the interface's, if known */
    struct host_port_options options; /* read of `port` when the device is opened */
    uint16_t num_pkeys;               /* as roce_dev_config has it */
    bool roce_v1;                     /* speak RoCEv1 as well: each address has a second GID, of type V1 */
    struct nornic_iwarp_config iwarp; /* port "iwarp:..." */
    bool no_thread;                   /* the caller drives host_round() itself */
    bool is_keeper; /* opens a port for a dead process: waits for no keeper that has the port */
    roce_trace_hook *trace;
    void *trace_ctx;
};

/* Opens the port, creates the engine, and fills its GID table from the addresses that the interface and
 * its VLAN interfaces own: link-local first, as rxe orders them (ROCE-AH-11). From then on the table
 * follows the kernel: a new address is added if there is room, a removed one leaves a hole (ROCE-AH-10),
 * and the port's state follows the link (ROCE-EV-9). Unless `no_thread`, a thread makes progress from now
 * on, asleep while there is nothing to do. 0 or -errno with a sentence in `why`. */
int host_dev_open(const struct host_dev_config *config, struct host_dev **out, struct nornic_error *why);

/* The same on a port that exists already (memory, a test's); the caller adds GIDs. Takes over `port`, also on
 * failure. */
int host_dev_create_on(struct net_port *port, const struct host_dev_config *config, struct host_dev **out,
                       struct nornic_error *why);

/* Writes out the buffer of the capture. 0, also without a capture; or the -errno of the write that
 * stopped it (a full disk), now or earlier: the traffic went on, and the file lacks the rest of it. */
int host_dev_capture_flush(struct host_dev *dev);

/* Stops the thread, destroys the engine and closes the port. 0; or -EBUSY with a sentence that names the
 * objects left (a CM, QPs, PDs with their dependents, XRC domains): then nothing has changed. Nobody else
 * uses the device meanwhile. */
int host_dev_close(struct host_dev *dev, struct nornic_error *why);

/* Waits, in a process that ends with the device open, `limit_ns` at most. Over iWARP: until the peers have
 * all data of connections that this side has ended. RoCE: until the connection manager's messages have
 * left. */
void host_dev_see_off(struct host_dev *dev, uint64_t limit_ns);

/* Fills in a sentence about a change of the interface since the opening of the device that may explain why
 * connections fail. False: nothing. */
bool host_dev_notice(struct host_dev *dev, struct nornic_error *out);

/* The device watches its interface, and other followers ask here instead of the kernel: how often it has
 * changed (its addresses and those of its VLAN interfaces, link, MAC, MTU, its end), as far as rounds have
 * seen it; costs nothing to ask. 0: the port has no interface. */
unsigned host_dev_interface_changes(const struct host_dev *dev);
/* Fills in the interface since the last change. The GID table and the port's attributes are of the same
 * moment. False: it is no more, or the port has none. */
bool host_dev_interface(struct host_dev *dev, struct net_interface *out);

/* The device's engine of RoCE, and its port with all that wraps it; both stay the device's. NULL: it is
 * one of iWARP. */
struct roce_dev *host_dev_engine(struct host_dev *dev);
struct net_port *host_dev_port(struct host_dev *dev);
/* The name of its port, and how that runs ("native"), of whatever kind it is. */
const char *host_dev_port_name(const struct host_dev *dev);
const char *host_dev_port_mode(const struct host_dev *dev);
/* The device below a program's device: for callers that need more than the API. */
struct host_dev *host_dev_of(struct nornic_dev *dev);
/* The other way round: a program's device on one that the caller has made on one end of a cable
 * (host_dev_create_on()), with every address behind `peer_mac`. It takes over `dev`: nornic_dev_close()
 * closes it. NULL: no memory, and `dev` stays the caller's. */
struct nornic_dev *host_dev_for_program(struct host_dev *dev, bool has_thread, struct nornic_mac peer_mac);
/* The engine's completion queue below a program's, for host_round(). */
const struct rdma_cq *host_cq_of(const struct nornic_cq *cq);

/* The device's lock: held around every control call of the engine (create, modify, destroy, register). */
void host_dev_lock(struct host_dev *dev);
void host_dev_unlock(struct host_dev *dev);
/* In the child of a fork, if its parent had the lock around the fork: gives it back, and wakes nobody, as
 * the sleepers on the device are the parent's. Calls that only read the device then work in the child as
 * well. */
void host_dev_unlock_in_child(struct host_dev *dev);

/* The kinds of rounds. In each of them what was posted leaves, frames come in, and the timers fire. */
enum host_round_kind {
    HOST_ROUND_PLAIN, /* frames in, timers, frames out */
    /* For a program that polls a device with a thread: while it goes on, the thread stands aside. */
    HOST_ROUND_POLL,
    /* For a caller that goes on until a round finds nothing to do. Posted work leaves first. Acknowledgements
     * of frames that came wait for the caller's next round. */
    HOST_ROUND_LATE,
    /* For a caller that waits for completions of `cq`, and makes the next round after taking them. Posted
     * work leaves first. After a completion its acknowledgement waits for the caller's next round, to
     * leave together with the caller's answer. */
    HOST_ROUND_FOR_CQ,
    /* For a caller that waits for completions of `cq`, and has found none. If there is nothing to do, the
     * round sleeps as host_dev_wait() for `sleep_ns` at most. It is one system call if the transport can wait
     * and report in the same call (iWARP). */
    HOST_ROUND_SLEEP,
};

struct host_round_policy {
    enum host_round_kind kind;
    const struct rdma_cq *cq; /* HOST_ROUND_FOR_CQ, HOST_ROUND_SLEEP */
    uint64_t sleep_ns;        /* HOST_ROUND_SLEEP */
};

/* Makes one round of the device by `policy`; NULL: a plain one. Takes the lock. If another thread has it,
 * a round that does not sleep returns false at once. Returns whether anything was done. */
bool host_round(struct host_dev *dev, const struct host_round_policy *policy);

/* Ends the time of HOST_ROUND_POLL: the program will sleep until something comes, and the thread makes the
 * rounds again at once (without this call, within 400 us). */
void host_dev_take_back(struct host_dev *dev);

/* Sleeps until frames, posted work or a deadline wait, at most `timeout_ns`. For callers that drive progress.
 */
void host_dev_wait(struct host_dev *dev, uint64_t timeout_ns);

/* For a caller that drives several devices and sleeps on them all, without a thread of theirs: descriptors
 * of which one polls readable (POLLIN) when a round is due: first the one of news, of its interface and its
 * neighbours, which are rare; then that of frames, if the port has one. Returns how many there are. Posts do
 * not ring then: a poster makes a round afterwards. */
#define HOST_DEV_FDS 2
unsigned host_dev_fds(struct host_dev *dev, int fds[HOST_DEV_FDS]);
/* One of them was readable: the next round looks at all. */
void host_dev_set_ready(struct host_dev *dev);
/* When the next round is due if nothing becomes readable; 0: at once; NET_TIME_NONE: never. */
uint64_t host_dev_deadline_ns(struct host_dev *dev);

/* The MAC of the next hop to `dst` out of the device's interface: the neighbour's, or the gateway's by the
 * kernel's routes; makes the kernel ask (ARP, NDP) if it does not know, and waits at most `timeout_ns`. 0,
 * -EHOSTUNREACH or another -errno with a sentence in `why`. */
int host_dev_resolve(struct host_dev *dev, const struct nornic_addr *dst, uint64_t timeout_ns,
                     struct nornic_mac *mac, struct nornic_error *why);

/* The same out of the interface that owns GID `sgid_index`, which may be a VLAN interface (ROCE-FRM-3).
 * -ENOENT: there is no such GID. */
int host_dev_resolve_from(struct host_dev *dev, unsigned sgid_index, const struct nornic_addr *dst,
                          uint64_t timeout_ns, struct nornic_mac *mac, struct nornic_error *why);

#endif
