/** The host's side of a living guest: one connection for each program or file request. What arrives is hostile and bounded. */

import { connect as connectSocket, type Socket } from 'node:net';
import { constants } from 'node:os';
import { type Duplex, Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';
import type { EntryKind, FileEntry, Program, ProgramEvent, ProgramInfo, ProgramSpec, SandboxFiles, WatchEvent } from '../../living.ts';
import { encodeFrame, type Frame, type Frames, ProtocolViolation, readFrames } from './channel.ts';

/** What a sandbox may make the host hold for one listing. */
const maxEntries = 100_000;
const chunkBytes = 256 * 1024;

export interface GuestClient {
  start(spec: ProgramSpec): Promise<Program>;
  join(id: number, after: number): Promise<Program>;
  programs(): Promise<ProgramInfo[]>;
  signal(id: number, signal: number): Promise<void>;
  forget(id: number): Promise<void>;
  /** Whether any process is there, be it one that a program left when it ended. */
  isBusy(): Promise<boolean>;
  tunnel(port: number): Promise<Duplex>;
  readonly files: SandboxFiles;
}

/** `open` gives a connection to the guest, starting it when it does not run. */
export function createGuestClient(open: () => Promise<Duplex>): GuestClient {
  /** One request, whatever the guest answers until z. */
  const ask = async (type: string, payload: Buffer, id = 0): Promise<Frame[]> => {
    const socket = await open();
    try {
      socket.write(encodeFrame(type, payload, id));
      const frames: Frame[] = [];
      for await (const frame of readFrames(socket)) {
        if (frame.type === 'z') return frames;
        if (frame.type === '!') throw refusal(frame.payload);
        if (frames.push(frame) > maxEntries) throw new ProtocolViolation('too many entries');
      }
      throw gone();
    } catch (error) {
      throw translate(error);
    } finally {
      socket.destroy();
    }
  };

  const attach = async (type: string, payload: Buffer, id: number): Promise<Program> => {
    const socket = await open();
    socket.write(encodeFrame(type, payload, id));
    const frames = readFrames(socket);
    try {
      const first = await frames.next();
      if (first.done) throw gone();
      const { payload, type: answer } = first.value;
      if (answer === '!') throw refusal(payload);
      if (answer !== 'p' || payload.length !== 4) throw new ProtocolViolation('an answer out of turn');
      return createProgram(id, payload.readInt32LE(0), socket, frames, ask);
    } catch (error) {
      socket.destroy();
      throw translate(error);
    }
  };

  return {
    start: (spec) => attach('P', startPayload(spec), spec.id),
    join: (id, after) => attach('J', uint64(after), id),
    async programs() {
      return (await ask('L', empty)).map(parsed(parseProgram));
    },
    async signal(id, signal) {
      await ask('K', uint32(signal), id);
    },
    async isBusy() {
      try {
        await ask('K', uint32(0));
        return true;
      } catch (error) {
        if (error instanceof BoxError && error.code === 'not_found') return false;
        throw error;
      }
    },
    async forget(id) {
      await ask('Y', empty, id);
    },
    async tunnel(port) {
      const socket = await open();
      socket.write(encodeFrame('B', uint16(port), 0));
      await acknowledged(socket);
      return socket;
    },
    files: createFiles(open, ask),
  };
}

type Ask = (type: string, payload: Buffer, id?: number) => Promise<Frame[]>;

function createProgram(id: number, pid: number, socket: Duplex, frames: Frames, ask: Ask): Program {
  async function* events(): AsyncGenerator<ProgramEvent> {
    try {
      for await (const { type, payload } of frames) {
        const kind = outputKinds[type];
        if (kind) yield { type: kind, number: readNumber(payload), bytes: payload.subarray(8) };
        else if (type === 'm') yield { type: 'lost', before: readNumber(payload) };
        else if (type === 'q') {
          yield parseEnd(payload);
          return;
        } else if (type === '!') throw refusal(payload);
        // z answers what was written on this connection; there is nothing more to it.
        else if (type !== 'z' && type !== 'p') throw new ProtocolViolation(`an unknown frame ${JSON.stringify(type)}`);
      }
      throw gone();
    } catch (error) {
      throw translate(error);
    } finally {
      socket.destroy();
    }
  }
  return {
    id,
    pid,
    events: events(),
    async write(bytes) {
      for (let at = 0; at < bytes.length; at += chunkBytes) await ask('I', bytes.subarray(at, at + chunkBytes), id);
    },
    async closeStdin() {
      await ask('I', empty, id);
    },
    async resize(columns, rows) {
      await ask('W', Buffer.concat([uint16(columns), uint16(rows)]), id);
    },
    detach: () => void socket.destroy(),
  };
}

function createFiles(open: () => Promise<Duplex>, ask: Ask): SandboxFiles {
  const one = async (type: string, payload: Buffer): Promise<FileEntry> => {
    const entry = (await ask(type, payload)).find((frame) => frame.type === 'N');
    if (!entry) throw translate(new ProtocolViolation('no answer'));
    return parsed(parseEntry)(entry.payload);
  };
  return {
    stat: (path) => one('S', text(path)),
    async list(path, { depth = 1, limit = 10_000 } = {}) {
      return (await ask('T', Buffer.concat([uint32(depth), uint32(limit), text(path)]))).map(({ payload }) => parsed(parseEntry)(payload));
    },
    makeDir: (path) => one('M', Buffer.concat([uint32(0o755), text(path)])),
    move: (from, to) => one('R', Buffer.concat([text(from), text(to)])),
    async remove(path) {
      await ask('U', text(path));
    },
    async read(path, { offset = 0, limit = Number.MAX_SAFE_INTEGER } = {}) {
      const socket = await open();
      socket.write(encodeFrame('G', Buffer.concat([uint64(offset), uint64(limit), text(path)]), 0));
      const frames = readFrames(socket);
      try {
        const first = await frames.next();
        if (first.done) throw gone();
        if (first.value.type === '!') throw refusal(first.value.payload);
        const entry = parseEntry(first.value.payload);
        return { entry, content: Readable.from(contents(frames, socket), { objectMode: false }) };
      } catch (error) {
        socket.destroy();
        throw translate(error);
      }
    },
    async write(path, content, { mode = 0o644, append = false, mustBeNew = false } = {}) {
      const socket = await open();
      try {
        socket.write(encodeFrame('V', Buffer.concat([uint32(mode), uint32(Number(append) | (Number(mustBeNew) << 1)), text(path)]), 0));
        const frames = readFrames(socket);
        await expectDone(frames);
        // Read from now on: a guest that refuses, because the disk is full, says so in the middle and hangs up.
        const answer = frames.next();
        let answered = false;
        const over = answer.then(
          () => undefined,
          () => undefined,
        );
        void over.then(() => {
          answered = true;
        });
        for await (const chunk of pieces(content)) {
          if (answered) break;
          // Waits for the guest: a file larger than memory goes through in pieces.
          if (!socket.write(encodeFrame('D', chunk, 0))) await Promise.race([drained(socket), over]);
        }
        // What the content itself throws ends the connection before this, and the guest removes what it has.
        if (!answered) socket.write(encodeFrame('z', empty, 0));
        const { done, value } = await answer;
        if (done) throw gone();
        if (value.type === '!') throw refusal(value.payload);
        return parseEntry(value.payload);
      } catch (error) {
        throw translate(error);
      } finally {
        socket.destroy();
      }
    },
    async watch(path, { recursive, signal }) {
      const socket = await open();
      socket.write(encodeFrame('H', Buffer.concat([Buffer.from([Number(recursive)]), text(path)]), 0));
      const frames = readFrames(socket);
      try {
        await expectDone(frames);
      } catch (error) {
        socket.destroy();
        throw translate(error);
      }
      const stop = (): void => void socket.destroy();
      signal.addEventListener('abort', stop, { once: true });
      return changes(frames, socket, signal);
    },
  };
}

async function* changes(frames: Frames, socket: Duplex, signal: AbortSignal): AsyncGenerator<WatchEvent> {
  try {
    for await (const { type, payload } of frames) {
      const what = watchKinds[String.fromCharCode(payload[0] ?? 0)];
      if (type === 'h' && what) yield { type: what, path: payload.subarray(1, -1).toString('utf8') };
    }
  } catch (error) {
    if (!signal.aborted) throw translate(error);
  } finally {
    socket.destroy();
  }
}

async function* contents(frames: Frames, socket: Duplex): AsyncGenerator<Buffer> {
  try {
    for await (const { type, payload } of frames) {
      if (type === 'z') return;
      if (type === '!') throw refusal(payload);
      yield Buffer.from(payload);
    }
    throw gone();
  } catch (error) {
    throw translate(error);
  } finally {
    socket.destroy();
  }
}

async function* pieces(content: Buffer | Readable): AsyncGenerator<Buffer> {
  if (Buffer.isBuffer(content)) {
    for (let at = 0; at < content.length; at += chunkBytes) yield content.subarray(at, at + chunkBytes);
    return;
  }
  for await (const chunk of content as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; at += chunkBytes) yield chunk.subarray(at, at + chunkBytes);
  }
}

