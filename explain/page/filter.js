// SPDX-License-Identifier: BSD-2-Clause
// Expressions over the fields of a packet: the grammar and the meaning of explain/show/filter.h.
'use strict';

const compares = {
  '==': (a, b) => a === b, '!=': (a, b) => a !== b, '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b, '<': (a, b) => a < b, '>': (a, b) => a > b,
};
const quantities = {
  n: (i) => model.number[i], len: (i) => model.wire[i], flow: (i) => model.flow[i],
  connection: (i) => model.conn[i],
  message: (i) => model.message[i],
};

// Names of values are compared with blanks and dashes as _, in any case, "RDMA_" as it pleases.
const plainName = (name) => name.replace(/[^A-Za-z0-9]/g, '_').toLowerCase().replace(/rdma_/g, '');

function parseFilter(text) {
  let at = 0;
  const fail = (words) => { throw new SyntaxError(`${words} (at character ${at + 1})`); };
  const blanks = () => { while (/\s/.test(text[at] || '')) at++; };
  const accept = (token) => {
    blanks();
    if (!text.startsWith(token, at)) return false;
    at += token.length;
    return true;
  };
  const word = () => {
    blanks();
    const found = /^[A-Za-z0-9_:.\/]+/.exec(text.slice(at));
    return found ? found[0] : '';
  };

  function integer(field, name) {
    if (/^(0x[0-9a-f]+|[0-9]+)$/i.test(name)) return BigInt(name);
    for (const [value, known] of Object.entries((field && field.names) || {}))
      if (known !== null && value !== '*' && plainName(known) === plainName(name)) return BigInt(value);
    return fail('a number or the name of a value of this field is expected here');
  }

  function term() {
    const name = word();
    if (!name) fail('a layer or a field is expected here');
    if (name === 'finding') return findingTerm();
    const dot = name.indexOf('.');
    const quantity = Object.hasOwn(quantities, name) ? quantities[name] : null;
    const key = dot < 0 ? name : name.slice(0, dot);
    const header = !quantity && Object.hasOwn(tables.headers, key) ? tables.headers[key] : null;
    if (!quantity && !header) fail('no layer has this name');
    const field = header && dot >= 0 ? header.byName.get(name.slice(dot + 1)) : null;
    if (header && dot >= 0 && !field) fail('the layer has no field of this name');
    at += name.length;
    if (header && !field) return (i) => layoutOf(i).layers.some((l) => l.key === key);
    const token = Object.keys(compares).sort((a, b) => b.length - a.length).find(accept);
    if (field && field.isBytes) return addressTerm(key, field, token);
    const wanted = token ? integer(field, word()) : 0n;
    if (token) at += word().length;
    // doubles hold every value of up to 32 bits
    const small = Number(wanted), compare = compares[token || '!='];
    if (quantity) return (i) => compare(quantity(i), small);
    return (i) => layoutOf(i).layers.some((l) => {
      if (l.key !== key) return false;
      const value = fieldValue(i, l, field);
      return value !== undefined && compare(value, typeof value === 'bigint' ? wanted : small);
    });
  }

  // `finding`: any; `finding == timeout`: one of that kind.
  function findingTerm() {
    at += 'finding'.length;
    const token = ['==', '!=', '<', '>'].find(accept);
    if (!token) return (i) => model.worst[i] >= 0;
    if (token !== '==' && token !== '!=') fail('a finding can only be compared with == and !=');
    const kind = kindOf.get(word());
    if (kind === undefined) fail('the key of a finding is expected here, such as timeout');
    at += word().length;
    return (i) => hasFinding(i, kind) === (token === '==');
  }

  // 10.0.0.0/8, fd00::/8: the bytes of the address and how many bits of it count; null: it is none.
  function network(wanted) {
    const [address, length] = wanted.split('/');
    const v4 = address.split('.').map(Number);
    const isV4 = v4.length === 4 && v4.every((b) => b >= 0 && b <= 255);
    const bytes = isV4 ? v4 : ipv6Bytes(address), most = bytes ? bytes.length * 8 : 0, bits = Number(length);
    return bytes && /^\d+$/.test(length) && bits <= most ? { bytes, bits } : null;
  }

  function networkTerm(key, field, token, wanted) {
    const net = network(wanted);
    if (!net) fail('an address with the length of a prefix is expected here, such as 10.0.0.0/8');
    const matches = (bytes) => {
      if (bytes.length !== net.bytes.length) return false;
      for (let bit = 0; bit < net.bits; bit++)
        if ((bytes[bit >> 3] ^ net.bytes[bit >> 3]) & 0x80 >> (bit & 7)) return false;
      return true;
    };
    return (i) => layoutOf(i).layers.some((l) => l.key === key && matches(fieldBytes(i, l, field)) === (token === '=='));
  }

  function addressTerm(key, field, token) {
    if (token !== '==' && token !== '!=') fail('an address can only be compared with == and !=');
    const wanted = word().toLowerCase();
    if (!wanted) fail('an address is expected here');
    at += wanted.length;
    if (wanted.includes('/')) return networkTerm(key, field, token, wanted);
    return (i) => layoutOf(i).layers.some((l) => l.key === key &&
      (bareText(i, l, field) === wanted) === (token === '=='));
  }

  function unary() {
    if (accept('!')) {
      const inner = unary();
      return (i) => !inner(i);
    }
    if (!accept('(')) return term();
    const inner = either();
    if (!accept(')')) fail('a ) is missing here');
    return inner;
  }

  function both() {
    const parts = [unary()];
    while (accept('&&')) parts.push(unary());
    return parts.length === 1 ? parts[0] : (i) => parts.every((part) => part(i));
  }

  function either() {
    const parts = [both()];
    while (accept('||')) parts.push(both());
    return parts.length === 1 ? parts[0] : (i) => parts.some((part) => part(i));
  }

  const matches = either();
  blanks();
  if (at < text.length) fail('&& or || is expected here');
  return matches;
}
