/** Which ports something listens on inside, read from /proc/net/tcp: the kernel's own list, whatever provider made the sandbox. */

export interface Listening {
  readonly port: number;
  /** As far as others inside reach it: only itself, or every address it has. */
  readonly address: string;
}

const listens = '0A';

export function parseListening(...tables: readonly string[]): Listening[] {
  const found = new Map<number, Listening>();
  for (const line of tables.flatMap((table) => table.split('\n'))) {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const [address = '', hex = ''] = local.split(':');
    if (state !== listens || !/^[0-9A-F]{4}$/i.test(hex)) continue;
    const port = Number.parseInt(hex, 16);
    if (!found.has(port)) found.set(port, { port, address: addressOf(address) });
  }
  return [...found.values()].sort((one, other) => one.port - other.port);
}

function addressOf(hex: string): string {
  if (/^0+$/.test(hex)) return 'every address';
  // Little-endian, as the machines that it runs on.
  if (hex.length === 8)
    return (hex.match(/../g) ?? [])
      .reverse()
      .map((byte) => Number.parseInt(byte, 16))
      .join('.');
  return hex.endsWith('01000000') ? '::1' : 'IPv6';
}
