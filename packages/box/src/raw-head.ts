import type { OutgoingHttpHeaders } from 'node:http';

/** A head for a connection that has no answer of Node's to write to. */
export function rawHead(status: number, reason: string, headers: OutgoingHttpHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((item) => (item === undefined ? [] : [`${name}: ${item}`])),
  );
  return `HTTP/1.1 ${status} ${reason.replace(/[^\x20-\x7e]/g, '')}\r\n${lines.map((line) => `${line.replace(/[\r\n]/g, '')}\r\n`).join('')}\r\n`;
}
