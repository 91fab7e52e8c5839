/** Ports of this machine: whether somebody listens, and who. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';

export interface Listener {
  readonly port: number;
  /** undefined: another user's, which cannot be looked into. */
  readonly pid: number | undefined;
  readonly program: string | undefined;
}

const listening = '0A';

/** Somebody on this port of loopback or of all addresses. */
export function listenerOn(port: number): Listener | undefined {
  const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => socketsOn(file, port)));
  if (inodes.size === 0) return undefined;
  const pid = ownerOf(inodes);
  return { port, pid, program: pid === undefined ? undefined : nameOf(pid) };
}

export function describeListener({ port, pid, program }: Listener): string {
  const who = pid === undefined ? 'another program' : `${program ?? 'a program'} (pid ${pid})`;
  return `Port ${port} is in use by ${who}`;
}

/** Whether a connection is taken there. */
export function portAnswers(port: number, host: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const settle = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => settle(false));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}

/** 0.0.0.0, ::, 127.x.x.x, ::1 and the IPv4 addresses within IPv6, as /proc writes them: words of four bytes, the lowest first. */
const concerned = /^(00000000|[0-9A-F]{6}7F|0{32}|0{24}01000000|0{16}FFFF0000(00000000|[0-9A-F]{6}7F))$/;

function socketsOn(file: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return lines(file).flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const [, local = '', , state, , , , , , inode] = fields;
    const address = local.slice(0, -suffix.length);
    return state === listening && local.endsWith(suffix) && concerned.test(address) && inode ? [inode] : [];
  });
}

function lines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(1);
  } catch (error) {
    // A kernel without IPv6 has no such file.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function ownerOf(inodes: ReadonlySet<string>): number | undefined {
  const wanted = new Set([...inodes].map((inode) => `socket:[${inode}]`));
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    if (descriptorsOf(name).some((target) => wanted.has(target))) return Number(name);
  }
  return undefined;
}

function descriptorsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`);
      } catch {
        // Closed in the meantime.
        return '';
      }
    });
  } catch {
    // Gone, or another user's.
    return [];
  }
}

function nameOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // Gone in the meantime.
    return undefined;
  }
}
