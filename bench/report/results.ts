/** What runs have measured, by part: a run of some parts leaves the others as they were. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Growth } from '../parts/growth.ts';
import type { Latency } from '../parts/latency.ts';
import type { Memory } from '../parts/memory.ts';
import type { Pace } from '../parts/pace.ts';
import type { Sandboxes } from '../parts/sandboxes.ts';
import type { Throughput } from '../parts/throughput.ts';

export interface PartData {
  readonly latency: Latency;
  readonly pace: Pace;
  readonly throughput: Throughput;
  readonly sandboxes: Sandboxes;
  readonly memory: Memory;
  readonly growth: Growth;
}

export type PartName = keyof PartData;

/** Where and when a part was measured. */
export interface Circumstances {
  readonly at: string;
  readonly seconds: number;
  /** 1 is a full run; less is a quick look, whose figures are rough. */
  readonly size: number;
  readonly commit: string | null;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly kernel: string;
  /** Average of the minute before: what else the machine was doing. */
  readonly load: number;
}

export type Results = { readonly [K in PartName]?: Circumstances & { readonly data: PartData[K] } };

export function loadResults(file: string): Results {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {};
}

export function saveResults(file: string, results: Results): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
}