async function expectDone(frames: Frames): Promise<void> {
  const answer = await frames.next();
  if (answer.done) throw gone();
  if (answer.value.type === '!') throw refusal(answer.value.payload);
  if (answer.value.type !== 'z') throw new ProtocolViolation('an answer out of turn');
}

/** The header of the answer only: what follows is not ours to read. */
async function acknowledged(socket: Duplex): Promise<void> {
  const head = await readExactly(socket, 9);
  const body = await readExactly(socket, Math.min(head.readUInt32LE(0), 4096));
  if (head.readUInt8(4) === 'z'.charCodeAt(0)) return;
  socket.destroy();
  throw refusal(body);
}

function readExactly(socket: Duplex, length: number): Promise<Buffer> {
  if (length === 0) return Promise.resolve(empty);
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      const bytes = socket.read(length) as Buffer | null;
      if (bytes === null) return;
      cleanUp();
      if (bytes.length < length) reject(gone());
      else resolve(bytes);
    };
    const fail = (): void => {
      cleanUp();
      reject(gone());
    };
    const cleanUp = (): void => {
      socket.off('readable', attempt);
      socket.off('close', fail);
      socket.off('error', fail);
    };
    socket.on('readable', attempt);
    socket.on('close', fail);
    socket.on('error', fail);
    attempt();
  });
}

