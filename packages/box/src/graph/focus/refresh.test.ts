/** What agents read stays true after focus: real services, a real manifest, a real supervisor. The server is taken for this process. */

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { type GraphGround, newGround } from '../../../../../tests/support/graph.ts';
import { loadConfig } from '../../config.ts';
import { writeServerRecord } from '../../state.ts';
import { loadGraph } from '../load.ts';
import { type Supervisor, startSupervisor } from '../pulse/supervisor.ts';
import type { Runtime } from '../runtime.ts';
import { down } from '../services/down.ts';
import { readServiceRecord } from '../services/records.ts';
import { restart } from '../services/restart.ts';
import { up } from '../services/up.ts';
import { status } from '../status.ts';
import { focus } from './focus.ts';
import { readFocus } from './record.ts';

// Here nobody may start again what a test stops.
vi.mock('../pulse/control.ts', () => import('../../../../../tests/support/still-pulse.ts'));

let ground: GraphGround;
let runtime: Runtime;
let supervisor: Supervisor | undefined;
beforeEach(() => {
  ground = newGround();
  const overlay = join(ground.stateRoot, 'clients/acme');
  mkdirSync(overlay, { recursive: true });
  mkdirSync(join(ground.stateRoot, 'run'), { recursive: true });
  const services = [{ id: 'web', command: 'exec sleep 600', required: true }];
  writeFileSync(join(ground.folder, 'skillbox.yaml'), stringify({ version: 1, graph: { services } }));
  writeFileSync(join(overlay, 'overlay.yaml'), stringify({ version: 1, client: { id: 'acme' } }));
  writeServerRecord(ground.stateRoot, { url: 'http://127.0.0.1:1', host: 'here', version: '0' });
  // After the manifest is there.
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  runtime = { ...ground.runtime, config, server: true };
});
afterEach(async () => {
  await supervisor?.stop();
  supervisor = undefined;
  await down(runtime, { profiles: [] }, { services: [], dryRun: false, waitSeconds: 0.001 });
  ground.remove();
});

const file = (): string => join(ground.stateRoot, 'home/.claude/CLAUDE.md');
const claude = (): string => readFileSync(file(), 'utf8');
/** Another file is another write, also of the same text. */
const written = (): string => `${statSync(file()).ino} ${statSync(file()).mtimeMs}`;
const pid = (): number => {
  const found = readServiceRecord(ground.stateRoot, 'web')?.process?.pid;
  if (found === undefined) throw new Error('web has no process');
  return found;
};
const options = { services: ['web'], dryRun: false, waitSeconds: undefined };
const selection = { profiles: [] };
const focused = () => focus(runtime, { client: 'acme', profiles: [], services: [], mode: 'reuse', resume: false, waitSeconds: undefined });

it('up, down and restart tell what they did; who only looks writes nothing', async () => {
  await up(runtime, selection, { ...options, mode: 'reuse' });
  expect(claude()).not.toContain('## Live Status');
  await focused();
  expect(claude()).toContain(`| web | running | ${pid()} |`);

  await down(runtime, selection, options);
  expect(claude()).toContain('| web | declared | - |');
  expect(claude()).toMatch(/\*\*warning\*\* service:web: is not started/);
  expect(readFocus(ground.stateRoot)).toMatchObject({
    client: 'acme',
    live: { services: expect.arrayContaining([expect.objectContaining({ id: 'web', state: 'declared' })]) },
  });
  const once = written();
  await down(runtime, selection, options);
  await up(runtime, selection, { ...options, mode: 'reuse', dryRun: true });
  await down(runtime, selection, { ...options, dryRun: true });
  await status(runtime, selection);
  expect(written()).toBe(once);

  await up(runtime, selection, { ...options, mode: 'reuse' });
  expect(claude()).toContain(`| web | running | ${pid()} |`);
  expect(claude()).toContain('Nothing needs attention.');
  const before = pid();
  await restart(runtime, selection, { ...options, mode: undefined });
  expect(pid()).not.toBe(before);
  expect(claude()).toContain(`| web | running | ${pid()} |`);
}, 25_000);

it('pulse tells what happened since, and writes nothing while nothing happens', async () => {
  await focused();
  const config = () => runtime.config;
  supervisor = startSupervisor({ config, load: loadGraph, intervalMs: 60_000, random: () => 0.5, say: () => undefined });
  await supervisor.look();
  await vi.waitFor(() => expect(claude()).toContain('pulse.started'), { timeout: 20_000 });
  const quiet = written();
  await supervisor.look();
  await sleep(2000);
  expect(written()).toBe(quiet);
  const before = pid();
  process.kill(before, 'SIGKILL');
  await vi.waitFor(() => expect(claude()).toMatch(/service\.restarted service:web/), { timeout: 20_000 });
  expect(pid()).not.toBe(before);
  expect(claude()).toMatch(new RegExp(`\\| web \\| running \\| ${pid()} \\| - \\| 1 \\|`));
}, 25_000);
