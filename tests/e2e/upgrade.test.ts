/** A newer version takes over what an older one left: the built program, and a copy of it that says another version. */

import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RuntimeStatus, SyncReport, WorkSession } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { version } from '../../packages/box/src/version.ts';
import { type CliResult, endSandboxes, runProgram } from './cli-process.ts';

const packaged = join(import.meta.dirname, '../../packages/box');
const newerVersion = '99.0.0';
const folder = mkdtempSync(join(tmpdir(), 'skillbox-upgrade-'));
const older = join(packaged, 'bin/skillbox.js');
const newer = join(folder, 'newer/bin/skillbox.js');
const stateRoot = join(folder, 'state');

const call = (program: string, ...words: string[]): Promise<CliResult> =>
  runProgram([program, ...words], {
    ...{ HOME: folder, SKILLBOX_STATE_ROOT: stateRoot, SKILLBOX_MANIFEST: join(folder, 'skillbox.yaml') },
    ...{ SKILLBOX_API_PORT: '0', SKILLBOX_WARM_MEMORY: '0' },
  });
async function well(program: string, ...words: string[]): Promise<string> {
  const { exit, stdout, stderr } = await call(program, ...words);
  expect([words.join(' '), exit], `${stdout}${stderr}`).toEqual([words.join(' '), 0]);
  return stdout;
}
const told = async <T>(program: string, ...words: string[]): Promise<T> =>
  JSON.parse((await call(program, ...words, '--json')).stdout) as T;

beforeAll(() => {
  writeFileSync(
    join(folder, 'skillbox.yaml'),
    `version: 1
graph:
  repos: [{id: notes, path: /workspace/repos/notes, source: {kind: directory}}]
  tasks: [{id: once, command: echo ran >> ran}]
  services: [{id: web, command: exec sleep 600, bootstrap_tasks: [once]}]
`,
  );
  cpSync(join(packaged, 'bin'), join(folder, 'newer/bin'), { recursive: true });
  cpSync(join(packaged, 'dist'), join(folder, 'newer/dist'), { recursive: true });
  cpSync(join(packaged, 'package.json'), join(folder, 'newer/package.json'));
  symlinkSync(join(packaged, '../../node_modules'), join(folder, 'newer/node_modules'));
  for (const name of readdirSync(join(folder, 'newer/dist')).filter((file) => file.endsWith('.js'))) {
    const file = join(folder, 'newer/dist', name);
    const text = readFileSync(file, 'utf8');
    if (text.includes(`version="${version}"`)) writeFileSync(file, text.replaceAll(`version="${version}"`, `version="${newerVersion}"`));
  }
});
afterAll(async () => {
  if (existsSync(stateRoot)) {
    await call(newer, 'down');
    await endSandboxes((...words) => call(newer, ...words));
  }
  rmSync(folder, { recursive: true, force: true });
});

it('files, tasks, services, sessions and history are there after an upgrade, and again after the way back', async () => {
  expect(await well(newer, 'version')).toBe(`skillbox ${newerVersion}\n`);
  await well(older, 'up');
  await well(
    older,
    'shell',
    '--',
    'sh',
    '-c',
    'echo kept > /workspace/repos/notes/kept; echo home > ~/.claude/own; echo mono > /monoserver/own',
  );
  mkdirSync(join(stateRoot, 'clients/acme'), { recursive: true });
  writeFileSync(join(stateRoot, 'clients/acme/overlay.yaml'), 'version: 1\nclient: {id: acme}\n');
  const session = await told<WorkSession>(older, 'session', 'start', 'acme', '--label', 'before');
  expect(await well(older, 'down')).toMatch(/^✓ The box is down\.\n! Sandbox i\w{19} lives on, with what runs inside\./m);

  for (const [program, said] of [
    [newer, newerVersion],
    [older, version],
  ] as const) {
    const planned = await told<SyncReport>(program, 'sync', '--dry-run');
    expect(planned.actions.filter(({ result }) => result === 'planned')).toEqual([]);
    await well(program, 'up');
    expect(await told<{ version: string }>(program, 'describe')).toMatchObject({ version: said });
    expect(
      (await well(program, 'shell', '--', 'sh', '-c', 'cat /workspace/repos/notes/kept ~/.claude/own /monoserver/own')).split('\n'),
    ).toEqual(['kept', 'home', 'mono', '']);
    await well(program, 'shell', '--', 'sh', '-c', `echo ${said} >> /workspace/repos/notes/versions`);
    const { services, tasks } = await told<RuntimeStatus>(program, 'status');
    expect(services.find(({ id }) => id === 'web')).toMatchObject({ state: 'running', wanted: true });
    expect(tasks).toMatchObject([{ id: 'once', state: 'ready' }]);
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('ran\n');
    expect(await told<WorkSession>(program, 'session', 'show', session.session_id)).toMatchObject({ label: 'before', state: 'active' });
    expect(readFileSync(join(stateRoot, 'logs/runtime/runtime.log'), 'utf8')).toContain(`session:${session.session_id}`);
    await well(program, 'down');
  }
  expect(readFileSync(join(stateRoot, 'workspace/repos/notes/versions'), 'utf8')).toBe(`${newerVersion}\n${version}\n`);
}, 180_000);
