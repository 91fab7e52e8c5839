/** The workspace has durable folders of the host: it must see no more of the box than those, and lead the host nowhere by what it writes there. */

import { execFileSync, spawn } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../packages/box/src/config.ts';
import { context } from '../../packages/box/src/graph/focus/context.ts';
import { errorsIn } from '../../packages/box/src/graph/focus/log-errors.ts';
import { createMask } from '../../packages/box/src/graph/focus/mask.ts';
import type { Place } from '../../packages/box/src/graph/graph.ts';
import { loadGraph } from '../../packages/box/src/graph/load.ts';
import { existsAt, makeFolderAt, readAt, removeAt, writeAt } from '../../packages/box/src/graph/place.ts';
import type { Runtime } from '../../packages/box/src/graph/runtime.ts';
import { exitOfSandboxed, signalSandboxed, startSandboxed } from '../../packages/box/src/graph/sandboxed.ts';
import { syncEnvFiles } from '../../packages/box/src/graph/sync/env-files.ts';
import { syncLogs } from '../../packages/box/src/graph/sync/log-folders.ts';
import { syncRepos } from '../../packages/box/src/graph/sync/repos.ts';
import { treeStates } from '../../packages/box/src/graph/sync/trees.ts';
import { startTestBox, type TestBox } from '../support/box.ts';

const secret = 'marker-of-what-the-inside-must-not-see';
const manifest = `version: 1
graph:
  repos:
    - { id: app, path: /workspace/repos/app, source: { kind: directory } }
  env_files:
    - { id: app-env, path: /workspace/repos/app/.env, source: { kind: file, path: app.env } }
  logs:
    - { id: app, path: /workspace/logs/app, retention_days: 1 }
`;

let folder: string;
let target: string;
let box: TestBox;
let sandbox: Sandbox;
let runtime: Runtime;

interface Ran {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
const exec = async (cmd: string, id = sandbox.id, key?: string): Promise<Ran & { status: number; error?: string }> => {
  const { status, body } = await box.json<Ran>(`/v1/sandboxes/${id}/programs`, { body: { cmd }, ...(key && { key }) });
  return { ...body, status };
};
/** Both streams of it, whatever its exit code. */
const inside = async (cmd: string): Promise<string> => {
  const { status, stdout, stderr, ...rest } = await exec(cmd);
  if (status !== 200) throw new Error(JSON.stringify(rest));
  return (stdout + stderr).trim();
};
const state = (...parts: string[]): string => join(box.stateRoot, ...parts);
const placed = (path: string, ...host: string[]): Place => ({ path, hostPath: state(...host), inside: true });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-threat-'));
  // Not in /tmp, which the launcher covers with what it works on: there a link would lead nowhere for another reason.
  target = mkdtempSync('/var/tmp/skillbox-target-');
  writeFileSync(join(target, 'own'), secret);
  writeFileSync(join(folder, 'skillbox.yaml'), `# ${secret}\n${manifest}`);
  writeFileSync(join(folder, '.env'), `TOKEN=${secret}\n`);
  writeFileSync(join(folder, 'app.env'), 'PLAIN=1\n');
  const stateRoot = join(folder, 'state');
  mkdirSync(stateRoot);
  const env = { SKILLBOX_STATE_ROOT: stateRoot, SKILLBOX_MANIFEST: join(folder, 'skillbox.yaml') };
  box = await startTestBox(env);
  sandbox = (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace' } })).body;
  const config = loadConfig({ cwd: folder, env });
  runtime = { config, server: false, progress: () => undefined, signal: new AbortController().signal };
});
afterAll(async () => {
  await box?.stop();
  for (const path of [folder, target]) rmSync(path, { recursive: true, force: true });
});

/** Ends what runs, so that the next use starts it anew from what lies in its folders. */
const restart = () => box.request(`/v1/sandboxes/${sandbox.id}/pause`, { method: 'POST' });

