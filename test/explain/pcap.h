/* SPDX-License-Identifier: BSD-2-Clause */
/* The captures of pcaps/. */
#ifndef NORNIC_TEST_EXPLAIN_PCAP_H
#define NORNIC_TEST_EXPLAIN_PCAP_H

#include "net/pcap_file.h"

/* pcaps/NAME.pcap, the caller's to close. Fails the test if it cannot be read. */
struct net_capture *pcap_open(const char *name);

#endif
