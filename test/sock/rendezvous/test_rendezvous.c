/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP option on real SYNs and SYN-ACKs: two kernel sockets of this process, a veth pair between them. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/rendezvous/cgroup.h"
#include "sock/rendezvous/rendezvous.h"
#include "test/support/netns.h"

#define PORT      4000
#define WAIT_MS   5000
#define SMC_BYTES "\xfe\x06\xe2\xd4\xc3\xd9"

/* What the wire showed: of SYNs, SYN-ACKs, and the rest, how many came and how many had the option. */
struct seen {
    unsigned syn, syn_opt, synack, synack_opt, other, other_opt;
};

struct lab {
    struct netns_veth veth;
    struct smcr_rendezvous_ctl *ctl;
    int tap; /* AF_PACKET on side 1 */
};

static void lab_open(struct lab *lab)
{
    struct nornic_error why = {""};
    netns_need();
    if (smcr_rendezvous_open(&lab->ctl, false, &why) != 0)
        cr_skip_test("%s", why.text);
    netns_veth_open(&lab->veth, 1500);
    netns_enter(&lab->veth, 1);
    lab->tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    cr_assert_geq(lab->tap, 0);
    netns_enter(&lab->veth, -1);
}

static void lab_close(struct lab *lab)
{
    close(lab->tap);
    netns_veth_destroy(&lab->veth);
    smcr_rendezvous_close(lab->ctl);
}

static void classify(const uint8_t *frame, size_t len, struct seen *seen)
{
    if (len < 14 + 20 + 20 || frame[14 + 9] != 6)
        return;
    const uint8_t *tcp = frame + 14 + (size_t)(frame[14] & 0xf) * 4;
    bool has = memmem(tcp + 20, (size_t)(tcp[12] >> 4) * 4 - 20, SMC_BYTES, 6) != NULL;
    if ((tcp[13] & 0x12) == 0x02)
        seen->syn++, seen->syn_opt += has;
    else if ((tcp[13] & 0x12) == 0x12)
        seen->synack++, seen->synack_opt += has;
    else
        seen->other++, seen->other_opt += has;
}

static struct seen look(struct lab *lab)
{
    uint8_t frame[2048];
    struct seen seen = {0};
    ssize_t n;
    while ((n = recv(lab->tap, frame, sizeof frame, MSG_DONTWAIT)) > 0)
        classify(frame, (size_t)n, &seen);
    return seen;
}

static int tcp_socket(struct lab *lab, int side)
{
    netns_enter(&lab->veth, side);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    netns_enter(&lab->veth, -1);
    cr_assert_geq(fd, 0);
    return fd;
}

static struct sockaddr_in address(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    inet_pton(AF_INET, NETNS_VETH_V4(1), &addr.sin_addr);
    return addr;
}

static void wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    cr_assert_eq(poll(&p, 1, WAIT_MS), 1, "nothing came in %d ms", WAIT_MS);
}

