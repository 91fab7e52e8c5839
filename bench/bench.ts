/**
 * make bench: measures all parts, or those that are named, and writes docs/benchmarks.json, docs/benchmarks.md, its plots and the
 * headline of README. `--size 0.1` measures a tenth as much, `--out FILE` writes the results there and leaves the documents alone.
 */

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { refresh } from '../scripts/docs/generated-file.ts';
import { type BenchRun, openRun } from './bench-run.ts';
import { measureGrowth } from './parts/growth.ts';
import { measureLatency } from './parts/latency.ts';
import { measureMemory } from './parts/memory.ts';
import { measurePace } from './parts/pace.ts';
import { measureSandboxes } from './parts/sandboxes.ts';
import { measureThroughput } from './parts/throughput.ts';
import { commitOf, describeMachine, describeVersions } from './report/machine.ts';
import { benchmarkFiles, headlineOf, resultsFile } from './report/page.ts';
import { loadResults, type PartData, type PartName, type Results, saveResults } from './report/results.ts';
import { targetTable } from './report/targets.ts';

const parts: { readonly [K in PartName]: (run: BenchRun) => Promise<PartData[K]> } = {
  latency: measureLatency,
  pace: measurePace,
  throughput: measureThroughput,
  sandboxes: measureSandboxes,
  memory: measureMemory,
  growth: measureGrowth,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { size: { type: 'string', default: '1' }, out: { type: 'string' } },
});
const names = positionals.length > 0 ? positionals : Object.keys(parts);
const unknown = names.filter((name) => !Object.hasOwn(parts, name));
const size = Number(values.size);
if (unknown.length > 0 || !(size > 0 && size <= 1)) {
  console.error(`usage: bench.ts [--size 0.1] [--out FILE] [PART …], with parts of: ${Object.keys(parts).join(', ')}`);
  process.exit(2);
}

const file = values.out ?? resultsFile;
const run = await openRun(size);
const machine = describeMachine();
let results: Results = loadResults(file);
try {
  for (const name of names as PartName[]) {
    const started = performance.now();
    const data = await parts[name](run);
    const versions = await describeVersions(run, {
      docker: name === 'latency' || name === 'sandboxes',
      sandboxRuntime: name === 'latency',
    });
    const seconds = Math.round((performance.now() - started) / 1000);
    const part = { at: new Date().toISOString(), seconds, size, commit: commitOf(), machine, versions, data };
    results = { ...results, [name]: part };
    // After each, so that a part that fails takes nothing with it.
    saveResults(file, results);
    run.say(`${name}: ${seconds} s`);
  }
} finally {
  await run.close();
}
if (values.out === undefined)
  for (const path of await refresh(join(import.meta.dirname, '..'), benchmarkFiles(results), false)) run.say(`wrote ${path}`);
console.log(`${headlineOf(results)}\n\n${targetTable(results)}`);
process.exit(0);
