/** The workspace: durable folders of the host in one sandbox. What is written there is there tomorrow, and can be changed tomorrow. */

import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox, Template } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diskUid } from '../../packages/box/src/sandbox/disk-owner.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { newStateRoot, type ServerProcess, startServerProcess } from '../support/server-process.ts';

interface Ran {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
type Site = Pick<TestBox, 'json' | 'stateRoot'>;

async function create(site: Site, body: Record<string, unknown> = {}): Promise<Sandbox> {
  const made = await site.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace', ...body } });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.body;
}

async function run(site: Site, id: string, cmd: string): Promise<string> {
  const { status, body } = await site.json<Ran>(`/v1/sandboxes/${id}/programs`, { body: { cmd } });
  if (status !== 200 || body.exit_code !== 0) throw new Error(JSON.stringify(body));
  return body.stdout.trim();
}

describe('the workspace', () => {
  let box: TestBox;
  let sandbox: Sandbox;
  beforeAll(async () => {
    box = await startTestBox();
    sandbox = await create(box);
  });
  afterAll(() => box?.stop());

  it('has its folders, agent homes and logs from the start, and programs begin in it as its user', async () => {
    expect(await run(box, sandbox.id, 'whoami; pwd; echo $HOME; ls -A $HOME; ls -d /monoserver /workspace/repos /workspace/logs')).toBe(
      ['sandbox', '/workspace', '/home/sandbox', '.claude', '.codex', '.local', '/monoserver', '/workspace/logs', '/workspace/repos'].join(
        '\n',
      ),
    );
    expect(await run(box, sandbox.id, 'cd ~sandbox && pwd; echo $PATH')).toMatch(/^\/home\/sandbox\n\/home\/sandbox\/\.local\/bin:/);
  });

  it('is one folder for both sides: what the host puts there belongs to the inside, and the other way round', async () => {
    await run(box, sandbox.id, 'mkdir -p /workspace/repos/app && echo inside > /workspace/repos/app/note && echo more > /monoserver/x');
    const file = join(box.stateRoot, 'workspace/repos/app/note');
    expect(readFileSync(file, 'utf8')).toBe('inside\n');
    expect(readFileSync(join(box.stateRoot, 'monoserver/x'), 'utf8')).toBe('more\n');
    if (process.getuid?.() === 0) expect(statSync(file)).toMatchObject({ uid: diskUid, gid: diskUid });
    expect(await run(box, sandbox.id, 'stat -c %U /workspace/repos/app/note')).toBe('sandbox');
  });

  it('shows the logs of the box and the overlays, for reading only', async () => {
    writeFileSync(join(box.stateRoot, 'logs/runtime/runtime.log'), 'a line\n', { mode: 0o600 });
    writeFileSync(join(box.stateRoot, 'clients/note.txt'), 'an overlay\n', { mode: 0o644 });
    expect(await run(box, sandbox.id, 'cat /workspace/logs/runtime/runtime.log /workspace/workspace/clients/note.txt')).toBe(
      'a line\nan overlay',
    );
    const refused = 'Read-only file system';
    const attempts = ['logs/runtime/runtime.log', 'logs/runtime/new', 'logs/services/new', 'workspace/clients/new'];
    for (const path of attempts) expect(await run(box, sandbox.id, `(echo x >> /workspace/${path}) 2>&1 || true`), path).toContain(refused);
    await run(box, sandbox.id, 'echo own > /workspace/logs/own.log');
  });

  it('has no end of its own, is not put to rest, and belongs to the box', async () => {
    expect(sandbox).toMatchObject({ expires_at: null, on_idle: 'keep', tenant: 'default' });
    const { body } = await box.json<Template>('/v1/templates/workspace');
    expect(body).toMatchObject({ source: 'built-in', admin_only: true, network: { mode: 'none' } });
  });

  it('is always made with its folders, also where others of its template would come from stock', async () => {
    for (let count = 0; count < 3; count += 1) {
      const { id } = await create(box);
      expect(await run(box, id, 'cat /workspace/repos/app/note')).toBe('inside');
      await box.request(`/v1/sandboxes/${id}`, { method: 'DELETE' });
    }
  });

  it('keeps what was written when it is paused, recreated, destroyed and made anew', async () => {
    await run(box, sandbox.id, 'echo kept > /home/sandbox/.claude/kept; echo gone > /home/user/gone');
    await box.request(`/v1/sandboxes/${sandbox.id}/pause`, { method: 'POST' });
    expect(await run(box, sandbox.id, 'cat ~/.claude/kept')).toBe('kept');
    expect((await box.json<Sandbox>(`/v1/sandboxes/${sandbox.id}`)).body.expires_at).toBeNull();
    const again = await box.json<Sandbox>(`/v1/sandboxes/${sandbox.id}/recreate`, { method: 'POST' });
    expect(again.body).toMatchObject({ state: 'ready', expires_at: null });
    expect(await run(box, sandbox.id, 'cat ~/.claude/kept; ls /home/user; echo more >> ~/.claude/kept')).toBe('kept');
    await box.request(`/v1/sandboxes/${sandbox.id}`, { method: 'DELETE' });
    expect(existsSync(join(box.stateRoot, 'home/.claude/kept'))).toBe(true);
    sandbox = await create(box);
    expect(await run(box, sandbox.id, 'echo last >> ~/.claude/kept; cat ~/.claude/kept; rm ~/.claude/kept')).toBe('kept\nmore\nlast');
  });
});

describe('a server that stops, is killed and comes back', () => {
  let server: ServerProcess;
  const stateRoot = newStateRoot();
  const start = async (): Promise<void> => {
    server = await startServerProcess({ stateRoot });
  };
  afterAll(async () => {
    if (!server?.running) await start();
    const { body } = await server.json<{ items: Sandbox[] }>('/v1/sandboxes');
    for (const { id } of body.items) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
    await server.stop();
    rmSync(stateRoot, { recursive: true, force: true });
  });

  it('finds the workspace as it was, with what runs in it, and everything can be written', async () => {
    await start();
    const { id } = await create(server);
    await run(server, id, 'mkdir /workspace/made && echo 1 > /workspace/made/number');
    const pid = await run(server, id, 'setsid sleep 1000 >/dev/null 2>&1 & echo $!');
    for (const end of [() => server.stop(), () => server.kill()]) {
      await end();
      await start();
      expect(await run(server, id, `ls -d /proc/${pid}; echo 2 >> /workspace/made/number; cat /workspace/made/number`)).toContain('/proc/');
    }
    await server.json(`/v1/sandboxes/${id}/recreate`, { method: 'POST' });
    // Another sandbox has another uid on the host, and still everything is its own.
    const other = await create(server);
    for (const at of [id, other.id])
      expect(
        await run(
          server,
          at,
          'echo 3 >> /workspace/made/number && mv /workspace/made /workspace/moved && mv /workspace/moved /workspace/made && echo ok',
        ),
      ).toBe('ok');
    expect(readFileSync(join(stateRoot, 'workspace/made/number'), 'utf8')).toBe('1\n2\n2\n3\n3\n');
  });
});
