/** One living sandbox, by its id. */

import type { CallOptions, Connection } from './connection.ts';
import { everyItem } from './pages.ts';
import { type ExecOptions, type ExecResult, exec, ProgramHandle, type StartOptions, startProgram } from './programs.ts';
import { SandboxFiles } from './sandbox-files.ts';
import { openTerminal, type Terminal, type TerminalOptions } from './terminal.ts';
import type { BoxEvent, Page, PreviewLink, Program, Routes, Sandbox, SandboxMetrics, Snapshot } from './types.ts';

export type NetworkChange = Omit<Routes['PUT /v1/sandboxes/{id}/network']['input'], 'id'>;
export type ForkRequest = Omit<Routes['POST /v1/sandboxes/{id}/fork']['input'], 'id'>;
export type EventPage = Omit<Routes['GET /v1/sandboxes/{id}/events']['input'], 'id'>;

export class SandboxHandle {
  readonly id: string;
  readonly files: SandboxFiles;
  readonly #connection: Connection;

  constructor(connection: Connection, id: string) {
    this.id = id;
    this.files = new SandboxFiles(connection, id);
    this.#connection = connection;
  }

  get(options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('GET /v1/sandboxes/{id}', { id: this.id }, options);
  }

  /** Ends it and removes its disk. What is destroyed already stays so. */
  destroy(options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('DELETE /v1/sandboxes/{id}', { id: this.id }, options);
  }

  /** A fresh disk under the same id. */
  recreate(options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('POST /v1/sandboxes/{id}/recreate', { id: this.id }, options);
  }

  /** Time until it ends, from now: seconds, or a text such as 2h. */
  setTtl(ttl: number | string, options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('POST /v1/sandboxes/{id}/ttl', { id: this.id, ttl }, options);
  }

  /** What it reaches, while it lives. */
  setNetwork(change: NetworkChange, options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('PUT /v1/sandboxes/{id}/network', { id: this.id, ...change }, options);
  }

  /** Frees its memory, keeps its disk; the next use resumes it. */
  pause(options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('POST /v1/sandboxes/{id}/pause', { id: this.id }, options);
  }

  resume(options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('POST /v1/sandboxes/{id}/resume', { id: this.id }, options);
  }

  /** Keeps its disk as it is now. */
  snapshot(name?: string, options?: CallOptions): Promise<Snapshot> {
    return this.#connection.call('POST /v1/sandboxes/{id}/snapshots', { id: this.id, ...(name !== undefined && { name }) }, options);
  }

  /** Puts the disk of a snapshot into it. */
  restore(snapshot: string, options?: CallOptions): Promise<Sandbox> {
    return this.#connection.call('POST /v1/sandboxes/{id}/restore', { id: this.id, snapshot }, options);
  }

  /** Sandboxes that start from its disk: all of them or none. */
  async fork(request: ForkRequest = {}, options?: CallOptions): Promise<Sandbox[]> {
    return (await this.#connection.call('POST /v1/sandboxes/{id}/fork', { id: this.id, ...request }, options)).items;
  }

  /** What happened to it, oldest first. */
  events(query: EventPage = {}, options?: CallOptions): Promise<Page<BoxEvent>> {
    return this.#connection.call('GET /v1/sandboxes/{id}/events', { id: this.id, ...query }, options);
  }

  allEvents(query: EventPage = {}, options?: CallOptions): AsyncGenerator<BoxEvent> {
    return everyItem((next) => this.events(next, options), query);
  }

  /** What it uses, now and of late. */
  metrics(options?: CallOptions): Promise<SandboxMetrics> {
    return this.#connection.call('GET /v1/sandboxes/{id}/metrics', { id: this.id }, options);
  }

  /** A link to a server that listens in it, good for an hour without a key. */
  previewLink(port: number, options?: CallOptions): Promise<PreviewLink> {
    return this.#connection.call('POST /v1/sandboxes/{id}/ports/{port}/link', { id: this.id, port }, options);
  }

  /** Runs a line for bash, or words, and waits for the end. With onStdout or onStderr the output also comes as it is written. */
  exec(command: string | readonly string[], options: ExecOptions = {}): Promise<ExecResult> {
    return exec(this.#connection, this.id, command, options);
  }

  /** Starts a program, which goes on whether or not anybody listens. */
  start(command: string | readonly string[], options: StartOptions = {}): Promise<ProgramHandle> {
    return startProgram(this.#connection, this.id, command, options);
  }

  async programs(options?: CallOptions): Promise<Program[]> {
    return (await this.#connection.call('GET /v1/sandboxes/{id}/programs', { id: this.id }, options)).items;
  }

  /** One that was started before. */
  program(program: number): ProgramHandle {
    return new ProgramHandle(this.#connection, this.id, program);
  }

  /** A terminal in it, over a WebSocket. */
  pty(options: TerminalOptions = {}): Promise<Terminal> {
    return openTerminal(this.#connection, this.id, options);
  }
}
