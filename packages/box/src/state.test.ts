import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hostId } from './host.ts';
import { clearTemporary, lockState, makeStateRoot, readServerRecord, removeServerRecord, writeServerRecord } from './state.ts';

let root: string;
beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), 'skillbox-state-')), 'state');
});
afterEach(() => rmSync(join(root, '..'), { recursive: true }));

it('is private, and can be made twice', () => {
  makeStateRoot(root);
  makeStateRoot(root);
  for (const folder of ['', 'db', 'blobs', 'run', 'logs']) expect(statSync(join(root, folder)).mode & 0o777).toBe(0o700);
});

it('has one owner at a time, by whatever name it is called', async () => {
  makeStateRoot(root);
  const lock = await lockState(root);
  await expect(lockState(`${root}/../state`)).rejects.toMatchObject({ code: 'already_running' });
  lock.release();
  await new Promise((resolve) => setTimeout(resolve, 10));
  (await lockState(root)).release();
});

it('tells where its server is, as long as that lives', () => {
  makeStateRoot(root);
  const facts = { url: 'http://127.0.0.1:1', host: 'host-1', version: '1.0.0' };
  expect(readServerRecord(root)).toBeUndefined();
  writeServerRecord(root, facts);
  expect(readServerRecord(root)).toMatchObject({ ...facts, pid: process.pid });
  expect(statSync(join(root, 'run', 'server.json')).mode & 0o777).toBe(0o600);
  // The same pid with another start is another process.
  writeFileSync(join(root, 'run', 'server.json'), JSON.stringify({ ...facts, pid: process.pid, startTime: '1' }));
  expect(readServerRecord(root)).toBeUndefined();
  removeServerRecord(root);
  removeServerRecord(root);
  expect(existsSync(join(root, 'run', 'server.json'))).toBe(false);
});

it('loses what was half-written, and nothing else', () => {
  makeStateRoot(root);
  for (const folder of ['blobs/tmp', 'sandboxes/skills/new-1-abc', 'sandboxes/skills/abc'])
    mkdirSync(join(root, folder), { recursive: true });
  const files = ['blobs/tmp/x', 'admin.key.12.tmp', 'run/server.json.12.tmp', 'admin.key', 'sandboxes/skills/abc/SKILL.md'];
  for (const file of files) writeFileSync(join(root, file), 'x');
  clearTemporary(root);
  expect(files.filter((file) => existsSync(join(root, file)))).toEqual(['admin.key', 'sandboxes/skills/abc/SKILL.md']);
  expect(existsSync(join(root, 'sandboxes/skills/new-1-abc'))).toBe(false);
});

it('has a host id that stays', () => {
  makeStateRoot(root);
  const id = hostId(root);
  expect(id).toMatch(/^host-[0-9a-f]{12}$/);
  expect(hostId(root)).toBe(id);
});
