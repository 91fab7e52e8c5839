/** Programs in a sandbox: started, followed, fed, signalled. */

import type { Bytes, CallOptions, Connection } from './connection.ts';
import { SkillboxError } from './errors.ts';
import { type FollowOptions, follow, readEvents, type ServerEvent } from './event-stream.ts';
import type { Program, ProgramEvent, ProgramResult, Routes } from './types.ts';

type ExecInput = Routes['POST /v1/sandboxes/{id}/programs']['input'];

export interface StartOptions extends Omit<ExecInput, 'id' | 'cmd' | 'argv' | 'wait'>, CallOptions {}

export interface ExecOptions extends StartOptions {
  onStdout?(text: string): void;
  onStderr?(text: string): void;
}

/** How a program ended. timed_out is only known when the output was not streamed. */
export type ExecResult = Omit<ProgramResult, 'timed_out'> & { readonly timed_out?: boolean };

export interface OutputOptions extends FollowOptions {
  /** base64 holds every byte that a program writes. Default: text. */
  readonly encoding?: 'text' | 'base64';
  /** false: end with what there is so far. */
  readonly follow?: boolean;
}

/** `stdout` and `stderr` with text or base64, `pty` with base64, `lost`, `end` with exit_code and signal. */
export type ProgramOutput = ServerEvent<ProgramEvent>;

export async function exec(
  connection: Connection,
  id: string,
  command: string | readonly string[],
  options: ExecOptions,
): Promise<ExecResult> {
  const { onStdout, onStderr, ...rest } = options;
  if (onStdout || onStderr) return (await startProgram(connection, id, command, rest)).wait({ onStdout, onStderr, signal: options.signal });
  const { input, call } = requestOf(id, command, rest);
  return connection.call('POST /v1/sandboxes/{id}/programs', { ...input, wait: true }, { timeoutMs: 0, ...call });
}

export async function startProgram(
  connection: Connection,
  id: string,
  command: string | readonly string[],
  options: StartOptions,
): Promise<ProgramHandle> {
  const { input, call } = requestOf(id, command, options);
  const { program_id, pid } = await connection.call('POST /v1/sandboxes/{id}/programs', { ...input, wait: false }, call);
  return new ProgramHandle(connection, id, program_id, pid);
}

/** What belongs to the program, and what to the call that starts it. */
function requestOf(id: string, command: string | readonly string[], options: StartOptions): { input: ExecInput; call: CallOptions } {
  const { signal, timeoutMs, maxRetries, idempotencyKey, ...input } = options;
  const call = { signal, maxRetries, idempotencyKey, ...(timeoutMs !== undefined && { timeoutMs }) };
  return { input: { id, ...input, ...(typeof command === 'string' ? { cmd: command } : { argv: [...command] }) }, call };
}

export class ProgramHandle {
  readonly sandbox: string;
  readonly program: number;
  /** Known to whoever started it. */
  readonly pid: number | undefined;
  readonly #connection: Connection;

  constructor(connection: Connection, sandbox: string, program: number, pid?: number) {
    this.sandbox = sandbox;
    this.program = program;
    this.pid = pid;
    this.#connection = connection;
  }

  get #which(): { id: string; program: number } {
    return { id: this.sandbox, program: this.program };
  }

  get(options?: CallOptions): Promise<Program> {
    return this.#connection.call('GET /v1/sandboxes/{id}/programs/{program}', this.#which, options);
  }

  /** Its output from the beginning, or after `lastEventId`, until it has ended; goes on by itself where a connection broke. */
  async *output({ encoding, follow: toEnd = true, ...options }: OutputOptions = {}): AsyncGenerator<ProgramOutput> {
    const input = { ...this.#which, ...(encoding && { encoding }) };
    if (!toEnd) {
      const headers: Record<string, string> = options.lastEventId === undefined ? {} : { 'Last-Event-ID': options.lastEventId };
      const route = 'GET /v1/sandboxes/{id}/programs/{program}/events';
      const { body } = await this.#connection.open(route, { ...input, follow: false }, { ...options, headers });
      yield* readEvents<ProgramEvent>(body as ReadableStream<Uint8Array>);
      return;
    }
    const isLast = ({ event }: ProgramOutput): boolean => event === 'end' || event === 'error';
    for await (const event of follow(this.#connection, 'GET /v1/sandboxes/{id}/programs/{program}/events', input, isLast, options)) {
      if (event.event === 'error')
        throw new SkillboxError(event.data.error ?? 'sandbox_failed', event.data.message ?? 'The sandbox went away.');
      yield event;
    }
  }

  /** Its output and how it ended. */
  async wait({ onStdout, onStderr, ...options }: Pick<ExecOptions, 'onStdout' | 'onStderr'> & FollowOptions = {}): Promise<ExecResult> {
    const said = { stdout: '', stderr: '' };
    const decoder = new TextDecoder();
    for await (const { event, data } of this.output(options)) {
      if (event === 'end') {
        const { exit_code = null, signal = null } = data;
        return { program_id: this.program, pid: this.pid ?? 0, ended: true, exit_code, signal, ...said };
      }
      const text = data.text ?? (data.base64 === undefined ? '' : decoder.decode(fromBase64(data.base64), { stream: true }));
      const stream = event === 'stderr' ? 'stderr' : 'stdout';
      said[stream] += text;
      (stream === 'stderr' ? onStderr : onStdout)?.(text);
    }
    throw new SkillboxError('sandbox_failed', 'The output ended before the program.');
  }

  /** Bytes or text for its stdin; start it with stdin: true. */
  write(data: Bytes, options?: CallOptions): Promise<undefined> {
    return this.#connection.call('POST /v1/sandboxes/{id}/programs/{program}/stdin', this.#which, { ...options, body: data });
  }

  closeStdin(options?: CallOptions): Promise<undefined> {
    return this.#connection.call('DELETE /v1/sandboxes/{id}/programs/{program}/stdin', this.#which, options);
  }

  /** To it and what it started. Default: SIGTERM. */
  kill(signal: string | number = 'SIGTERM', options?: CallOptions): Promise<undefined> {
    return this.#connection.call('POST /v1/sandboxes/{id}/programs/{program}/signal', { ...this.#which, signal }, options);
  }

  /** Its terminal. */
  resize(cols: number, rows: number, options?: CallOptions): Promise<undefined> {
    return this.#connection.call('POST /v1/sandboxes/{id}/programs/{program}/resize', { ...this.#which, cols, rows }, options);
  }
}

export const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
