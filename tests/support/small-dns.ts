/** A real DNS server on loopback that answers what a test wants, and can change its mind between two questions. */

import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';

export interface SmallDns {
  /** For SKILLBOX_EGRESS_DNS. */
  readonly address: string;
  /** Questions for A records so far. */
  readonly asked: string[];
  /** The addresses of a name; a list of lists answers question after question, the last one for ever. */
  set(name: string, ...answers: readonly (readonly string[])[]): void;
  stop(): Promise<void>;
}

export async function startDns(): Promise<SmallDns> {
  const names = new Map<string, (readonly string[])[]>();
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = questionOf(query);
    let addresses: readonly string[] = [];
    const list = names.get(name.toLowerCase());
    if (type === 1) asked.push(name);
    if (list) addresses = type === 1 && list.length > 1 ? (list.shift() ?? []) : (list[0] ?? []);
    const records = addresses.filter((address) => address.includes(':') === (type === 28));
    socket.send(answer(query, end, type, list !== undefined, records), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    asked,
    set: (name, ...answers) => void names.set(name, [...answers]),
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answer(query: Buffer, end: number, type: number, known: boolean, addresses: readonly string[]): Buffer {
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(known ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(addresses.length, 6);
  const records = addresses.map((address) => {
    const data = type === 1 ? Buffer.from(address.split('.').map(Number)) : ipv6(address);
    const record = Buffer.alloc(12);
    record.writeUInt16BE(0xc00c, 0);
    record.writeUInt16BE(type, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(0, 6);
    record.writeUInt16BE(data.length, 10);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([head, query.subarray(12, end), ...records]);
}

function ipv6(address: string): Buffer {
  const [first = '', last] = address.split('::');
  const words = (part: string): number[] => (part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16)));
  const head = words(first);
  const tail = last === undefined ? [] : words(last);
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}
