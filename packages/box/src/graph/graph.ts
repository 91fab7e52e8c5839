/** The graph after selection: everything the box should be, with placeholders filled in and references resolved. */

import type { LedgerEntry, StartMode } from '@skillbox/protocol';

/** A path, from both sides. What the workspace can write is never followed by the host: see place.ts. */
export interface Place {
  /** As the workspace sees it; for what lies outside of it, the path on the host. */
  readonly path: string;
  /** Absolute. */
  readonly hostPath: string;
  /** Within a folder that the workspace may write. */
  readonly inside: boolean;
}

export interface Origin {
  /** Or `environment`, or `default`. */
  readonly file: string;
  /** From 1; 0 for what stands in no file. */
  readonly line: number;
}

export interface Item {
  readonly id: string;
  /** Overlay that declares it; undefined: the box itself. */
  readonly client: string | undefined;
  readonly required: boolean;
  /** Empty: always. */
  readonly profiles: readonly string[];
  readonly notes: string | undefined;
  readonly origin: Origin;
}

export interface Repo extends Item {
  readonly place: Place;
  readonly kind: string;
  readonly source:
    | { readonly kind: 'git'; readonly url: string; readonly branch: string | undefined }
    | { readonly kind: 'bind'; readonly path: string | undefined }
    | { readonly kind: 'directory' }
    | { readonly kind: 'manual' };
  readonly sync: 'external' | 'ensure-directory' | 'clone-if-missing' | 'manual';
}

export interface Artifact extends Item {
  readonly place: Place;
  readonly source:
    | { readonly kind: 'file'; readonly path: string; readonly sha256: string | undefined }
    | { readonly kind: 'url'; readonly url: string; readonly sha256: string }
    | { readonly kind: 'manual'; readonly sha256: string | undefined };
  readonly executable: boolean;
  readonly sync: 'copy-if-missing' | 'download-if-missing' | 'manual';
}

export interface EnvFile extends Item {
  readonly kind: string;
  readonly repo: string | undefined;
  readonly place: Place;
  /** Such as 0o600. */
  readonly mode: number;
  readonly source: { readonly kind: 'file'; readonly path: string } | { readonly kind: 'manual' };
  readonly sync: 'write' | 'manual';
}

export interface SkillSet extends Item {
  readonly kind: 'skill-repo-set';
  /** skill-repos.yaml. */
  readonly config: Place;
  readonly lock: Place;
  /** Folder for clones, the box's own. */
  readonly cloneRoot: string;
  readonly targets: readonly { readonly id: string; readonly place: Place }[];
}

export type Success =
  | { readonly type: 'path_exists'; readonly place: Place }
  | { readonly type: 'all_outputs_exist' }
  | { readonly type: 'port_listening'; readonly port: number };

/** What a task, a service or a bridge runs, and where. */
export interface Program {
  /** For `sh -c`. */
  readonly command: string;
  readonly cwd: Place;
  readonly env: Readonly<Record<string, string>>;
  /** Template of the sandbox it runs in; undefined: on the host. What lies inside the workspace always has one. */
  readonly template: string | undefined;
}

export interface Task extends Item, Omit<Program, 'command'> {
  readonly kind: string;
  readonly command: string;
  readonly repo: string | undefined;
  readonly dependsOn: readonly string[];
  readonly inputs: readonly Place[];
  readonly outputs: readonly Place[];
  readonly log: string | undefined;
  readonly success: Success | undefined;
  readonly timeoutMs: number;
}

export type Healthcheck = { readonly intervalMs: number; readonly timeoutMs: number } & (
  | { readonly type: 'http'; readonly url: string; readonly status: number | undefined }
  | { readonly type: 'port'; readonly port: number; readonly host: string }
  | { readonly type: 'path_exists'; readonly place: Place }
  | { readonly type: 'process_running' }
  | { readonly type: 'command'; readonly command: string }
);

export interface Service extends Item, Omit<Program, 'command'> {
  readonly kind: string;
  readonly repo: string | undefined;
  readonly artifact: string | undefined;
  /** By mode; empty: managed elsewhere. One command without modes stands under all three. */
  readonly commands: Readonly<Partial<Record<StartMode, string>>>;
  readonly dependsOn: readonly string[];
  readonly bootstrapTasks: readonly string[];
  /** Ids of env files that must be ready. */
  readonly envFiles: readonly string[];
  readonly log: string | undefined;
  readonly healthcheck: Healthcheck | undefined;
  readonly ports: readonly number[];
  /** How long up waits for its health. */
  readonly startMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly stopMs: number;
  /** Whether pulse starts it again. */
  readonly restart: boolean;
  /** The server of the box itself: made by the box, not declared. */
  readonly own: 'api' | undefined;
}

export interface Log extends Item {
  readonly place: Place;
  readonly retentionDays: number | undefined;
}

export interface Check extends Item {
  readonly probe:
    | { readonly type: 'path_exists'; readonly place: Place }
    | { readonly type: 'command'; readonly command: string; readonly cwd: Place }
    | { readonly type: 'http'; readonly url: string }
    | { readonly type: 'port'; readonly port: number };
}

export interface Bridge extends Item, Program {
  readonly envTier: string;
  readonly legacyTargets: readonly string[];
  readonly outputRoot: Place;
  /** <root>/<target>/<tier>.env for each target. */
  readonly outputs: readonly Place[];
  /** Older outputs than these are stale: the files that declare it, and what it reads. */
  readonly inputs: readonly string[];
}

export interface Client {
  readonly id: string;
  readonly label: string | undefined;
  /** The tenant it acts as. */
  readonly tenant: string;
  readonly defaultCwd: Place | undefined;
  readonly repoRoots: readonly { readonly id: string; readonly place: Place }[];
  readonly connectors: readonly string[];
  readonly context: Readonly<Record<string, unknown>>;
  readonly overlay: string;
}

export interface Graph {
  readonly client: Client | undefined;
  /** Active, core first. */
  readonly profiles: readonly string[];
  /** Overlays there are, active or not. */
  readonly clients: readonly string[];
  /** Profiles that any item names. */
  readonly knownProfiles: readonly string[];
  readonly repos: readonly Repo[];
  readonly artifacts: readonly Artifact[];
  readonly envFiles: readonly EnvFile[];
  readonly skills: readonly SkillSet[];
  readonly tasks: readonly Task[];
  readonly services: readonly Service[];
  readonly logs: readonly Log[];
  readonly checks: readonly Check[];
  readonly bridges: readonly Bridge[];
  readonly parityLedger: readonly LedgerEntry[];
  /** Of the box. */
  readonly connectors: readonly string[];
  /** What ${NAME} stands for, without secrets. */
  readonly variables: Readonly<Record<string, string>>;
  /** First 16 hex of the SHA-256 over manifest, overlays and .env. */
  readonly configHash: string;
  /** Where values came from, by path such as services.web.command. */
  readonly why: ReadonlyMap<string, Origin>;
}

export interface Selection {
  readonly client?: string | undefined;
  readonly profiles: readonly string[];
}