static int listener(struct lab *lab, bool wants)
{
    struct sockaddr_in addr = address();
    int fd = tcp_socket(lab, 1);
    if (wants)
        cr_assert_eq(smcr_rendezvous_want(lab->ctl, fd, true), 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    cr_assert_eq(listen(fd, 8), 0);
    return fd;
}

/* Connects to `listen_fd`; fd[0] is the client's, fd[1] the server's. */
static void connect_pair(struct lab *lab, int listen_fd, bool wants, int fd[2])
{
    struct sockaddr_in addr = address();
    fd[0] = tcp_socket(lab, 0);
    if (wants)
        cr_assert_eq(smcr_rendezvous_want(lab->ctl, fd[0], true), 0);
    cr_assert(connect(fd[0], (struct sockaddr *)&addr, sizeof addr) == 0 || errno == EINPROGRESS);
    wait_for(fd[0], POLLOUT);
    wait_for(listen_fd, POLLIN);
    fd[1] = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    cr_assert_geq(fd[1], 0);
}

/* A byte each way, so that there are packets after the handshake. */
static void exchange(const int fd[2])
{
    char c = 'x';
    for (int from = 0; from < 2; from++) {
        cr_assert_eq(send(fd[from], &c, 1, 0), 1);
        wait_for(fd[1 - from], POLLIN);
        cr_assert_eq(recv(fd[1 - from], &c, 1, 0), 1);
    }
    close(fd[0]);
    close(fd[1]);
}

/* covers: SMCR-REN-01, SMCR-REN-02, SMCR-REN-03, SMCR-REN-04, SMCR-REN-05, SMCR-REN-08 */
Test(rendezvous, SMCR_REN_01_both_ends_send_the_option_and_know_it, .timeout = 30)
{
    struct lab lab;
    int fd[2];
    lab_open(&lab);
    int l = listener(&lab, true);
    connect_pair(&lab, l, true, fd);
    cr_assert(smcr_rendezvous_seen(lab.ctl, fd[0]));
    cr_assert(smcr_rendezvous_seen(lab.ctl, fd[1]));
    exchange(fd);
    struct seen seen = look(&lab);
    cr_assert_eq(seen.syn, 1);
    cr_assert_eq(seen.syn_opt, 1);
    cr_assert_eq(seen.synack, 1);
    cr_assert_eq(seen.synack_opt, 1);
    cr_assert_gt(seen.other, 3);
    cr_assert_eq(seen.other_opt, 0, "SMCR-REN-04: not on an ACK");
    close(l);
    lab_close(&lab);
}

/* covers: SMCR-REN-03, SMCR-REN-05, SMCR-REN-06 */
Test(rendezvous, SMCR_REN_03_no_option_in_the_answer_to_a_SYN_without, .timeout = 30)
{
    struct lab lab;
    int fd[2];
    lab_open(&lab);
    int l = listener(&lab, true);
    connect_pair(&lab, l, false, fd);
    cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[0]));
    cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[1]));
    exchange(fd);
    struct seen seen = look(&lab);
    cr_assert_eq(seen.syn + seen.synack, 2);
    cr_assert_eq(seen.syn_opt + seen.synack_opt + seen.other_opt, 0);
    close(l);
    lab_close(&lab);
}

/* covers: SMCR-REN-05, SMCR-REN-06 */
Test(rendezvous, SMCR_REN_05_a_server_that_does_not_want_answers_without, .timeout = 30)
{
    struct lab lab;
    int fd[2];
    lab_open(&lab);
    int l = listener(&lab, false);
    connect_pair(&lab, l, true, fd);
    cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[0]));
    cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[1]));
    exchange(fd);
    struct seen seen = look(&lab);
    cr_assert_eq(seen.syn_opt, 1);
    cr_assert_eq(seen.synack_opt, 0);
    close(l);
    lab_close(&lab);
}

/* Makes side `side`'s packets to the other go nowhere, or arrive again. */
static void cut(struct lab *lab, int side, bool off)
{
    const char *peer = NETNS_VETH_V4(1 - side);
    if (off)
        cr_assert_eq(netns_run(&lab->veth, side,
                               "ip neigh replace %s lladdr 02:00:00:00:00:77 dev nn%d nud permanent", peer,
                               side),
                     0);
    else
        cr_assert_eq(netns_run(&lab->veth, side, "ip neigh del %s dev nn%d", peer, side), 0);
}

/* The network loses SYNs, then SYN-ACKs: each retransmission has the option too. */
Test(rendezvous, SMCR_REN_02_the_option_is_in_every_retransmission, .timeout = 30)
{
    struct lab lab;
    int fd[2];
    lab_open(&lab);
    int l = listener(&lab, true);
    struct sockaddr_in addr = address();
    fd[0] = tcp_socket(&lab, 0);
    cr_assert_eq(smcr_rendezvous_want(lab.ctl, fd[0], true), 0);
    cut(&lab, 0, true);
    cut(&lab, 1, true);
    connect(fd[0], (struct sockaddr *)&addr, sizeof addr);
    usleep(200 * 1000); /* the first SYN is lost, the second is due after a second */
    cut(&lab, 0, false);
    usleep(2200 * 1000); /* it and its answer, which is lost and comes again after a second */
    cut(&lab, 1, false);
    wait_for(fd[0], POLLOUT);
    wait_for(l, POLLIN);
    fd[1] = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct seen seen = look(&lab);
    cr_assert_gt(seen.syn, 0);
    cr_assert_eq(seen.syn_opt, seen.syn);
    cr_assert_gt(seen.synack, 1, "%u SYN-ACKs", seen.synack);
    cr_assert_eq(seen.synack_opt, seen.synack);
    cr_assert(smcr_rendezvous_seen(lab.ctl, fd[0]));
    cr_assert(smcr_rendezvous_seen(lab.ctl, fd[1]));
    close(fd[0]);
    close(fd[1]);
    close(l);
    lab_close(&lab);
}