describe('the workspace', () => {
  it('sees nothing of the box: no key, database, blob, socket, manifest or other sandbox', async () => {
    const { body: other } = await box.json<Sandbox>('/v1/sandboxes', {
      body: { template: 'base' },
      key: await box.newKey('other', ['sandboxes:use', 'sandboxes:read']),
    });
    await exec(`echo ${secret} > /home/user/note`, other.id, await box.newKey('other', ['sandboxes:use', 'sandboxes:read']));
    for (const path of ['db/marker', 'blobs/marker', 'run/marker', 'sandboxes/marker', 'marker']) writeFileSync(state(path), secret);
    const key = readFileSync(state('admin.key'), 'utf8').trim();
    writeFileSync(state('workspace', 'bait'), 'found');
    // What every sandbox reads in /usr is the host’s own distribution.
    const search = (what: string) =>
      `grep -rslF ${what} $(ls -d /* /.[a-z]* | grep -vE '^/(usr|proc|dev|s?bin|lib.*)$') 2>/dev/null | sort`;
    expect(await inside(search('found'))).toContain('/workspace/bait');
    for (const what of [secret, key]) expect(await inside(`w=${what}; ${search('"$w"')} | grep -v environ`)).toBe('');
    expect(
      await inside(
        'find / -path /proc -prune -o -path /usr -prune -o \\( -name admin.key -o -name box.key -o -name server.json -o -name skillbox.yaml \\) -print 2>/dev/null',
      ),
    ).toBe('');
    const paths = ['admin.key', 'box.key', 'run/server.json', 'db', 'sandboxes'].map((name) => state(name));
    for (const path of [...paths, join(folder, '.env')]) expect(await inside(`cat ${path}`), path).toContain('No such file');
    expect(await inside('ls /workspace/.. /monoserver/.. | sort -u | tr "\\n" " "')).not.toContain('admin.key');
    await box.request(`/v1/sandboxes/${other.id}`, { method: 'DELETE' });
  });

  it('has no mounts of the host but its own folders, and writes only those', async () => {
    const mounts = (await inside('cat /proc/self/mountinfo')).split('\n').map((line) => line.split(' '));
    const ours = mounts
      .filter(([, , , from = '']) => from.startsWith(folder))
      .map(([, , , from = '', at, flags = '']) => [from.slice(folder.length), at, flags.split(',')[0]]);
    const guestEtc = ours.filter(([from]) => from?.includes('/run/bubblewrap/etc-workspace'));
    expect(guestEtc.map(([, at, mode]) => [at, mode])).toEqual([['/etc', 'ro']]);
    expect(ours.filter(([from]) => !from?.includes('/run/bubblewrap/')).sort()).toEqual([
      ['/state/clients', '/workspace/workspace/clients', 'ro'],
      ['/state/home', '/home/sandbox', 'rw'],
      ['/state/logs/runtime', '/workspace/logs/runtime', 'ro'],
      ['/state/logs/services', '/workspace/logs/services', 'ro'],
      ['/state/monoserver', '/monoserver', 'rw'],
      // Its way to the box, and the command line; both are shown in inside-graph.test.ts.
      [`/state/run/channels/${sandbox.id}`, '/.skillbox/box', 'ro'],
      ['/state/run/inside', '/opt/skillbox', 'ro'],
      ['/state/workspace', '/workspace', 'rw'],
    ]);
  });

  it('writes neither the logs of the box nor the overlays, by whatever name', async () => {
    writeFileSync(state('logs/runtime/kept'), 'kept', { mode: 0o600 });
    writeFileSync(state('clients/kept'), 'kept', { mode: 0o644 });
    const attempts = [
      'echo x > $d/new',
      'echo x > $d/kept',
      'rm $d/kept',
      'chmod 777 $d/kept',
      'mv $d/kept $d/moved',
      'ln $d/kept /workspace/hard',
      'mkdir $d/folder',
      'rmdir $d',
      'mv $d /workspace/gone',
      'mount -o remount,rw $d',
      'umount $d',
    ];
    for (const where of ['/workspace/logs/runtime', '/workspace/workspace/clients'])
      for (const attempt of attempts)
        expect(await inside(`d=${where}; (${attempt}) 2>/dev/null && echo DONE`), `${attempt} in ${where}`).not.toContain('DONE');
    // What lies above may be moved, and takes them along as they are.
    expect(
      await inside('mv /workspace/logs /workspace/l && (echo x > /workspace/l/runtime/new) 2>&1; mv /workspace/l /workspace/logs'),
    ).toContain('Read-only');
    for (const where of ['logs/runtime', 'clients'])
      expect([where, readFileSync(state(where, 'kept'), 'utf8'), readdirSync(state(where)).includes('new')]).toEqual([
        where,
        'kept',
        false,
      ]);
  });

  it.each([
    ['its logs', '/workspace/logs', 'workspace/logs'],
    ['the way to the overlays', '/workspace/workspace', 'workspace/workspace'],
    ['an agent home', '/home/sandbox/.claude', 'home/.claude'],
  ])('leads its next start nowhere by a link in the place of %s', async (_what, path, host) => {
    await inside(`mv ${path} ${path}.kept && ln -s ${target} ${path} && ls -ld ${path}`);
    await restart();
    const { status, error } = (await exec('true')) as { status: number; error?: string };
    expect([status, error]).toEqual([status, 'sandbox_failed']);
    expect(readdirSync(target)).toEqual(['own']);
    expect(lstatSync(state(host)).isSymbolicLink()).toBe(true);
    rmSync(state(host));
    expect(await inside(`rm -rf ${path}; mv ${path}.kept ${path}; echo back`)).toContain('back');
  });

  it('makes nothing of the host read or write elsewhere by links: files, context, logs and sync', async () => {
    await inside(
      `cd /workspace && mkdir -p repos/app logs/app && ln -sfn ${target} out && ln -sfn ${target}/own repos/app/.env && ln -sfn ${target}/own logs/app/error.log`,
    );
    expect(readAt(placed('/workspace/out/own', 'workspace/out/own'))).toBeUndefined();
    expect(existsAt(placed('/workspace/out/own', 'workspace/out/own'))).toBe(false);
    for (const work of [
      () => writeAt(placed('/workspace/out/new', 'workspace/out/new'), 'x', { mode: 0o600 }),
      () => makeFolderAt(placed('/workspace/out/folder', 'workspace/out/folder')),
      () => removeAt(placed('/workspace/out/own', 'workspace/out/own')) && undefined,
    ])
      try {
        work();
      } catch (error) {
        expect((error as Error).message).toContain('link');
      }
    expect(errorsIn([{ name: 'app', place: placed('/workspace/logs/app', 'workspace/logs/app') }], createMask())).toEqual([]);
    const graph = loadGraph(runtime.config, { profiles: [] });
    await syncEnvFiles({ runtime, dryRun: false }, graph.envFiles);
    await syncLogs({ runtime, dryRun: false }, graph.logs);
    // The link gives way to the file; what it led to is left alone.
    expect(lstatSync(state('workspace/repos/app/.env')).isFile()).toBe(true);
    expect(readFileSync(join(target, 'own'), 'utf8')).toBe(secret);

    await inside(`cd ~ && mv .claude .claude.kept && ln -s ${target} .claude && rm -rf .codex && ln -s ${target} .codex`);
    await context(runtime, { profiles: [] }, { dryRun: false }).catch((error: Error) => expect(error.message).toContain('link'));
    expect(readdirSync(target)).toEqual(['own']);
    await inside('cd ~ && rm .claude .codex && mv .claude.kept .claude && mkdir .codex');
  });

  it('keeps a hostile repository from running anything on the host', async () => {
    const traces = join(folder, 'traces');
    mkdirSync(traces);
    const trap = (name: string) => `touch ${traces}/${name}`;
    await inside(`set -e; rm -rf /workspace/repos/app; mkdir -p /workspace/repos/app; cd /workspace/repos/app; git init -q .; git config user.email a@b; git config user.name a; echo 1 > f; git add f; git commit -qm 1
      git config core.fsmonitor '${trap('fsmonitor')}'; git config core.hooksPath /workspace/repos/app/hooks; git config core.sshCommand '${trap('ssh')}'; git config core.pager '${trap('pager')}'
      git config filter.x.clean '${trap('clean')}'; git config filter.x.smudge '${trap('smudge')}'; git config diff.external '${trap('diff')}'; git config gpg.program '${trap('gpg')}'; git config credential.helper '!${trap('credential')}'; git config uploadpack.packObjectsHook '${trap('pack')}'
      echo '* filter=x' > .gitattributes; mkdir -p hooks; for h in post-checkout pre-commit post-merge reference-transaction post-index-change fsmonitor-watchman; do printf '#!/bin/sh\\n${trap('hook')}\\n' > hooks/$h; chmod +x hooks/$h; done; echo 2 > f`);
    writeFileSync(join(folder, 'skillbox.yaml'), manifest.replace('source: { kind: directory }', `source: { kind: git, url: ${target} }`));
    const graph = loadGraph(runtime.config, { profiles: [] });
    const places = graph.repos.map(({ place }) => place);
    expect(places.map(({ inside: isInside }) => isInside)).toEqual([true]);
    await syncRepos({ runtime, dryRun: false }, graph.repos);
    const [seen] = await treeStates(places, { signal: runtime.signal, last: true });
    expect(seen?.lastCommit ?? '').toContain('1');
    writeFileSync(join(folder, 'skillbox.yaml'), `# ${secret}\n${manifest}`);
    expect(readdirSync(traces)).toEqual([]);
  });

  it('is the box’s own: no other tenant makes, uses or sees it, nor any other template its folders', async () => {
    const key = await box.newKey('other', ['sandboxes:use', 'sandboxes:read']);
    const make = (body: Record<string, unknown>, more: Record<string, unknown> = {}) =>
      box.json<Sandbox & { error?: string }>('/v1/sandboxes', { body, ...more });
    expect((await make({ template: 'workspace' }, { key })).body.error).toBe('forbidden');
    expect((await make({ template: 'workspace' }, { headers: { 'X-Tenant-ID': 'other' } })).body.error).toBe('forbidden');
    expect((await make({ template: 'workspace' }, { key: await box.newKey('default', ['sandboxes:use']) })).body.error).toBe('forbidden');
    expect((await exec('true', sandbox.id, key)).status).toBe(404);
    const definition = { options: { workspace: true, folders: [{ host: '/', at: '/host' }], mounts: ['/'], Binds: ['/:/host'] } };
    const refused = await box.json<{ error: string }>('/v1/templates/workspace', { method: 'PUT', body: definition });
    expect(refused.body.error).toBe('declared_in_manifest');
    const odd = await box.json<{ error: string }>('/v1/templates/sly', { method: 'PUT', body: { ...definition, source: 'built-in' } });
    expect(odd.status).toBeGreaterThanOrEqual(400);
    await box.json('/v1/templates/sly', { method: 'PUT', body: definition });
    const { body: sly } = await make({ template: 'sly' }, { key });
    const seen = await exec('ls -d /workspace /monoserver /host /home/sandbox 2>&1; ls / | tr "\\n" " "', sly.id, key);
    expect(seen.stdout.match(/No such file/g)).toHaveLength(4);
    await box.request(`/v1/sandboxes/${sly.id}`, { method: 'DELETE', key });
  });

  it('signals no process of the host, nor what runs beside it elsewhere', async () => {
    const victim = spawn('sleep', ['300'], { stdio: 'ignore' });
    const place = placed('/workspace', 'workspace');
    const program = {
      command: `kill -9 ${victim.pid}; kill -9 ${process.pid}; kill -TERM -1; sleep 1000`,
      cwd: place,
      env: {},
      template: 'workspace',
    };
    const at = await startSandboxed(runtime, program, { id: 'killer', client: undefined, log: state('logs/services/killer.log') });
    await expect.poll(() => exitOfSandboxed(runtime, at)).not.toBe(null);
    expect([victim.exitCode, victim.signalCode]).toEqual([null, null]);
    expect(execFileSync('cat', [`/proc/${victim.pid}/comm`], { encoding: 'utf8' })).toBe('sleep\n');
    expect((await box.json('/health')).status).toBe(200);
    await signalSandboxed(runtime, at, 'SIGKILL');
    victim.kill('SIGKILL');
    await box.request(`/v1/sandboxes/${at.sandbox}`, { method: 'DELETE' });
  });

  it('chooses no other log, file or program of the host by what its programs are called or write', async () => {
    const graph = loadGraph(runtime.config, { profiles: [] });
    expect(graph.repos[0]?.place.inside).toBe(true);
    const log = state('logs/services/odd.log');
    const record = { id: 'odd', client: undefined, log };
    const at = await startSandboxed(
      runtime,
      {
        command: 'printf "\\033]0;x\\007../../admin.key\\n"; ln -s /etc/passwd /workspace/logs/odd',
        cwd: placed('/workspace', 'workspace'),
        env: {},
        template: 'workspace',
      },
      record,
    );
    await expect.poll(() => exitOfSandboxed(runtime, at)).toBe(0);
    expect(readFileSync(log, 'utf8')).toContain('../../admin.key');
    const led = { ...record, id: 'led', log: state('workspace/out/own') };
    await inside(`ln -sfn ${target} /workspace/out`);
    const other = await startSandboxed(
      runtime,
      { command: 'echo written', cwd: placed('/workspace', 'workspace'), env: {}, template: 'workspace' },
      led,
    );
    await expect.poll(() => exitOfSandboxed(runtime, other)).toBe(0);
    await expect.poll(() => readdirSync(state('run/graph/output'))).toEqual([]);
    expect(readFileSync(join(target, 'own'), 'utf8')).toBe(secret);
    await box.request(`/v1/sandboxes/${at.sandbox}`, { method: 'DELETE' });
  });
});
