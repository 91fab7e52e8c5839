/** The contract of providers for sandboxes that live: provisioned, used through programs, files and ports, paused, torn down. */

import type { Duplex, Readable } from 'node:stream';
import { BoxError } from '@skillbox/protocol';

export const capabilities = [
  'exec',
  'pty',
  'files',
  'watch',
  'ports',
  'snapshot',
  'fork',
  'pause',
  'memory-snapshot',
  'metrics',
  'workspace',
] as const;
export type Capability = (typeof capabilities)[number];
export type NetworkMode = 'none' | 'allow' | 'full';

export interface LivingProvider {
  readonly name: string;
  /** trusted: what runs there is not held back by us, and only administrators may use it. */
  readonly tier: 'namespaces' | 'gvisor' | 'microvm' | 'container' | 'remote' | 'trusted';
  /** here: on this machine; machines: on others of the operator's; metered: paid for by the hour. */
  readonly location: 'here' | 'machines' | 'metered';
  readonly capabilities: ReadonlySet<Capability>;
  readonly networks: ReadonlySet<NetworkMode>;
  /** `hint`: what mends it. */
  health(): Promise<{ readonly healthy: boolean; readonly detail: string; readonly hint?: string }>;
  /** Makes it; what it returns is stored with the sandbox and names it from then on. Undoes itself when it fails. */
  provision(spec: SandboxSpec): Promise<ProviderRef>;
  /** Costs nothing: the sandbox is reached when something is asked of it. */
  open(ref: ProviderRef, spec: SandboxSpec): SandboxHandle;
  /** Everything of ours it holds, for the sweep of what no record owns. Throws IncompleteList when it cannot see all of it. */
  list(): Promise<readonly HeldSandbox[]>;
  /** Removes a snapshot that no sandbox needs any more. */
  removeSnapshot(snapshot: string): Promise<void>;
  close(): Promise<void>;
  /** Provisions and starts one before it is known for whom: `spec` has neither tenant nor env. Without it every create waits for its own. */
  makeAhead?(spec: SandboxSpec): Promise<SandboxAhead>;
  /** Ends what runs in sandboxes whose disks have outgrown their limit, or fill the host; tells which. For those that cannot refuse the bytes. */
  endOvergrown?(): Promise<readonly Overgrown[]>;
}

/** It is nobody's, and nothing of anybody is in it. */
export interface SandboxAhead {
  readonly ref: ProviderRef;
  readonly handle: SandboxHandle;
  /** Resolves when it has ended by itself, and when it is handed over. */
  readonly ended: Promise<void>;
  /** It runs, and its disk is there. */
  isWhole(): boolean;
  readMemory(): number;
  /** It is somebody's from here on; who opens it next says whose. */
  handOver(): void;
}

export interface Overgrown {
  readonly sandbox: string;
  readonly used_bytes: number;
  readonly files: number;
  readonly limit_bytes: number;
  /** reserve: the host itself has too little left. */
  readonly reason: 'limit' | 'reserve';
}

export interface HeldSandbox {
  readonly sandbox: string;
  readonly ref: ProviderRef;
}

/** Some of a provider's places do not answer: what the others hold, and no word on what is not there. */
export class IncompleteList extends BoxError {
  constructor(
    readonly held: readonly HeldSandbox[],
    cause: Error,
  ) {
    super('unavailable', `Not everything could be looked at: ${cause.message}`, { cause });
  }
}

/** JSON of the provider's own; what it says of endpoints is shown with the sandbox. */
export type ProviderRef = Readonly<Record<string, unknown>> & { readonly endpoints?: readonly Endpoint[] };

/** A server that is there from the start. */
export interface Endpoint {
  readonly service: string;
  /** What `connect` takes. */
  readonly port: number;
  /** A line for a shell that makes the server reachable without the box. */
  readonly tunnel: string | null;
}

