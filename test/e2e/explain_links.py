#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_links.py PDML JSON: compares what tshark (-T pdml) and nornic (explain --all --json) say of what lies below
RoCE in the same capture: link headers, tags, tunnels, flow control, LLDP. A layer may be in a packet many times, so
all values of a field are compared in the order in which they come. Prints each difference and, last, how many values
were equal; exit status 1 when there is a difference, or nothing to compare."""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

ETS = ('dcbx_ets_config', 'dcbx_ets_recommended')

# tshark's name: our layers, our field
FIELDS = {
    'eth.type': ('eth', 'ethertype'),
    'vlan.priority': ('vlan', 'pcp'), 'ieee8021ad.priority': ('vlan', 'pcp'),
    'vlan.dei': ('vlan', 'dei'), 'ieee8021ad.dei': ('vlan', 'dei'),
    'vlan.id': ('vlan', 'vid'), 'ieee8021ad.id': ('vlan', 'vid'),
    'ip.id': ('ip', 'id'), 'ip.ttl': ('ip', 'ttl'), 'ip.proto': ('ip', 'protocol'), 'ip.len': ('ip', 'total_len'),
    'ipv6.plen': ('ip6', 'payload_len'), 'ipv6.nxt': ('ip6', 'next_header'),
    'udp.srcport': ('udp', 'src_port'), 'udp.dstport': ('udp', 'dst_port'), 'udp.length': ('udp', 'len'),
    'sll.etype': ('sll sll2', {'sll': 'protocol', 'sll2': 'protocol'}),
    'sll.pkttype': ('sll sll2', 'type'), 'sll.hatype': ('sll sll2', 'arphrd'), 'sll.halen': ('sll sll2', 'addr_len'),
    'sll.ifindex': ('sll2', 'if_index'),
    'null.family': ('loopback', 'family'),
    'vxlan.flag_g': ('vxlan', 'g'), 'vxlan.flag_i': ('vxlan', 'i'), 'vxlan.flag_d': ('vxlan', 'd'),
    'vxlan.flag_a': ('vxlan', 'a'), 'vxlan.gbp': ('vxlan', 'group_policy'), 'vxlan.vni': ('vxlan', 'vni'),
    'vxlan.reserved8': ('vxlan', 'resv5'),
    'geneve.version': ('geneve', 'version'), 'geneve.flags.oam': ('geneve', 'o'),
    'geneve.flags.critical': ('geneve', 'c'), 'geneve.proto_type': ('geneve', 'protocol'),
    'geneve.vni': ('geneve', 'vni'),
    'gre.flags.checksum': ('gre', 'c'), 'gre.flags.routing': ('gre', 'routing'), 'gre.flags.key': ('gre', 'k'),
    'gre.flags.sequence_number': ('gre', 's'), 'gre.flags.version': ('gre', 'version'),
    'gre.proto': ('gre', 'protocol'), 'gre.checksum': ('gre_checksum', 'checksum'),
    'gre.sequence_number': ('gre_seq', 'seq'),
    'erspan.version': ('erspan2 erspan3', 'version'), 'erspan.vlan': ('erspan2 erspan3', 'vlan'),
    'erspan.cos': ('erspan2 erspan3', 'cos'), 'erspan.spanid': ('erspan2 erspan3', 'session_id'),
    'erspan.truncated': ('erspan2 erspan3', 'truncated'), 'erspan.encap': ('erspan2', 'encapsulation'),
    'erspan.index': ('erspan2', 'index'), 'erspan.bso': ('erspan3', 'bso'),
    'erspan.timestamp': ('erspan3', 'timestamp'), 'erspan.sgt': ('erspan3', 'sgt'), 'erspan.p': ('erspan3', 'p'),
    'erspan.ft': ('erspan3', 'frame_type'), 'erspan.hw': ('erspan3', 'hw_id'),
    'erspan.direction': ('erspan3', 'direction'), 'erspan.gra': ('erspan3', 'granularity'),
    'erspan.o': ('erspan3', 'o'),
    'macc.opcode': ('mac_control', 'opcode'), 'macc.pause_time': ('pause', 'quanta'),
    'lldp.tlv.type': ('lldp_tlv', 'type'), 'lldp.tlv.len': ('lldp_tlv', 'length'),
    'lldp.chassis.subtype': ('lldp_id', 'subtype'), 'lldp.port.subtype': ('lldp_id', 'subtype'),
    'lldp.time_to_live': ('lldp_ttl', 'ttl'), 'lldp.orgtlv.oui': ('lldp_org', 'oui'),
    'lldp.ieee.802_1.subtype': ('lldp_org', 'subtype'),
    'lldp.dcbx.ieee.willing': ('dcbx_ets_config dcbx_pfc', 'willing'),
    'lldp.dcbx.ieee.ets.cbs': ('dcbx_ets_config', 'cbs'), 'lldp.dcbx.ieee.ets.maxtcs': ('dcbx_ets_config', 'max_tcs'),
    'lldp.dcbx.ieee.pfc.mbc': ('dcbx_pfc', 'mbc'), 'lldp.dcbx.ieee.pfc.numtcs': ('dcbx_pfc', 'capability'),
    'lldp.dcbx.ieee.app.prio': ('dcbx_app_entry', 'priority'), 'lldp.dcbx.iee.app.sf': ('dcbx_app_entry', 'selector'),
    'lldp.dcbx.feature.app.proto': ('dcbx_app_entry', 'protocol'),
    'infiniband.bth.opcode': ('bth', 'opcode'), 'infiniband.bth.psn': ('bth', 'psn'),
    'infiniband.bth.destqp': ('bth', 'dest_qpn'),
}
for i in range(8):
    FIELDS[f'macc.cbfc.enbv.c{i}'] = ('pfc', f'e{i}')
    FIELDS[f'macc.cbfc.pause_time.c{i}'] = ('pfc', f't{i}')
    FIELDS[f'lldp.dcbx.feature.pfc.prio{i}'] = ('dcbx_pfc', f'e{i}')
    FIELDS[f'lldp.dcbx.feature.pg.pgid_prio{i}'] = (' '.join(ETS), f'p{i}')
    FIELDS[f'lldp.dcbx.feature.pg.per{i}'] = (' '.join(ETS), f'bw{i}')
    FIELDS[f'lldp.dcbx.ieee.ets.tsa{i}'] = (' '.join(ETS), f'tsa{i}')


def key_of(name):
    layers, field = FIELDS[name]
    return layers, field if isinstance(field, str) else 'protocol'


def theirs(packet):
    """By what it is compared with: the values that tshark shows, in order."""
    values = {}
    for field in packet.iter('field'):
        if field.get('name') in FIELDS and field.get('value') and field.get('hide') != 'yes':
            values.setdefault(key_of(field.get('name')), []).append(int(field.get('value'), 16))
    return values


def ours(layers, keys):
    values = {}
    for names, field in keys:
        found = [int(str(fields[field]), 0) for key, fields in layers.items()
                 if re.sub(r'_\d+$', '', key) in names.split() and field in fields]
        values[names, field] = found
    return values


def main():
    pdml = ElementTree.parse(sys.argv[1]).getroot().findall('packet')
    with open(sys.argv[2], encoding='utf-8') as f:
        packets = [p for p in map(json.loads, f) if 'n' in p and 'layers' in p]
    equal, different = 0, 0
    if len(pdml) != len(packets):
        sys.exit(f'tshark has {len(pdml)} packets, nornic {len(packets)}')
    for number, (a, b) in enumerate(zip(pdml, packets), 1):
        want = theirs(a)
        got = ours(b['layers'], want)
        for key, values in want.items():
            if values == got[key]:
                equal += len(values)
            else:
                different += 1
                print(f'#{number} {key}: tshark {values}, nornic {got[key]}')
    print(equal, 'values equal')
    sys.exit(different != 0 or equal == 0)


main()
