/** The contract every backend of sandboxes fulfils. Living sandboxes will add to it; one-shot runs are here. */

import type { Readable } from 'node:stream';
import type { Language } from '@skillbox/protocol';

export interface Provider {
  readonly name: string;
  /** How strong its walls are: namespaces < gvisor < microvm. */
  readonly tier: 'namespaces' | 'gvisor' | 'microvm';
  /** What the host gives, found at start. */
  readonly report: ProviderReport;
  /** Path of an interpreter as the sandbox sees it; undefined when the host has none it may use. */
  interpreter(language: Language): Interpreter | undefined;
  /** Runs one program to its end. Rejects only with BoxError; how the program ended is in the result. */
  runOnce(request: RunRequest): Promise<RunResult>;
  /** Launchers that stand by. */
  readonly standby: number;
  /** Sandboxes that stand ready for a job. */
  readonly warm: WarmState;
  /** Ends whatever a crashed predecessor on this host left: processes, cgroups, folders. */
  sweep(): Promise<void>;
  close(): Promise<void>;
}

/** Runs skills that name an image; there only where an engine is configured. */
export interface ImageRunner {
  isAllowed(image: string): boolean;
  /** Its full name; throws image_unsupported when the operator does not allow it. */
  allowed(image: string): string;
  runOnce(request: RunRequest, image: string): Promise<RunResult>;
  /** Removes what a crashed predecessor left. */
  sweep(): Promise<void>;
  /** Resolves when nothing of what ran is left. */
  close(): Promise<void>;
}

export interface Interpreter {
  readonly path: string;
  readonly version: string;
}

export interface ProviderReport {
  readonly ready: boolean;
  readonly layers: readonly LayerState[];
  readonly facts: Record<string, string>;
}

export interface LayerState {
  readonly name: string;
  readonly present: boolean;
  /** Missing, but the operator accepted that by name in the manifest. */
  readonly accepted: boolean;
  readonly detail: string;
  /** The line that mends it. */
  readonly fix?: string;
}

export interface RunLimits {
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly cpu: number;
  readonly processes: number;
  readonly openFiles: number;
  readonly diskBytes: number;
  readonly logBytes: number;
  readonly outputBytes: number;
  readonly artifacts: number;
  readonly artifactBytes: number;
}

export interface RunRequest {
  readonly id: string;
  /** Folder on the host that appears read-only at /sandbox/scripts. */
  readonly skillFolder: string;
  /** Folder on the host with installed packages, and where it appears, read-only. */
  readonly dependencies?: { readonly folder: string; readonly at: string };
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly inputs: readonly { readonly path: string; readonly data: Buffer }[];
  readonly limits: RunLimits;
  /** How much of the processor it gets beside the others when there is not enough: 1 for whoever asks for little, less for the rest. */
  readonly share?: number;
  /** There when a sandbox that was made ready ahead may serve it. */
  readonly warm?: WarmRecipe;
  /** Aborted to cancel. */
  readonly signal: AbortSignal;
  /** The program runs from now on. */
  onStart?(): void;
  /** It has ended; what it left is collected from now on. Not called when it had to be killed from outside. */
  onExit?(): void;
  onOutput(stream: 'stdout' | 'stderr', bytes: Buffer): void;
  /** Called for one file at a time, in order; the next one waits until it resolves. */
  onArtifact(path: string, size: number, content: Buffer | Readable): Promise<void>;
}

export interface WarmState {
  readonly ready: number;
  /** How many the demand of late asks for. */
  readonly wanted: number;
  readonly pools: number;
  readonly memoryBytes: number;
  readonly served: number;
  /** Of those, by a copy of an interpreter that had started. */
  readonly copied: number;
  readonly missed: number;
}

/** What a sandbox can be made ready from before its job is known. It holds nothing of a job. */
export interface WarmRecipe {
  /** Runs with the same key differ in nothing but their job. */
  readonly key: string;
  readonly lang: Language;
  /** Variables that an interpreter reads when it starts. */
  readonly env: Readonly<Record<string, string>>;
  /** Modules that the entrypoint imports first of all, and that hold nothing of a job. */
  readonly preload: readonly string[];
  /** Modules that the skill asks for: code of its own, which runs nowhere but in a sandbox for one run. */
  readonly modules: readonly string[];
}

export interface RunResult {
  /** Whether a sandbox that stood ready served it. */
  readonly warm: boolean;
  readonly end: 'exited' | 'timeout' | 'cancelled';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly outOfMemory: boolean;
  /** Raw contents of output.json; null when there was none. */
  readonly output: Buffer | null;
  readonly problem: CollectProblem | null;
  /** Entries that were not plain files and were left behind. */
  readonly skipped: readonly { readonly path: string; readonly kind: string }[];
  readonly droppedLogBytes: number;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
}

export type CollectProblem = 'output_not_a_file' | 'output_too_large' | 'too_many_artifacts' | 'artifact_too_large';