/* With SYN cookies the server remembers nothing of the SYN, so it does not promise anything either. */
Test(rendezvous, SMCR_REN_03_a_SYN_cookie_has_no_option, .timeout = 30)
{
    struct lab lab;
    int fd[2];
    lab_open(&lab);
    cr_assert_eq(netns_run(&lab.veth, 1, "echo 2 > /proc/sys/net/ipv4/tcp_syncookies"), 0);
    int l = listener(&lab, true);
    connect_pair(&lab, l, true, fd);
    cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[0]));
    cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[1]));
    struct seen seen = look(&lab);
    cr_assert_eq(seen.syn_opt, 1);
    cr_assert_eq(seen.synack_opt, 0);
    exchange(fd);
    close(l);
    lab_close(&lab);
}

/* Both ends connect to each other: a SYN meets a socket that has sent its own. */
Test(rendezvous, SMCR_REN_09_no_SMC_R_on_a_simultaneous_open, .timeout = 30)
{
    struct lab lab;
    int fd[2];
    lab_open(&lab);
    cut(&lab, 1, true);
    for (int side = 1; side >= 0; side--) {
        struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(PORT)}, other = own;
        inet_pton(AF_INET, NETNS_VETH_V4(side), &own.sin_addr);
        inet_pton(AF_INET, NETNS_VETH_V4(1 - side), &other.sin_addr);
        fd[side] = tcp_socket(&lab, side);
        cr_assert_eq(smcr_rendezvous_want(lab.ctl, fd[side], true), 0);
        cr_assert_eq(bind(fd[side], (struct sockaddr *)&own, sizeof own), 0);
        cr_assert(connect(fd[side], (struct sockaddr *)&other, sizeof other) == 0 || errno == EINPROGRESS);
    }
    usleep(100 * 1000); /* the SYN of side 0 is answered into nowhere */
    cut(&lab, 1, false);
    for (int side = 0; side < 2; side++) {
        int error = -1;
        socklen_t len = sizeof error;
        wait_for(fd[side], POLLOUT);
        getsockopt(fd[side], SOL_SOCKET, SO_ERROR, &error, &len);
        cr_assert_eq(error, 0);
        cr_assert_not(smcr_rendezvous_seen(lab.ctl, fd[side]), "side %d", side);
    }
    struct seen seen = look(&lab);
    cr_assert_gt(seen.syn_opt, 1);
    cr_assert_gt(seen.synack, 0);
    cr_assert_eq(seen.synack_opt, 0);
    exchange(fd);
    lab_close(&lab);
}

/* tshark knows the option: it is on the wire as a capture of everybody's shows it. */
Test(rendezvous, SMCR_REN_01_tshark_sees_the_option, .timeout = 60)
{
    struct lab lab;
    int fd[2];
    char dir[] = "/tmp/nn-rendezvous-XXXXXX", command[512], line[256] = "";
    if (access("/usr/bin/tshark", X_OK) != 0 || access("/usr/bin/tcpdump", X_OK) != 0)
        cr_skip_test("needs tcpdump and tshark");
    lab_open(&lab);
    cr_assert_not_null(mkdtemp(dir));
    int l = listener(&lab, true);
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    netns_enter(&lab.veth, 1);
    pid_t dump = fork();
    if (dump == 0) {
        dup2(ready[1], 2);
        snprintf(command, sizeof command, "%s/a.pcap", dir);
        execl("/usr/bin/tcpdump", "tcpdump", "-Z", "root", "-U", "--immediate-mode", "-i", "nn1", "-w",
              command, "tcp", (char *)NULL);
        _exit(127);
    }
    netns_enter(&lab.veth, -1);
    cr_assert_gt(read(ready[0], line, sizeof line - 1), 0); /* "listening on nn1" */
    connect_pair(&lab, l, true, fd);
    exchange(fd);
    usleep(200 * 1000);
    kill(dump, SIGINT);
    waitpid(dump, NULL, 0);
    snprintf(
        command, sizeof command,
        "tshark -r %s/a.pcap -Y 'tcp.flags.syn==1 && tcp.options contains fe:06:e2:d4:c3:d9' -T fields -e "
        "tcp.flags.ack 2>/dev/null | tr '\\n' ' '; rm -rf %s",
        dir, dir);
    FILE *f = popen(command, "re");
    cr_assert_not_null(fgets(line, sizeof line, f));
    pclose(f);
    cr_assert(strcmp(line, "0 1 ") == 0 || strcmp(line, "False True ") == 0, "tshark says: %s", line);
    close(l);
    lab_close(&lab);
}