export interface SandboxSpec {
  readonly id: string;
  readonly tenant: string;
  readonly limits: LivingLimits;
  readonly network: NetworkMode;
  readonly env: Readonly<Record<string, string>>;
  /** Programs inside trust the box's certificate authority. */
  readonly trustsBox?: boolean;
  /** It is the workspace: the provider gives it the folders that the box has told it of. No path of the host travels here. */
  readonly workspace?: boolean;
  /** Start from the disk of this snapshot. */
  readonly snapshot?: string;
  /** Image, host, compose file: what the template says to its provider. */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface LivingLimits {
  readonly memoryBytes: number;
  readonly cpu: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly diskBytes: number;
  /** Size of /tmp, which is memory. */
  readonly tmpBytes: number;
}

export interface SandboxHandle {
  /** Reachable, not tested. */
  waitReady(signal: AbortSignal): Promise<void>;
  start(program: ProgramSpec): Promise<Program>;
  /** Output after that number, then what comes. Throws not_found when there is no such program. */
  join(id: number, after: number): Promise<Program>;
  programs(): Promise<ProgramInfo[]>;
  signal(id: number, signal: number): Promise<void>;
  /** Everything that runs, at once. */
  endAll(): Promise<void>;
  readonly files: SandboxFiles;
  /** Bytes to and from 127.0.0.1:port inside. */
  connect(port: number): Promise<Duplex>;
  metrics(): Promise<SandboxMetrics>;
  /** The disk as it is now, under this name. */
  snapshot(name: string): Promise<void>;
  /** Frees the memory, keeps the disk. Resuming is using it. */
  pause(): Promise<void>;
  /** Whether something runs in it; where the provider can see it, also what a program left when it ended. */
  isActive(): Promise<boolean>;
  /** Idempotent. */
  teardown(): Promise<void>;
}

export interface ProgramSpec {
  /** Chosen by the caller, above 0, unique in the sandbox. */
  readonly id: number;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: boolean;
  readonly pty?: { readonly columns: number; readonly rows: number };
  readonly tag?: string;
}

export interface Program {
  readonly id: number;
  readonly pid: number;
  /** Ends with `end`, unless the sandbox goes away first; then it throws. */
  readonly events: AsyncIterable<ProgramEvent>;
  write(bytes: Buffer): Promise<void>;
  closeStdin(): Promise<void>;
  resize(columns: number, rows: number): Promise<void>;
  /** Stops listening; the program goes on. */
  detach(): void;
}

export type ProgramEvent =
  | { readonly type: 'stdout' | 'stderr' | 'pty'; readonly number: number; readonly bytes: Buffer }
  | { readonly type: 'lost'; readonly before: number }
  | { readonly type: 'end'; readonly number: number; readonly exitCode: number | null; readonly signal: string | null };

export interface ProgramInfo {
  readonly id: number;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly tag: string;
  readonly startedAt: number;
  readonly ended: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly lastNumber: number;
}

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

export interface FileEntry {
  readonly path: string;
  readonly kind: EntryKind;
  readonly size: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedAt: number;
  readonly target?: string;
}

/** Paths are absolute, as the inside sees them. Missing → not_found; there already → already_exists. */
export interface SandboxFiles {
  stat(path: string): Promise<FileEntry>;
  list(path: string, options?: { readonly depth?: number; readonly limit?: number }): Promise<FileEntry[]>;
  read(
    path: string,
    range?: { readonly offset?: number; readonly limit?: number },
  ): Promise<{ readonly entry: FileEntry; readonly content: Readable }>;
  /** Appears whole or not at all. */
  write(
    path: string,
    content: Buffer | Readable,
    options?: { readonly mode?: number; readonly append?: boolean; readonly mustBeNew?: boolean },
  ): Promise<FileEntry>;
  makeDir(path: string): Promise<FileEntry>;
  move(from: string, to: string): Promise<FileEntry>;
  /** With everything in it. */
  remove(path: string): Promise<void>;
  watch(path: string, options: { readonly recursive: boolean; readonly signal: AbortSignal }): Promise<AsyncIterable<WatchEvent>>;
}

export interface WatchEvent {
  readonly type: 'create' | 'write' | 'remove' | 'rename' | 'attributes';
  /** Relative to the watched folder. */
  readonly path: string;
}

export interface SandboxMetrics {
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  readonly diskBytes: number;
  readonly diskLimitBytes: number;
  readonly processes: number;
}
