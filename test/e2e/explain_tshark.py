#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_tshark.py [--cut] PDML JSON: compares what tshark (-T pdml) and nornic (explain --all --json) say of the same
capture, field by field.

Every field of the layers below that tshark gives is in one of three lists: FIELDS says which of ours must be
equal to it, DERIVED that it is no field of a header, DIFFERENT that tshark is known to be wrong, and why. A
field in no list is an error, and so are a row of FIELDS or DIFFERENT that nothing used and a reason that no
longer holds, so that the lists stay true. Of packets that a snap length cut (--cut) there is no ICRC, and not
every row is used. Prints each difference; exit status 1 when there is one."""
import ipaddress
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

PROTOCOLS = {'eth', 'vlan', 'ip', 'ipv6', 'udp', 'infiniband', 'tcp', 'smc'}


def number(layer, field, shift=0, mask=~0):
    """Ours, shifted and masked: where tshark shows a part of what one of our fields holds."""
    return lambda layers: (int(str(layers[layer][field]), 0) >> shift) & mask


def data(layer, field, first=0, last=None):
    """Bytes of ours from `first` on, up to `last` or all, as hex."""
    return lambda layers: layers[layer][field][2 * first:last and 2 * last]


def text(layer, field):
    return lambda layers: layers[layer][field]


def first_of(*choices):
    """tshark has one name for what lies in different headers."""
    def get(layers):
        for layer, field in choices:
            if layer in layers:
                return number(layer, field)(layers)
        raise KeyError(choices)
    return get


def path(field):
    """Of the alternate path, which we do not show where it is all zero."""
    def get(layers):
        if 'cm_alt_path' in layers:
            return layers['cm_alt_path'][field]
        return 0
    return get


def gid(layer, field):
    return lambda layers: ipaddress.ip_address(layers[layer][field])


def ipv4_in(layer, field):
    """The last four bytes of an address, however they are written."""
    def get(layers):
        packed = ipaddress.ip_address(layers[layer][field]).packed
        return ipaddress.ip_address(packed[-4:])
    return get


def bytes_of_service_id(first, count):
    return lambda layers: layers['cm_req']['service_id'][2 + 2 * first:2 + 2 * (first + count)]


# tshark's name: ours
FIELDS = {
    'eth.dst': text('eth', 'dst'),
    'eth.src': text('eth', 'src'),
    'eth.type': number('eth', 'ethertype'),
    'vlan.priority': number('vlan', 'pcp'),
    'vlan.dei': number('vlan', 'dei'),
    'vlan.id': number('vlan', 'vid'),
    'vlan.etype': number('vlan', 'ethertype'),
    'ip.version': first_of(('ip', 'version'), ('ip6', 'version')),
    'ip.hdr_len': lambda layers: 4 * layers['ip']['ihl'],
    'ip.dsfield': lambda layers: layers['ip']['dscp'] << 2 | layers['ip']['ecn'],
    'ip.dsfield.dscp': number('ip', 'dscp'),
    'ip.dsfield.ecn': number('ip', 'ecn'),
    'ip.len': number('ip', 'total_len'),
    'ip.id': number('ip', 'id'),
    'ip.flags': lambda layers: layers['ip']['resv1'] << 2 | layers['ip']['df'] << 1 | layers['ip']['mf'],
    'ip.flags.rb': number('ip', 'resv1'),
    'ip.flags.df': number('ip', 'df'),
    'ip.flags.mf': number('ip', 'mf'),
    'ip.frag_offset': number('ip', 'frag_offset'),
    'ip.ttl': number('ip', 'ttl'),
    'ip.proto': number('ip', 'protocol'),
    'ip.checksum': number('ip', 'checksum'),
    'ip.src': gid('ip', 'src'),
    'ip.dst': gid('ip', 'dst'),
    'ipv6.version': number('ip6', 'version'),
    'ipv6.tclass': lambda layers: layers['ip6']['dscp'] << 2 | layers['ip6']['ecn'],
    'ipv6.tclass.dscp': number('ip6', 'dscp'),
    'ipv6.tclass.ecn': number('ip6', 'ecn'),
    'ipv6.flow': number('ip6', 'flow_label'),
    'ipv6.plen': number('ip6', 'payload_len'),
    'ipv6.nxt': number('ip6', 'next_header'),
    'ipv6.hlim': number('ip6', 'hop_limit'),
    'ipv6.src': gid('ip6', 'src'),
    'ipv6.dst': gid('ip6', 'dst'),
    'udp.srcport': number('udp', 'src_port'),
    'udp.dstport': number('udp', 'dst_port'),
    'udp.length': number('udp', 'len'),
    'udp.checksum': number('udp', 'checksum'),
    'infiniband.bth.opcode': number('bth', 'opcode'),
    'infiniband.bth.se': number('bth', 'se'),
    'infiniband.bth.m': number('bth', 'mig_req'),
    'infiniband.bth.padcnt': number('bth', 'pad_count'),
    'infiniband.bth.tver': number('bth', 'tver'),
    'infiniband.bth.p_key': number('bth', 'pkey'),
    'infiniband.bth.destqp': number('bth', 'dest_qpn'),
    'infiniband.bth.a': number('bth', 'ack_req'),
    'infiniband.bth.reserved7': number('bth', 'resv7'),
    'infiniband.bth.psn': number('bth', 'psn'),
    'infiniband.deth.q_key': number('deth', 'qkey'),
    'infiniband.deth.srcqp': number('deth', 'src_qpn'),
    'infiniband.reth.va': first_of(('reth', 'va'), ('atomiceth', 'va')),
    'infiniband.reth.r_key': first_of(('reth', 'rkey'), ('atomiceth', 'rkey')),
    'infiniband.reth.dmalen': number('reth', 'dma_len'),
    'infiniband.atomiceth.swapdt': number('atomiceth', 'swap_add'),
    'infiniband.atomiceth.cmpdt': number('atomiceth', 'compare'),
    'infiniband.aeth.syndrome': number('aeth', 'syndrome'),
    'infiniband.aeth.syndrome.reserved': number('aeth', 'syndrome', 7),
    'infiniband.aeth.syndrome.opcode': number('aeth', 'syndrome', 5, 3),
    'infiniband.aeth.syndrome.credit_count': number('aeth', 'syndrome', 0, 31),
    'infiniband.aeth.syndrome.error_code': number('aeth', 'syndrome', 0, 31),
    'infiniband.aeth.syndrome.timer': number('aeth', 'syndrome', 0, 31),
    'infiniband.aeth.msn': number('aeth', 'msn'),
    'infiniband.atomicacketh.origremdt': number('atomicacketh', 'original'),
    'infiniband.immdt': data('immdt', 'imm_data'),
    'infiniband.ieth': lambda layers: '%08x' % layers['ieth']['rkey'],
    'infiniband.mad.baseversion': number('mad', 'base_version'),
    'infiniband.mad.mgmtclass': number('mad', 'mgmt_class'),
    'infiniband.mad.classversion': number('mad', 'class_version'),
    'infiniband.mad.method': number('mad', 'method'),
    'infiniband.mad.status': number('mad', 'status'),
    'infiniband.mad.classspecific': number('mad', 'class_specific'),
    'infiniband.mad.transactionid': number('mad', 'tid'),
    'infiniband.mad.attributeid': number('mad', 'attr_id'),
    'infiniband.mad.attributemodifier': number('mad', 'attr_mod'),
    'infiniband.cm.req': number('cm_req', 'local_comm_id'),
    'infiniband.cm.req.serviceid': number('cm_req', 'service_id'),
    'infiniband.cm.req.serviceid.prefix': bytes_of_service_id(0, 5),
    'infiniband.cm.req.serviceid.protocol': number('cm_req', 'service_id', 16, 0xff),
    'infiniband.cm.req.serviceid.dport': number('cm_req', 'service_id', 0, 0xffff),
    'infiniband.cm.req.localcaguid': number('cm_req', 'ca_guid'),
    'infiniband.cm.req.localqkey': number('cm_req', 'qkey'),
    'infiniband.cm.req.localqpn': number('cm_req', 'qpn'),
    'infiniband.cm.req.responderres': number('cm_req', 'responder_resources'),
    'infiniband.cm.req.localeecn': number('cm_req', 'eecn'),
    'infiniband.cm.req.initdepth': number('cm_req', 'initiator_depth'),
    'infiniband.cm.req.remoteeecn': number('cm_req', 'remote_eecn'),
    'infiniband.cm.req.remoteresptout': number('cm_req', 'remote_resp_timeout'),
    'infiniband.cm.req.transpsvctype': number('cm_req', 'transport'),
    'infiniband.cm.req.e2eflowctrl': number('cm_req', 'flow_control'),
    'infiniband.cm.req.startpsn': number('cm_req', 'starting_psn'),
    'infiniband.cm.req.localresptout': number('cm_req', 'local_resp_timeout'),
    'infiniband.cm.req.retrcount': number('cm_req', 'retry_count'),
    'infiniband.cm.req.pkey': number('cm_req', 'pkey'),
    'infiniband.cm.req.pppmtu': number('cm_req', 'path_mtu'),
    'infiniband.cm.req.rdcexist': number('cm_req', 'rdc_exists'),
    'infiniband.cm.req.rnrretrcount': number('cm_req', 'rnr_retry_count'),
    'infiniband.cm.req.maxcmretr': number('cm_req', 'max_cm_retries'),
    'infiniband.cm.req.srq': number('cm_req', 'srq'),
    'infiniband.cm.req.ext_transport': number('cm_req', 'ext_transport'),
    'infiniband.cm.req.prim_locallid': number('cm_path', 'local_lid'),
    'infiniband.cm.req.prim_remotelid': number('cm_path', 'remote_lid'),
    'infiniband.cm.req.prim_localgid': gid('cm_path', 'local_gid'),
    'infiniband.cm.req.prim_localgid_ipv4': ipv4_in('cm_path', 'local_gid'),
    'infiniband.cm.req.prim_remotegid': gid('cm_path', 'remote_gid'),
    'infiniband.cm.req.prim_remotegid_ipv4': ipv4_in('cm_path', 'remote_gid'),
    'infiniband.cm.req.prim_flowlabel': number('cm_path', 'flow_label'),
    'infiniband.cm.req.prim_reserved0': number('cm_path', 'resv6'),
    'infiniband.cm.req.prim_pktrate': number('cm_path', 'packet_rate'),
    'infiniband.cm.req.prim_tfcclass': number('cm_path', 'traffic_class'),
    'infiniband.cm.req.prim_hoplim': number('cm_path', 'hop_limit'),
    'infiniband.cm.req.prim_sl': number('cm_path', 'sl'),
    'infiniband.cm.req.prim_subnetlocal': number('cm_path', 'subnet_local'),
    'infiniband.cm.req.prim_reserved1': number('cm_path', 'resv3'),
    'infiniband.cm.req.prim_localacktout': number('cm_path', 'ack_timeout'),
    'infiniband.cm.req.prim_reserved2': lambda layers: layers['cm_path']['sap'] << 2 | layers['cm_path']['resv2'],
    'infiniband.cm.req.alt_locallid': path('local_lid'),
    'infiniband.cm.req.alt_remotelid': path('remote_lid'),
    'infiniband.cm.req.alt_localgid': data('cm_req', 'alternate', 4, 20),
    'infiniband.cm.req.alt_remotegid': data('cm_req', 'alternate', 20, 36),
    'infiniband.cm.req.alt_flowlabel': path('flow_label'),
    'infiniband.cm.req.alt_reserved0': path('resv6'),
    'infiniband.cm.req.alt_pktrate': path('packet_rate'),
    'infiniband.cm.req.alt_tfcclass': path('traffic_class'),
    'infiniband.cm.req.alt_hoplim': path('hop_limit'),
    'infiniband.cm.req.alt_sl': path('sl'),
    'infiniband.cm.req.alt_subnetlocal': path('subnet_local'),
    'infiniband.cm.req.alt_reserved1': path('resv3'),
    'infiniband.cm.req.alt_localacktout': path('ack_timeout'),
    'infiniband.cm.req.ip_cm': data('cm_req', 'private_data'),
    'infiniband.cm.req.ip_cm.majv': number('cm_ip', 'major'),
    'infiniband.cm.req.ip_cm.minv': number('cm_ip', 'minor'),
    'infiniband.cm.req.ip_cm.ipv': number('cm_ip', 'ip_version'),
    'infiniband.cm.req.ip_cm.reserved': number('cm_ip', 'resv4'),
    'infiniband.cm.req.ip_cm.sport': number('cm_ip', 'src_port'),
    'infiniband.cm.req.ip_cm.sip4': ipv4_in('cm_ip', 'src'),
    'infiniband.cm.req.ip_cm.dip4': ipv4_in('cm_ip', 'dst'),
    'infiniband.cm.req.ip_cm.sip6': gid('cm_ip', 'src'),
    'infiniband.cm.req.ip_cm.dip6': gid('cm_ip', 'dst'),
    'infiniband.cm.req.ip_cm.private': data('cm_req', 'private_data', 36),
    'infiniband.cm.req.remoteqpneecn': number('cm_dreq', 'remote_qpn'),
    'infiniband.cm.rep': number('cm_rep', 'local_comm_id'),
    'infiniband.cm.rep.remotecommid': number('cm_rep', 'remote_comm_id'),
    'infiniband.cm.rep.localqkey': number('cm_rep', 'qkey'),
    'infiniband.cm.rep.localqpn': number('cm_rep', 'qpn'),
    'infiniband.cm.rep.localeecn': number('cm_rep', 'eecn'),
    'infiniband.cm.rep.startpsn': number('cm_rep', 'starting_psn'),
    'infiniband.cm.rep.respres': number('cm_rep', 'responder_resources'),
    'infiniband.cm.rep.initdepth': number('cm_rep', 'initiator_depth'),
    'infiniband.cm.rep.tgtackdelay': number('cm_rep', 'target_ack_delay'),
    'infiniband.cm.rep.failoveracc': number('cm_rep', 'failover'),
    'infiniband.cm.rep.e2eflowctrl': number('cm_rep', 'flow_control'),
    'infiniband.cm.rep.rnrretrcount': number('cm_rep', 'rnr_retry_count'),
    'infiniband.cm.rep.srq': number('cm_rep', 'srq'),
    'infiniband.cm.rep.reserved': number('cm_rep', 'resv4'),
    'infiniband.cm.rep.localcaguid': number('cm_rep', 'ca_guid'),
    'infiniband.cm.rep.private': data('cm_rep', 'private_data'),
    'infiniband.cm.rtu.localcommid': number('cm_rtu', 'local_comm_id'),
    'infiniband.cm.rtu.remotecommid': number('cm_rtu', 'remote_comm_id'),
    'infiniband.cm.rtu.private': data('cm_rtu', 'private_data'),
    'infiniband.cm.dreq.localcommid': number('cm_dreq', 'local_comm_id'),
    'infiniband.cm.dreq.remotecommid': number('cm_dreq', 'remote_comm_id'),
    'infiniband.cm.dreq.private': data('cm_dreq', 'private_data'),
    'infiniband.cm.drsp.localcommid': number('cm_drep', 'local_comm_id'),
    'infiniband.cm.drsp.remotecommid': number('cm_drep', 'remote_comm_id'),
    'infiniband.cm.drsp.private': data('cm_drep', 'private_data'),
    'infiniband.cm.rej.localcommid': number('cm_rej', 'local_comm_id'),
    'infiniband.cm.rej.remotecommid': number('cm_rej', 'remote_comm_id'),
    'infiniband.cm.rej.msgrej': number('cm_rej', 'rejected_message'),
    'infiniband.cm.rej.reserved0': number('cm_rej', 'resv6'),
    'infiniband.cm.rej.rejinfolen': number('cm_rej', 'info_bytes'),
    'infiniband.cm.rej.reserved1': number('cm_rej', 'resv1'),
    'infiniband.cm.rej.reason': number('cm_rej', 'reason'),
    'infiniband.cm.rej.ari': data('cm_rej', 'info'),
    'infiniband.cm.rej.private': data('cm_rej', 'private_data'),
}



def smc(field, shift=0, mask=~0):
    """Of the message of SMC-R in the packet: the first of its layers that has the field."""
    def of(layers):
        for key in layers:
            if key.startswith(('clc', 'llc', 'cdc')) and field in layers[key]:
                value = layers[key][field]
                if isinstance(value, int) or re.fullmatch('0x[0-9a-f]+', value):
                    return (int(str(value), 0) >> shift) & mask
                return value
        raise KeyError(field)
    return of


def smc_hex(field):
    """Bytes that tshark shows as a number."""
    return lambda layers: int(smc(field)(layers), 16)


def smc_text(field):
    """Text that tshark shows with the blanks behind it."""
    return lambda layers: smc(field)(layers).ljust(32)


def smc_ip(field):
    return lambda layers: ipaddress.ip_address('::ffff:' + smc(field)(layers))


def smc_v4(field):
    return lambda layers: ipaddress.ip_address(smc(field)(layers))


def flags(*fields):
    """Fields that lie one behind the other as one number: (name, width)."""
    def of(layers):
        value = 0
        for name, width in fields:
            value = value << width | smc(name)(layers)
        return value
    return of


def clc_flags(layers):
    """The last byte of a CLC header, by version."""
    if 'clc2_proposal' in layers:
        return flags(('version', 4), ('offer_v2', 2), ('offer_v1', 2))(layers)
    if 'clc2_accept' in layers or 'clc2_confirm' in layers:
        return flags(('version', 4), ('first_contact', 1), ('resv1', 1), ('chosen', 2))(layers)
    return flags(('version', 4), ('flag', 1), ('resv3', 3))(layers)


def clc_bit(layers):
    """F of an Accept or Confirm, S of a Decline."""
    return clc_flags(layers) >> 3 & 1


def clc_type(layers):
    return clc_flags(layers) & 3


LLC_FLAGS = {'confirm_link': (('response', 1), ('resv7', 7)),
             'add_link': (('response', 1), ('rejected', 1), ('resv6', 6)),
             'add_link_cont': (('response', 1), ('resv7', 7)),
             'delete_link': (('response', 1), ('all', 1), ('orderly', 1), ('resv5', 5))}
CDC_FLAGS = (('writer_blocked', 1), ('urgent_pending', 1), ('urgent_present', 1), ('update_requested', 1),
             ('failover_validation', 1), ('resv3', 3))
CDC_STATES = (('sending_done', 1), ('connection_closed', 1), ('abnormal_close', 1), ('resv5', 5))
FIELDS.update({
    'tcp.srcport': number('tcp', 'src_port'), 'tcp.dstport': number('tcp', 'dst_port'),
    'tcp.seq_raw': number('tcp', 'seq'), 'tcp.ack_raw': number('tcp', 'ack_seq'),
    'tcp.window_size_value': number('tcp', 'window'), 'tcp.checksum': number('tcp', 'checksum'),
    'tcp.urgent_pointer': number('tcp', 'urgent'), 'tcp.flags.cwr': number('tcp', 'cwr'),
    'tcp.flags.urg': number('tcp', 'urg'), 'tcp.flags.ack': number('tcp', 'ack'),
    'tcp.flags.push': number('tcp', 'psh'), 'tcp.flags.reset': number('tcp', 'rst'),
    'tcp.flags.syn': number('tcp', 'syn'), 'tcp.flags.fin': number('tcp', 'fin'),
    'tcp.hdr_len': lambda layers: 4 * layers['tcp']['data_offset'],
    'smc.llc_msg': smc('type'), 'smc.clc_msg': smc('type'), 'smc.length': smc('length'),
    'smc.rmbe.ctrl.seqno': smc('seq'), 'smc.rmbe.ctrl.alert.token': smc('alert_token'),
    'smc.rmbe.ctrl.conn.rw.status.flags': flags(*CDC_FLAGS),
    'smc.rmbe.ctrl.peer.conn.state.flags': flags(*CDC_STATES),
    'smc.rmbe.ctrl.write.blocked': smc('writer_blocked'), 'smc.rmbe.ctrl.urgent.pending': smc('urgent_pending'),
    'smc.rmbe.ctrl.urgent.present': smc('urgent_present'),
    'smc.rmbe.ctrl.cons.update.requested': smc('update_requested'),
    'smc.rmbe.ctrl.failover.validation': smc('failover_validation'),
    'smc.rmbe.ctrl.peer.sending.done': smc('sending_done'),
    'smc.rmbe.ctrl.peer.closed.conn': smc('connection_closed'),
    'smc.rmbe.ctrl.peer.abnormal.close': smc('abnormal_close'),
    'smc.proposal.smc.version': smc('version'), 'smc.proposal.smcv2.type': smc('offer_v2'),
    'smc.proposal.smc.type': clc_type, 'smc.proposal.sender.client.peer.id': smc_hex('peer_id'),
    'smc.proposal.smcv2_ext_offset': smc('v2_offset'), 'smc.proposal.eid.count': smc('eid_count'),
    'smc.proposal.ismv2_gid_count': smc('ism_count'), 'smc.proposal.smc.version.relnum': smc('release'),
    'smc.proposal.smc.seid': smc('has_seid'), 'smc.proposal.smcdv2_ext_offset': smc('smcd_offset'),
    'smc.proposal.extflags.2': flags(('release', 4), ('resv3', 3), ('has_seid', 1)),
    'smc.proposal.rocev2.gid.ipv4': lambda layers: ipaddress.ip_address(layers['clc2_extension']['gid']),
    'smc.proposal.eid': smc_text('eid'), 'smc.proposal.flags': clc_flags,
    'smc.proposal.first.contact': clc_bit,  # of an Accept, whatever it is called
    'smc.accept.flags': clc_flags, 'smc.confirm.flags': clc_flags, 'smc.confirm.first.contact': clc_bit,
    'smc.confirm.smc.type': clc_type,
    'smc.accept.flags.2': flags(('bsize', 4), ('mtu', 4)), 'smc.confirm.flags.2': flags(('bsize', 4), ('mtu', 4)),
    'smc.accept.rmb.buffer.size': smc('bsize'), 'smc.confirm.rmb.buffer.size': smc('bsize'),
    'smc.accept.qp.mtu.value': smc('mtu'), 'smc.confirm.qp.mtu.value': smc('mtu'),
    'smc.accept.initial.psn': smc('psn'), 'smc.initial.psn': smc('psn'),
    'smc.accept.sender.server.peer.id': smc_hex('peer_id'), 'smc.confirm.sender.client.peer.id': smc_hex('peer_id'),
    'smc.sender.peer.id': smc_hex('peer_id'),
    'smc.accept.server.preferred.gid': smc_ip('gid'), 'smc.client.gid': smc_ip('gid'),
    'smc.accept.server.preferred.mac': smc('mac'), 'smc.confirm.client.mac': smc('mac'),
    'smc.accept.server.qp.number': smc('qpn'), 'smc.confirm.client.qp.number': smc('qpn'),
    'smc.accept.server.rmb.rkey': smc('rkey'), 'smc.confirm.client.rmb.rkey': smc('rkey'),
    'smc.accept.server.tcp.conn.index': smc('rmbe_index'), 'smc.confirm.client.tcp.conn.index': smc('rmbe_index'),
    'smc.accept.server.rmb.element.alert.token': smc('alert_token'),
    'smc.client.rmb.element.alert.token': smc('alert_token'),
    'smc.accept.server.rmb.virtual.address': smc('va'), 'smc.client.rmb.virtual.address': smc('va'),
    'smc.accept.eid': smc_text('eid'), 'smc.confirm.eid': smc_text('eid'),
    'smc.accept.v2_lg.type': smc('direct'), 'smc.accept.fce1.flags': flags(('direct', 1), ('resv7', 7)),
    'smc.accept.os.type': smc('os'), 'smc.confirm.os.type': smc('os'),
    'smc.accept.smc.version.relnum': smc('release'), 'smc.confirm.smc.version.relnum': smc('release'),
    'smc.accept.fce.flags': flags(('os', 4), ('release', 4)),
    'smc.accept.peer.host.name': smc_text('host_name'), 'smc.confirm.peer.host.name': smc_text('host_name'),
    'smc.confirm.gid.list.entry_count': smc('gid_count'), 'smc.decline.osync': clc_bit,
    'smc.decline.flags': clc_flags, 'smc.decline.smc.version': smc('version'),
    'smc.proposal.client.preferred.gid': smc_ip('gid'), 'smc.proposal.client.preferred.mac': smc('mac'),
    'smc.proposal.smcv1_subnet_ext_offset': smc('offset'), 'smc.sender.gid': smc_ip('gid'),
    'smc.confirm.link.flags': flags(*LLC_FLAGS['confirm_link']), 'smc.confirm.link.response': smc('response'),
    'smc.confirm.link.max.links': smc('max_links'), 'smc.confirm.link.number': smc('link'),
    'smc.confirm.link.sender.link.userid': smc('link_user_id'), 'smc.confirm.link.sender.mac': smc('mac'),
    'smc.confirm.link.sender.qp.number': smc('qpn'),
    'smc.add.link.flags': flags(*LLC_FLAGS['add_link']), 'smc.add.link.response': smc('response'),
    'smc.add.link.response.rejected': smc('rejected'), 'smc.add.link.sender.mac': smc('mac'),
    'smc.add.link.sender.gid': smc_ip('gid'), 'smc.add.link.sender.qp.number': smc('qpn'),
    'smc.add.link.link.number': smc('link'), 'smc.add.link.flags2': flags(('resv4b', 4), ('mtu', 4)),
    'smc.add.link.qp.mtu.value': smc('mtu'), 'smc.add.link.initial.psn': smc('psn'),
    'smc.add.link.cont.flags': flags(*LLC_FLAGS['add_link_cont']), 'smc.add.link.cont.response': smc('response'),
    'smc.add.link.cont.link.number': smc('link'), 'smc.add.link.cont.rkey.number': smc('rtokens_left'),
    'smc.add.link.cont.rmb.RTok1.Rkey1': smc('reference_rkey_1'), 'smc.add.link.cont.rmb.RTok1.Rkey2': smc('rkey_1'),
    'smc.add.link.cont.rmb.RTok1.virt': smc('va_1'),
    'smc.delete.link.flags': flags(*LLC_FLAGS['delete_link']), 'smc.delete.link.response': smc('response'),
    'smc.delete.link.all': smc('all'), 'smc.delete.link.orderly': smc('orderly'),
    'smc.delete.link.number': smc('link'), 'smc.delete.link.reason.code': smc('reason'),
    'smc.decline.flags2': flags(('os', 4), ('resv4', 4)), 'smc.decline.os.type': smc('os'),
})

# one name of tshark for several fields: by their place in the message
PLACED = {
    ('smc.rmbe.ctrl.prod.wrap.seq', 10): smc('producer_wrap'),
    ('smc.rmbe.ctrl.peer.prod.curs', 12): smc('producer_cursor'),
    ('smc.rmbe.ctrl.prod.wrap.seq', 18): smc('consumer_wrap'),
    ('smc.rmbe.ctrl.peer.prod.curs', 20): smc('consumer_cursor'),
    ('smc.peer.diag.info', 16): smc('diagnosis'), ('smc.peer.diag.info', 24): smc('diagnosis_2'),
    ('smc.peer.diag.info', 28): smc('diagnosis_3'), ('smc.peer.diag.info', 32): smc('diagnosis_4'),
    ('smc.peer.diag.info', 36): smc('diagnosis_5'),
    ('smc.confirm.gid.list.entry', 160): lambda layers: ipaddress.ip_address('::ffff:' + layers['clc2_gid']['gid']),
    ('smc.confirm.gid.list.entry', 176): lambda layers: ipaddress.ip_address('::ffff:' + layers['clc2_gid_2']['gid']),
}
PLACED_NAMES = {name for name, _ in PLACED}

ADD_LINK = 'tshark knows only the layout of Linux: two bytes more behind the MAC address (SMCR 23 b, A5)'
RTOKENS = 'tshark takes RTokens from byte 6 of ADD LINK CONTINUATION, and not from 8 (SMCR 23 b, A5)'

# tshark is wrong in these: its name, and why
DIFFERENT = {
    'infiniband.cm.req.prim_flowlabel':
        'tshark takes 20 bits of 24, from the top of a word of 32: the label is cut (ROCE-CM-90)',
    'infiniband.cm.req.prim_reserved0': 'tshark takes bits of the flow label for the reserved ones (ROCE-CM-90)',
    'smc.add.link.sender.gid': ADD_LINK, 'smc.add.link.sender.qp.number': ADD_LINK,
    'smc.add.link.link.number': ADD_LINK,
    'smc.add.link.flags2': ADD_LINK, 'smc.add.link.qp.mtu.value': ADD_LINK, 'smc.add.link.initial.psn': ADD_LINK,
    'smc.add.link.cont.rmb.RTok1.Rkey1': RTOKENS, 'smc.add.link.cont.rmb.RTok1.Rkey2': RTOKENS,
    'smc.add.link.cont.rmb.RTok1.virt': RTOKENS,
    'infiniband.cm.req.prim_pktrate': 'tshark takes the last bits of the flow label for the rate (ROCE-CM-90)',
}

# no fields of a header: what tshark reckons from them, repeats under a second name, or only groups
DERIVED = re.compile(
    r'''(|_ws\..*|eth\..*(_resolved|oui|lg|ig)|eth\.addr|ip\.addr|ipv6\.addr|ip(v6)?\.(src_|dst_)?host
        |ip\.checksum\.status|ip\.ttl\.too_small|udp\.(port|stream|payload|time_.*|checksum\.(status|zero))
        |ipv6\.(opt|hopopts)\b.*          # of the neighbour discovery beside the packets
        |tcp\.(?!(srcport|dstport|seq_raw|ack_raw|hdr_len|window_size_value|checksum|urgent_pointer)$).*
        |smc\.reserved      # also what version 2.1 uses
        |infiniband\.vendor # a CNP's body and its ICRC, in pieces that mean nothing
        |infiniband\.(bth|deth|reth|atomiceth|aeth|atomicacketh|mad|mad\.data|smplid\.smpdata|payload))''',
    re.X)


def canonical(shown):
    """What tshark shows, as a number, an address or hex, whatever it looks like."""
    if re.fullmatch(r'-?\d+|0x[0-9a-fA-F]+', shown):
        return int(shown, 0)
    return shown


def is_equal(ours, field):
    shown = field.get('show') or ''
    if isinstance(ours, int):
        return canonical(shown) == ours
    if isinstance(ours, str):
        return shown.replace(':', '').lower() == ours.replace(':', '').lower()
    return ipaddress.ip_address(shown) == ours


# tshark has one name for reserved bytes everywhere: the header they lie in, their offset there, and ours. Those
# of CM messages (offsets of ROCE-CM-10, CM-14, CM-16) hold the vendor id in three places, which tshark does not
# name.
RESERVED = {
    ('infiniband.bth', 4): lambda layers: (layers['bth']['fecn'] << 7 | layers['bth']['becn'] << 6
                                           | layers['bth']['resv6']),
    ('infiniband.deth', 4): number('deth', 'resv8'),
    ('infiniband.mad', 18): number('mad', 'resv16'),
    ('cm_req', 4): lambda layers: layers['cm_req']['resv8'] << 24 | layers['cm_req']['vendor_id'],
    ('cm_req', 24): number('cm_req', 'resv32'),
    ('cm_rep', 15): number('cm_rep', 'vendor_id_high'),
    ('cm_rep', 19): number('cm_rep', 'vendor_id_mid'),
    ('cm_rep', 23): number('cm_rep', 'vendor_id_low'),
    ('cm_dreq', 11): number('cm_dreq', 'resv8'),
}
MAD_HEADER_BYTES = 24


def reserved(layers, headers, position):
    """Our value of the reserved bytes at `position`; `headers` says where each header begins."""
    header = max((h for h in headers if headers[h] <= position), key=headers.get)
    offset = position - headers[header]
    if header == 'infiniband.mad' and offset >= MAD_HEADER_BYTES:
        header = next(key for key in layers if key.startswith('cm_'))
        offset -= MAD_HEADER_BYTES
    return (header, offset), RESERVED[header, offset](layers)


def compare(number_of_packet, packet, ours):
    """The differences of one packet; what was compared goes into `used`."""
    layers, headers = ours['layers'], {}
    for proto in packet.findall('proto'):
        if proto.get('name') not in PROTOCOLS:
            continue
        for field in proto.iter('field'):
            name = field.get('name')
            if name in ('infiniband.bth', 'infiniband.deth', 'infiniband.mad'):
                headers[name] = int(field.get('pos'))
            elif name == 'infiniband.reserved':
                place, want = reserved(layers, headers, int(field.get('pos')))
                used_reserved.add(place)
                if int(field.get('value'), 16) != want:
                    yield name, 'tshark %s, nornic 0x%02x' % (field.get('show'), want)
            elif name == 'infiniband.invariant.crc' and is_cut and 'icrc' not in ours:
                continue
            elif name == 'infiniband.invariant.crc':
                # both show the bytes in the order in which they travel
                want = int(ours['icrc']['found'], 16)
                if int(field.get('show'), 0) != want:
                    yield name, 'tshark %s, nornic 0x%08x' % (field.get('show'), want)
            elif name in PLACED_NAMES:
                want = PLACED[name, int(field.get('pos')) - int(proto.get('pos'))](layers)
                used[name] = used.get(name, 0) + 1
                if not is_equal(want, field):
                    yield name, 'tshark %s, nornic %s' % (field.get('show'), want)
            elif name in FIELDS:
                used[name] = used.get(name, 0) + 1
                try:
                    want = FIELDS[name](layers)
                except KeyError as missing:
                    yield name, 'nornic has no %s' % missing
                    continue
                if not is_equal(want, field):
                    yield name, 'tshark %s, nornic %s' % (field.get('show'), want)
            elif not DERIVED.fullmatch(name):
                yield name, 'is in no list of this script'


is_cut = sys.argv[1] == '--cut'
pdml_path, json_path = sys.argv[1 + is_cut:]
used, used_reserved, differing, status, packets = {}, set(), {}, 0, 0
with open(json_path, encoding='utf-8') as f:
    mine = [line for line in map(json.loads, f) if 'n' in line]
for _, element in ElementTree.iterparse(pdml_path):
    if element.tag != 'packet':
        continue
    packets += 1
    for key, words in compare(packets, element, mine[packets - 1]):
        differing[key] = differing.get(key, 0) + 1
        if key not in DIFFERENT:
            status = 1
            if differing[key] <= 3:
                print('#%d: %s: %s' % (packets, key, words))
    element.clear()
if packets != len(mine):
    print('tshark has %d packets, nornic %d' % (packets, len(mine)))
    status = 1
for key in FIELDS:
    if key not in used and not is_cut:
        print('%s: in the list, and in no packet' % key)
        status = 1
for key in set() if is_cut else set(RESERVED) - used_reserved:
    print('reserved bytes of %s at %d: in the list, and in no packet' % key)
    status = 1
for key in DIFFERENT:
    if key not in differing and not is_cut:
        print('%s: does not differ any more' % key)
        status = 1
print('%d packets, %d fields of %d kinds compared; tshark is wrong in %d' %
      (packets, sum(used.values()), len(used), sum(differing.get(k, 0) for k in DIFFERENT)))
sys.exit(status)