/* The process comes back to where it was, and nothing stays. */
Test(rendezvous, the_cgroup_is_removed_and_leftovers_are_too, .timeout = 30)
{
    struct nornic_error why = {""};
    struct smcr_cgroup cgroup;
    struct stat st;
    char leftover[700];
    if (smcr_cgroup_enter(&cgroup, &why) != 0)
        cr_skip_test("%s", why.text);
    /* a process that is no more */
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    snprintf(leftover, sizeof leftover, "%s/nornic-%d", cgroup.home, (int)child);
    cr_assert_eq(mkdir(leftover, 0755), 0);
    char nested[800]; /* of one that it had started */
    snprintf(nested, sizeof nested, "%s/nornic-%d", leftover, (int)child);
    cr_assert_eq(mkdir(nested, 0755), 0);
    /* and a child that stays behind in our cgroup */
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    smcr_cgroup_leave(&cgroup);
    cr_assert_neq(stat(cgroup.own, &st), 0, "%s is still there", cgroup.own);
    cr_assert_eq(smcr_cgroup_enter(&cgroup, &why), 0, "%s", why.text);
    cr_assert_neq(stat(leftover, &st), 0, "%s is still there", leftover);
    smcr_cgroup_leave(&cgroup);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool lives_in_own_cgroup(void)
{
    char line[600], own[40];
    FILE *f = fopen("/proc/self/cgroup", "re");
    snprintf(own, sizeof own, "/nornic-%d\n", (int)getpid());
    bool found = false;
    while (f && fgets(line, sizeof line, f))
        found |= strncmp(line, "0::", 3) == 0 && strstr(line, own) != NULL;
    if (f)
        fclose(f);
    return found;
}

/* As `ip netns exec` leaves a process: with a /sys that shows no cgroups. */
Test(rendezvous, a_hierarchy_that_no_directory_shows, .timeout = 30)
{
    struct nornic_error why = {""};
    struct smcr_cgroup cgroup;
    if (unshare(CLONE_NEWNS) != 0)
        cr_skip_test("needs root, to hide the mounts");
    cr_assert_eq(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    umount2("/sys/fs/cgroup", MNT_DETACH);
    if (smcr_cgroup_enter(&cgroup, &why) != 0)
        cr_skip_test("%s", why.text);
    cr_assert_geq(cgroup.mount_fd, 0, "still shown, in %s", cgroup.home);
    cr_assert(lives_in_own_cgroup());
    smcr_cgroup_leave(&cgroup);
    cr_assert_not(lives_in_own_cgroup());
}

/* covers: SMCR-REN-06 */
Test(rendezvous, without_rights_one_sentence_and_no_change, .timeout = 30)
{
    if (getuid() != 0)
        cr_skip_test("needs root to give it up");
    struct nornic_error why = {""};
    struct smcr_rendezvous_ctl *ctl;
    cr_assert_eq(setresuid(65534, 65534, 65534), 0);
    int rc = smcr_rendezvous_open(&ctl, false, &why);
    cr_assert_eq(rc, -EPERM, "%d: %s", rc, why.text);
    cr_assert_not_null(strstr(why.text, "needs BPF"));
}