/** Also when there is nobody left who could read: then the answer says so. */
function drained(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}

export function connectTo(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket({ path });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      // Errors show in reading and writing; without a listener they would end the server.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

function startPayload({ argv, env, cwd, pty, stdin, tag = '' }: ProgramSpec): Buffer {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const flags = (pty ? 1 : 0) | (stdin ? 2 : 0);
  return Buffer.concat([
    uint32(flags),
    uint16(pty?.columns ?? 0),
    uint16(pty?.rows ?? 0),
    strings(argv),
    strings(variables),
    text(cwd),
    text(tag),
  ]);
}

const outputKinds: Record<string, 'stdout' | 'stderr' | 'pty'> = { o: 'stdout', e: 'stderr', t: 'pty' };
const watchKinds: Record<string, WatchEvent['type']> = { c: 'create', w: 'write', d: 'remove', r: 'rename', a: 'attributes' };
const entryKinds: Record<string, EntryKind> = { f: 'file', d: 'directory', l: 'symlink' };

function readNumber(payload: Buffer): number {
  if (payload.length < 8) throw new ProtocolViolation('a frame without its number');
  return Number(payload.readBigUInt64LE(0));
}

function parseEnd(payload: Buffer): ProgramEvent {
  if (payload.length !== 16) throw new ProtocolViolation('an end of the wrong size');
  const signal = payload.readInt32LE(12);
  return {
    type: 'end',
    number: readNumber(payload),
    exitCode: signal ? null : payload.readInt32LE(8),
    signal: signal ? signalName(signal) : null,
  };
}

function parseProgram({ type, payload, id }: Frame): ProgramInfo {
  if (type !== 'l' || payload.length < 33) throw new ProtocolViolation('a malformed program');
  const signal = payload.readInt32LE(9);
  const words = payload.subarray(33).toString('utf8').split('\0');
  const argc = payload.readUInt32LE(29);
  const ended = payload.readUInt8(4) === 1;
  return {
    id,
    pid: payload.readInt32LE(0),
    argv: words.slice(0, argc),
    cwd: words[argc] ?? '',
    tag: words[argc + 1] ?? '',
    startedAt: Number(payload.readBigUInt64LE(21)),
    ended,
    exitCode: ended && !signal ? payload.readInt32LE(5) : null,
    signal: signal ? signalName(signal) : null,
    lastNumber: Number(payload.readBigUInt64LE(13)),
  };
}

function parseEntry(payload: Buffer): FileEntry {
  if (payload.length < 31 || payload.at(-1) !== 0) throw new ProtocolViolation('a malformed entry');
  const [path = '', target = ''] = payload.subarray(29).toString('utf8').split('\0');
  return {
    path,
    kind: entryKinds[String.fromCharCode(payload.readUInt8(0))] ?? 'other',
    mode: payload.readUInt32LE(1),
    uid: payload.readUInt32LE(5),
    gid: payload.readUInt32LE(9),
    size: Number(payload.readBigUInt64LE(13)),
    modifiedAt: Number(payload.readBigInt64LE(21)),
    ...(target && { target }),
  };
}

/** errno → our own codes; the text is from inside and is shown as such. */
function refusal(payload: Buffer): BoxError {
  const errno = payload.length >= 4 ? payload.readUInt32LE(0) : 0;
  const said = payload.subarray(4, 512).toString('utf8');
  const { errno: numbers } = constants;
  if (errno === numbers.ENOENT || errno === numbers.ESRCH || errno === numbers.ENOTDIR) return new BoxError('not_found', said);
  if (errno === numbers.EEXIST) return new BoxError('already_exists', said);
  if (errno === numbers.ENOSPC || errno === numbers.EDQUOT)
    return new BoxError('quota_exceeded', `The disk of the sandbox is full: ${said}`, {
      hint: 'Remove files in it, or use a template with a larger disk.',
    });
  if (errno === numbers.EFBIG) return new BoxError('quota_exceeded', `The file is larger than the sandbox allows: ${said}`);
  if (errno === numbers.EAGAIN || errno === numbers.ENOMEM) return new BoxError('unavailable', `The sandbox is at its limit: ${said}`);
  return new BoxError('bad_request', said);
}

const gone = (): BoxError => new BoxError('unavailable', 'The sandbox went away.');

function translate(error: unknown): unknown {
  if (error instanceof BoxError) return error;
  if (error instanceof ProtocolViolation) return new BoxError('sandbox_failed', `The guest broke its protocol: ${error.message}`);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNREFUSED', 'ENOENT'].includes(code) ? gone() : error;
}

const parsed =
  <Given, Value>(parse: (given: Given) => Value) =>
  (given: Given): Value => {
    try {
      return parse(given);
    } catch (error) {
      throw translate(error);
    }
  };

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `SIG${number}`;
}

const empty = Buffer.alloc(0);
const text = (value: string): Buffer => Buffer.from(`${value}\0`);
const strings = (list: readonly string[]): Buffer => Buffer.concat([uint32(list.length), ...list.map(text)]);

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value & 0xffff);
  return bytes;
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
