/**
 * Whoever is inside can put a link in the place of anything that sync, status, context and focus look at or write there. Each place in
 * turn, the whole functions: no file of the host is read or written by it.
 */

import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../packages/box/src/config.ts';
import { collect } from '../../packages/box/src/graph/focus/collect.ts';
import { context } from '../../packages/box/src/graph/focus/context.ts';
import { insideOwner } from '../../packages/box/src/graph/inside-owner.ts';
import { loadGraph } from '../../packages/box/src/graph/load.ts';
import { logs } from '../../packages/box/src/graph/logs.ts';
import type { Runtime } from '../../packages/box/src/graph/runtime.ts';
import { listSessions, startSession } from '../../packages/box/src/graph/sessions/sessions.ts';
import { status } from '../../packages/box/src/graph/status.ts';
import { sync } from '../../packages/box/src/graph/sync/sync.ts';
import { type GraphGround, newGround } from '../support/graph.ts';
import { picture, remoteRepo, writeDeep } from '../support/synced.ts';

const secret = 'marker-of-a-file-of-the-host';
const skill = '---\nname: one\ndescription: One.\n---\nDo it.\n';
const selection = { client: 'acme', profiles: [] };

/** Files and folders that it writes or reads inside, and folders on the way to them. */
const places = [
  'workspace/repos',
  'workspace/repos/plain',
  'workspace/repos/tree',
  'workspace/repos/tree/.git',
  'workspace/repos/tree/.git/config',
  'workspace/repos/tree/.git/HEAD',
  'workspace/repos/tree/.git/index',
  'workspace/repos/tree/.git/objects',
  'workspace/repos/tree/file',
  'workspace/repos/plain/.env',
  'workspace/bin',
  'workspace/bin/tool',
  'workspace/made',
  'workspace/made/output',
  'workspace/logs',
  'workspace/logs/app',
  'workspace/logs/app/error.log',
  'workspace/logs/app/old.log',
  'workspace/locks',
  'workspace/locks/skills.json',
  'home/.claude',
  'home/.claude/CLAUDE.md',
  'home/.claude/skills',
  'home/.claude/skills/one',
  'home/.claude/skills/one/SKILL.md',
  'home/.codex',
  'home/.codex/AGENTS.md',
  'home/.codex/skills',
];

let ground: GraphGround;
let runtime: Runtime;
let kept: string;
beforeAll(async () => {
  ground = newGround();
  const url = remoteRepo(join(ground.folder, 'remote'), { file: 'one\n' });
  writeDeep(join(ground.folder, 'skills/one/SKILL.md'), skill);
  writeDeep(join(ground.folder, 'skill-repos.yaml'), 'version: 2\nskill_repos:\n  - {path: ./skills}\n');
  writeDeep(join(ground.folder, 'app.env'), 'PLAIN=1\n');
  writeDeep(join(ground.folder, 'tool'), 'tool\n');
  writeDeep(
    join(ground.folder, 'skillbox.yaml'),
    `version: 1
graph:
  repos:
    - {id: plain, path: /workspace/repos/plain, source: {kind: directory}}
    - {id: tree, path: /workspace/repos/tree, source: {url: "${url}"}}
  artifacts: [{id: tool, path: /workspace/bin/tool, source: {path: tool}}]
  env_files: [{id: env, path: /workspace/repos/plain/.env, source: {path: app.env}}]
  skills: [{id: mine, lock_path: /workspace/locks/skills.json}]
  tasks: [{id: make, command: "true", outputs: [/workspace/made/output]}]
  checks: [{id: made, path: /workspace/made/output}]
  logs: [{id: app, path: /workspace/logs/app, retention_days: 1}]
`,
  );
  writeDeep(join(ground.stateRoot, 'clients/acme/overlay.yaml'), 'version: 1\nclient: {id: acme}\n');
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  runtime = { ...ground.runtime, config };
  const { ok } = await sync(runtime, selection, { dryRun: false });
  expect(ok).toBe(true);
  for (const [file, text] of [
    ['workspace/logs/app/error.log', 'error: here\n'],
    ['workspace/logs/app/old.log', 'old\n'],
    ['workspace/made/output', 'made\n'],
  ] as const)
    writeDeep(join(ground.stateRoot, file), text);
  kept = `${ground.stateRoot}-kept`;
  execFileSync('cp', ['-a', ground.stateRoot, kept]);
});
afterAll(() => ground?.remove());

/** What the link leads to: a file, or a folder with whatever is looked for in it. */
function bait(place: string): string {
  const host = join(ground.folder, 'host');
  rmSync(host, { recursive: true, force: true });
  mkdirSync(host);
  const target = join(host, basename(place));
  const there = join(kept, place);
  if (lstatSync(there).isDirectory()) execFileSync('cp', ['-a', there, target]);
  else writeFileSync(target, '');
  const files = lstatSync(target).isDirectory() ? filesIn(target) : [target];
  for (const file of files) writeFileSync(file, `error: ${secret}\n`);
  writeFileSync(join(host, 'beside'), secret);
  // The old ones would be removed by who expires them.
  for (const file of files) execFileSync('touch', ['-h', '-d', '10 days ago', file]);
  return target;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => lstatSync(file).isFile());

const collected = async () => collect(runtime, loadGraph(runtime.config, selection));

/** Everything that may be found wrong with a box may be; what is thrown must be told in our words. */
async function told(work: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await work);
  } catch (error) {
    expect(error).toBeInstanceOf(BoxError);
    return `${(error as BoxError).message} ${JSON.stringify((error as BoxError).details)}`;
  }
}

describe('a link in the place of', () => {
  it.each(places)('%s leads the host nowhere', async (place) => {
    rmSync(ground.stateRoot, { recursive: true });
    execFileSync('cp', ['-a', kept, ground.stateRoot]);
    const target = bait(place);
    const link = join(ground.stateRoot, place);
    expect(existsSync(dirname(link)), `${place} is there after a sync`).toBe(true);
    rmSync(link, { recursive: true });
    symlinkSync(target, link);
    const owner = insideOwner();
    if (owner) chownSync(dirname(link), owner.uid, owner.gid);
    const before = picture(join(ground.folder, 'host'));

    const said = [
      await told(status(runtime, selection)),
      await told(sync(runtime, selection, { dryRun: true })),
      await told(context(runtime, selection, { dryRun: true })),
      await told(sync(runtime, selection, { dryRun: false })),
      await told(context(runtime, selection, { dryRun: false })),
      await told(startSession(runtime, { client_id: 'acme' })),
      await told(listSessions(runtime, { limit: 5 })),
      await told(collected()),
      await told(logs(runtime, selection, { services: [], lines: 40 })),
      await told(status(runtime, selection)),
    ];
    expect(picture(join(ground.folder, 'host'))).toEqual(before);
    expect(said.join('\n')).not.toContain(secret);
    // What is left of the link is not what is looked for.
    if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) rmSync(link);
    for (const folder of ['workspace', 'home', 'logs', 'run'])
      for (const file of filesIn(join(ground.stateRoot, folder))) expect(readFileSync(file, 'utf8'), file).not.toContain(secret);
  });

  it('nothing: then all of it is well', async () => {
    rmSync(ground.stateRoot, { recursive: true });
    execFileSync('cp', ['-a', kept, ground.stateRoot]);
    const { actions, ok } = await sync(runtime, selection, { dryRun: false });
    expect([ok, actions.filter(({ result }) => result === 'failed')]).toEqual([true, []]);
    for (const place of places) expect(existsSync(join(kept, place)), place).toBe(true);
  });
});
