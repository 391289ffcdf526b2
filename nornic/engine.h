/* SPDX-License-Identifier: BSD-2-Clause */
/* The engines, for who drives them: simulators, fuzzers, programs that bring their own wire and clock. An
 * engine is a function of what it is given: frames, work requests and time in; frames, completions,
 * events and the next deadline out (docs/architecture.md, contract 1). Names begin with the room that has
 * them: net_, xdp_, rdma_, roce_, smcr_. There is no lock inside, and these interfaces change more often
 * than those of <nornic/nornic.h>, which programs that only want RDMA include instead. */
#ifndef NORNIC_ENGINE_H
#define NORNIC_ENGINE_H

#include "net/bytes.h"
#include "net/error.h"
#include "net/field.h"
#include "net/impair.h"
#include "net/ipv4.h"
#include "net/memory.h"
#include "net/packet.h"
#include "net/pcap_file.h"
#include "net/port.h"
#include "rdma/cq.h"
#include "rdma/mem.h"
#include "rdma/mr.h"
#include "rdma/mw.h"
#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "roce/cc_config.h"
#include "roce/cm/cm.h"
#include "roce/cm/mad.h"
#include "roce/counters.h"
#include "roce/icrc.h"
#include "roce/opcode.h"
#include "roce/packet.h"
#include "roce/psn.h"
#include "roce/query.h"
#include "roce/roce.h"
#include "roce/trace.h"
#include "roce/wire.h"
#include "smcr/clc_wire.h"
#include "smcr/smcr.h"
#include "smcr/stat.h"
#include "smcr/trace.h"
#include "xdp/xdp.h"

#endif
