/** The host's side of the guest's channel. What arrives is hostile: sizes are bounded, order is checked by the reader. */

import type { Duplex } from 'node:stream';

const headerBytes = 9;
/** The guest sends at most 64 KiB and a path in one frame. */
const maxIncoming = 128 * 1024;
/** What the guest takes in one frame; longer files go in pieces. */
export const maxOutgoing = 1024 * 1024;

export interface Frame {
  readonly type: string;
  readonly id: number;
  readonly payload: Buffer;
}

export class ProtocolViolation extends Error {}

export function encodeFrame(type: string, payload: Buffer, id = 1): Buffer {
  const head = Buffer.alloc(headerBytes);
  head.writeUInt32LE(payload.length, 0);
  head.writeUInt8(type.charCodeAt(0), 4);
  head.writeUInt32LE(id, 5);
  return Buffer.concat([head, payload]);
}

/** Frames of a socket until it ends. A loop that is left destroys the socket; `next` alone leaves what follows to the next reader. */
export interface Frames extends AsyncIterableIterator<Frame> {
  /** Rejects when the socket broke or the peer breaks the rules. */
  next(): Promise<IteratorResult<Frame, undefined>>;
}

/** The socket is paused while this much waits for the consumer. */
const mostWaiting = 512 * 1024;

export function readFrames(socket: Duplex): Frames {
  const ready: Frame[] = [];
  let pending: Buffer = Buffer.alloc(0);
  let waitingBytes = 0;
  let failure: Error | undefined;
  let ended = false;
  let wake: (() => void) | undefined;

  const settle = (): void => {
    wake?.();
    wake = undefined;
  };
  const take = (chunk: Buffer): void => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    let at = 0;
    while (pending.length - at >= headerBytes) {
      const length = pending.readUInt32LE(at);
      if (length > maxIncoming) {
        fail(new ProtocolViolation(`a frame of ${length} bytes`));
        return;
      }
      if (pending.length - at < headerBytes + length) break;
      const type = String.fromCharCode(pending.readUInt8(at + 4));
      ready.push({ type, id: pending.readUInt32LE(at + 5), payload: pending.subarray(at + headerBytes, at + headerBytes + length) });
      waitingBytes += headerBytes + length;
      at += headerBytes + length;
    }
    pending = pending.subarray(at);
    if (waitingBytes > mostWaiting) socket.pause();
    if (ready.length > 0) settle();
  };
  const fail = (error: Error): void => {
    failure ??= error;
    socket.destroy();
    settle();
  };
  const end = (): void => {
    ended = true;
    settle();
  };
  socket.on('data', take);
  socket.on('error', fail);
  socket.on('end', end);
  socket.on('close', end);

  return {
    async next() {
      for (;;) {
        const frame = ready.shift();
        if (frame) {
          waitingBytes -= headerBytes + frame.payload.length;
          if (waitingBytes <= mostWaiting / 2 && socket.isPaused()) socket.resume();
          return { done: false, value: frame };
        }
        if (failure) throw failure;
        if (ended) return { done: true, value: undefined };
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async return() {
      socket.destroy();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Makes a file of any length: one frame that creates it, more that append. */
export function fileFrames(path: string, data: Buffer, mode = 0o644): Buffer[] {
  const name = Buffer.from(`${path}\0`);
  const frames = [encodeFrame('F', Buffer.concat([uint32(mode), name, data.subarray(0, maxOutgoing)]))];
  for (let at = maxOutgoing; at < data.length; at += maxOutgoing) {
    frames.push(encodeFrame('A', Buffer.concat([name, data.subarray(at, at + maxOutgoing)])));
  }
  return frames;
}

export function startFrame(argv: readonly string[], env: Readonly<Record<string, string>>, cwd: string, logCap: number): Buffer {
  return encodeFrame('X', Buffer.concat([uint64(logCap), strings(argv), strings(variables(env)), Buffer.from(`${cwd}\0`)]));
}

/** Starts a program ahead of its job. */
export function prepareFrame(argv: readonly string[], env: Readonly<Record<string, string>>, cwd: string): Buffer {
  return encodeFrame('P', Buffer.concat([strings(argv), strings(variables(env)), Buffer.from(`${cwd}\0`)]));
}

export function jobFrame(env: Readonly<Record<string, string>>, logCap: number): Buffer {
  return encodeFrame('G', Buffer.concat([uint64(logCap), strings(variables(env))]));
}

export interface NestSettings {
  readonly bytes: number;
  readonly inodes: number;
  /** Paths below /sandbox that every run sees read-only. */
  readonly shown: readonly string[];
  readonly hiddenFiles: readonly string[];
  readonly hiddenFolders: readonly string[];
  readonly filter: Buffer;
}

/** The nest becomes an interpreter, which clones its runs from itself. */
export function becomeFrame(argv: readonly string[], env: Readonly<Record<string, string>>, cwd: string): Buffer {
  return encodeFrame('B', Buffer.concat([strings(argv), strings(variables(env)), Buffer.from(`${cwd}\0`)]));
}

export function nestFrame({ bytes, inodes, shown, hiddenFiles, hiddenFolders, filter }: NestSettings): Buffer {
  const lists = [shown, hiddenFiles, hiddenFolders].map(strings);
  return encodeFrame('N', Buffer.concat([uint64(bytes), uint64(inodes), ...lists, filter]));
}

export function killFrame(signal: number): Buffer {
  return encodeFrame('K', uint32(signal));
}

export function collectFrame(root: string, maxFiles: number, maxBytes: number, maxBytesPerFile: number): Buffer {
  return encodeFrame('C', Buffer.concat([uint32(maxFiles), uint64(maxBytes), uint64(maxBytesPerFile), Buffer.from(`${root}\0`)]));
}

export interface ExitReport {
  readonly code: number;
  readonly signal: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
}

export function parseExit(payload: Buffer): ExitReport {
  if (payload.length !== 32) throw new ProtocolViolation('an exit report of the wrong size');
  return {
    code: payload.readInt32LE(0),
    signal: payload.readInt32LE(4),
    cpuMs: recordable((payload.readBigUInt64LE(8) + payload.readBigUInt64LE(16)) / 1000n),
    peakBytes: recordable(payload.readBigUInt64LE(24) * 1024n),
  };
}

/** A database column would refuse more, and the record could never be written. */
const recordable = (value: bigint): number => Math.min(Number(value), Number.MAX_SAFE_INTEGER);

export interface EntryReport {
  readonly kind: string;
  readonly size: number;
  readonly path: string;
}

export function parseEntry(payload: Buffer): EntryReport {
  if (payload.length < 11 || payload.at(-1) !== 0) throw new ProtocolViolation('a malformed entry');
  const size = Number(payload.readBigUInt64LE(1));
  return { kind: String.fromCharCode(payload.readUInt8(0)), size, path: payload.subarray(9, -1).toString('utf8') };
}

const variables = (env: Readonly<Record<string, string>>): string[] => Object.entries(env).map(([name, value]) => `${name}=${value}`);

function strings(list: readonly string[]): Buffer {
  return Buffer.concat([uint32(list.length), ...list.map((text) => Buffer.from(`${text}\0`))]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(Math.max(0, Math.floor(value))));
  return bytes;
}
