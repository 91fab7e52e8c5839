/** A process that syncs a box and kills itself at the given call to the system: FOLDER CALL. Without a call it says how many there are. */

import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const [folder = '', at = '0'] = process.argv.slice(2);
const changing = [
  'renameSync',
  'mkdirSync',
  'openSync',
  'writeSync',
  'fsyncSync',
  'unlinkSync',
  'rmSync',
  'fchownSync',
  'fchmodSync',
  'symlinkSync',
] as const;
let calls = 0;

/** Before it on even numbers, after it on odd ones. */
function counted<T>(call: () => T): T {
  calls += 1;
  if (calls !== Number(at)) return call();
  if (calls % 2 === 0) process.kill(process.pid, 'SIGKILL');
  try {
    return call();
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}

const { syncGraph } = await import('../../packages/box/src/graph/sync/sync.ts');
const { everyKind } = await import('./synced.ts');
const { groundAt } = await import('./graph.ts');
const { runtime, stateRoot } = groundAt(folder);
const graph = everyKind(folder, stateRoot, 1, 1);
for (const name of changing) {
  const original = fs[name] as (...args: unknown[]) => unknown;
  (fs as unknown as Record<string, unknown>)[name] = (...args: unknown[]) => counted(() => original(...args));
}
const { spawn } = childProcess;
childProcess.spawn = ((...args: Parameters<typeof spawn>) => counted(() => spawn(...args))) as typeof spawn;
syncBuiltinESMExports();
const { ok } = await syncGraph(runtime, graph, { dryRun: false });
process.stdout.write(JSON.stringify({ ok, calls }));
