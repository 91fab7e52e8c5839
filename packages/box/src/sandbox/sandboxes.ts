/** What the rest of the box sees of living sandboxes: commands, the E2B face and the graph all go through this. */

import type { CreateSandbox, NetworkChoice, Page, RouteExplanation, Sandbox, SandboxState, Snapshot } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import type { SandboxHandle } from './living.ts';
import type { Telemetry } from './telemetry.ts';
import type { TimeLimit } from './time-limits.ts';

export interface Sandboxes {
  /** Resolves when it is ready; a provider that fails falls through to the next candidate. */
  create(caller: Caller, request: CreateSandbox): Promise<Sandbox>;
  /** 404 for what is another tenant's. */
  get(tenant: string, id: string): Promise<Sandbox>;
  list(filter: SandboxFilter): Promise<Page<Sandbox>>;
  /** Whosever it is; undefined when there is no such sandbox. It stays with its host for life. */
  hostOf(id: string): Promise<string | undefined>;
  destroy(caller: Caller, id: string, reason?: string): Promise<Sandbox>;
  /** The same template, labels and env, a fresh disk, the same id. */
  recreate(caller: Caller, id: string): Promise<Sandbox>;
  /** It ends that long from now; at most the template's maximum after its creation. */
  setTtl(caller: Caller, id: string, ttlMs: number): Promise<Sandbox>;
  /** Within what its template allows; administrators go beyond it. Without a choice it is the template's again. What is no longer allowed is cut. */
  setNetwork(caller: Caller, id: string, choice: NetworkChoice | undefined): Promise<Sandbox>;
  pause(caller: Caller, id: string): Promise<Sandbox>;
  resume(caller: Caller, id: string): Promise<Sandbox>;
  snapshot(caller: Caller, id: string, name?: string): Promise<Snapshot>;
  snapshots(tenant: string, filter: { sandbox?: string; limit: number; cursor?: string }): Promise<Page<Snapshot>>;
  removeSnapshot(caller: Caller, id: string): Promise<void>;
  /** The sandbox's disk becomes that of the snapshot; what ran in it ends. */
  restore(caller: Caller, id: string, snapshot: string): Promise<Sandbox>;
  fork(caller: Caller, id: string, options: { count: number; ttlMs?: number }): Promise<Sandbox[]>;
  /**
   * For exec, files, pty and ports: resumes what is paused, notes the use so that it does not count as idle. Call `done` when the
   * use is over. Throws not_found for what is gone, and for what is another tenant's.
   */
  use(tenant: string, id: string): Promise<{ readonly sandbox: Sandbox; readonly handle: SandboxHandle; done(): void }>;
  /** A new id for a program in it. */
  nextProgramId(id: string): number;
  /** Before a program starts: it is killed when that time is over, also after a restart of the server. */
  limitTime(id: string, program: number, ms: number | undefined): Promise<TimeLimit>;
  /** Which provider a create by this caller would get now, and why not the others. */
  explain(caller: Caller, template: string): Promise<RouteExplanation>;
  readonly telemetry: Telemetry;
}

export interface SandboxFilter {
  readonly tenant?: string;
  readonly states?: readonly SandboxState[];
  readonly template?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly limit: number;
  readonly cursor?: string;
}
