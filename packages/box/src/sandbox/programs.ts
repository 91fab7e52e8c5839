/** Programs in a living sandbox as callers ask for them: a line for the shell or words, a time limit, bounded output. */

import { constants } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import { BoxError } from '@skillbox/protocol';
import type { Program, ProgramEvent, ProgramSpec, SandboxHandle } from './living.ts';

export const homeFolder = '/home/user';

export interface ProgramRequest {
  /** A line for bash, or words. */
  readonly cmd?: string | undefined;
  readonly argv?: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: boolean;
  readonly pty?: { readonly columns: number; readonly rows: number } | undefined;
  readonly tag?: string | undefined;
}

export function programSpec(id: number, { cmd, argv, env, cwd, stdin, pty, tag }: ProgramRequest): ProgramSpec {
  return {
    id,
    argv: argvOf(cmd, argv),
    env: { ...defaultEnv, ...(pty && { TERM: 'xterm-256color' }), ...env },
    cwd,
    stdin: stdin || pty !== undefined,
    ...(pty && { pty }),
    ...(tag !== undefined && { tag }),
  };
}

export const defaultEnv = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: homeFolder, USER: 'user', LANG: 'C.UTF-8' };

function argvOf(cmd: string | undefined, argv: readonly string[] | undefined): readonly string[] {
  if ((cmd === undefined) === (argv === undefined)) throw new BoxError('bad_request', 'Give either cmd or argv.');
  if (cmd !== undefined) return ['/bin/bash', '-lc', cmd];
  const words = argv ?? [];
  // The guest starts what has a path; a bare name is looked up by env.
  return words[0]?.includes('/') ? words : ['/usr/bin/env', '--', ...words];
}

export interface ProgramResult {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Reads to the end, keeping `limit` bytes of each stream. Rejects with the signal's reason when the reader gives up first. */
export async function collect(program: Program, limit: number, signal: AbortSignal): Promise<ProgramResult> {
  const kept = { stdout: boundedText(limit), stderr: boundedText(limit) };
  const stop = (): void => program.detach();
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const event of program.events) {
      if (event.type === 'end') {
        return { exitCode: event.exitCode, signal: event.signal, stdout: kept.stdout.finish(), stderr: kept.stderr.finish() };
      }
      if (event.type === 'lost') kept.stdout.mark('\n[some output was lost]\n');
      else kept[event.type === 'stderr' ? 'stderr' : 'stdout'].add(event.bytes);
    }
    throw new BoxError('sandbox_failed', 'The sandbox went away while the program ran.');
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function boundedText(limit: number) {
  const decoder = new StringDecoder('utf8');
  let text = '';
  let size = 0;
  return {
    add(bytes: Buffer): void {
      const rest = Math.max(0, limit - size);
      size += bytes.length;
      if (rest > 0) text += decoder.write(bytes.subarray(0, rest));
    },
    mark(remark: string): void {
      text += remark;
    },
    finish(): string {
      if (size <= limit) return text + decoder.end();
      return `${text}\n[${size - limit} more bytes were left out]\n`;
    },
  };
}

/** To write to, resize: nothing of its output is wanted. Throws not_found when there is no such program. */
export async function withProgram<T>(handle: SandboxHandle, id: number, work: (program: Program) => Promise<T>): Promise<T> {
  const program = await handle.join(id, Number.MAX_SAFE_INTEGER);
  try {
    return await work(program);
  } finally {
    program.detach();
  }
}

export type Encoding = 'text' | 'base64';

export interface OutputEvent {
  readonly id: string;
  readonly event: 'stdout' | 'stderr' | 'pty' | 'lost' | 'end' | 'error';
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Events with ids to go on from. A character that two pieces of output share is held back until it is whole; its first
 * bytes travel in the id, so that who resumes there gets the whole character too.
 */
export async function* outputEvents(events: AsyncIterable<ProgramEvent>, encoding: Encoding, from: Position): AsyncGenerator<OutputEvent> {
  const held = { stdout: from.stdout, stderr: from.stderr };
  let number = from.number;
  const id = (): string =>
    held.stdout.length + held.stderr.length === 0 ? String(number) : `${number}-${hex(held.stdout)}-${hex(held.stderr)}`;
  try {
    for await (const event of events) {
      if (event.type === 'lost') {
        number = Math.max(number, event.before - 1);
        yield { id: id(), event: 'lost', data: { before: event.before } };
        continue;
      }
      number = event.number;
      if (event.type === 'end') {
        yield { id: id(), event: 'end', data: { exit_code: event.exitCode, signal: event.signal } };
        return;
      }
      if (event.type === 'pty' || encoding === 'base64') {
        yield { id: id(), event: event.type, data: { base64: event.bytes.toString('base64') } };
        continue;
      }
      const bytes = Buffer.concat([held[event.type], event.bytes]);
      const whole = wholeCharacters(bytes);
      held[event.type] = bytes.subarray(whole);
      yield { id: id(), event: event.type, data: { text: bytes.toString('utf8', 0, whole) } };
    }
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    yield { id: id(), event: 'error', data: { error: error.code, message: error.message } };
  }
}

/** Where a reader of output stands: the last number it has, and bytes of characters that were not whole yet. */
export interface Position {
  readonly number: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** From Last-Event-ID; what is not an id of ours starts at the beginning. */
export function positionOf(id: string | undefined): Position {
  const match = /^(\d{1,15})(?:-([0-9a-f]{0,6})-([0-9a-f]{0,6}))?$/.exec(id ?? '');
  return { number: Number(match?.[1] ?? 0), stdout: Buffer.from(match?.[2] ?? '', 'hex'), stderr: Buffer.from(match?.[3] ?? '', 'hex') };
}

const hex = (bytes: Buffer): string => bytes.toString('hex');

/** How many of these bytes come before a character that is cut off at the end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte < 0xc0) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** SIGTERM, TERM or 15. */
export function signalNumber(given: string | number): number {
  const name = String(given).toUpperCase();
  const number = /^\d+$/.test(name)
    ? Number(name)
    : constants.signals[(name.startsWith('SIG') ? name : `SIG${name}`) as keyof typeof constants.signals];
  if (number !== undefined && number > 0 && number < 65) return number;
  throw new BoxError('bad_request', `${JSON.stringify(String(given))} is not a signal.`);
}
