import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../config.ts';
import type { Runtime } from '../runtime.ts';
import { recentActivity } from '../runtime-log.ts';
import { addSessionEvent, beatSession, endSession, listSessions, resumeSession, showSession, startSession } from './sessions.ts';

let folder: string;
let runtime: Runtime;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-sessions-'));
  mkdirSync(join(folder, '.skillbox-state/clients/acme'), { recursive: true });
  writeFileSync(join(folder, '.skillbox-state/clients/acme/overlay.yaml'), 'version: 1\nclient:\n  id: acme\n');
  const config = loadConfig({ cwd: folder, env: {} });
  runtime = { config, server: false, signal: new AbortController().signal, progress: () => undefined };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('is for a client that has an overlay, and says which there are', async () => {
  await expect(startSession(runtime, { client_id: 'acne' })).rejects.toMatchObject({
    code: 'client_not_found',
    hint: 'Did you mean acme?',
  });
  await expect(listSessions(runtime, { client_id: 'acne', limit: 5 })).rejects.toMatchObject({ code: 'client_not_found' });
  expect(await listSessions(runtime, { client_id: 'acme', limit: 5 })).toEqual({ items: [] });
});

it('can be started while the manifest is wrong, and read when the client is gone', async () => {
  writeFileSync(join(folder, 'skillbox.yaml'), 'nonsense: [');
  const config = loadConfig({ cwd: folder, env: {} });
  const { session_id } = await startSession({ ...runtime, config }, { client_id: 'acme' });
  rmSync(join(folder, '.skillbox-state/clients/acme'), { recursive: true });
  expect((await listSessions(runtime, { client_id: 'acme', limit: 5 })).items).toMatchObject([{ session_id }]);
});

it('leaves its turns in the history of the box, and its notes in its own timeline', async () => {
  const { session_id: id } = await startSession(runtime, { client_id: 'acme', label: 'search' });
  const event = await addSessionEvent(runtime, {
    id,
    type: 'decision',
    message: 'add an index',
    detail: { table: 'posts', message: 'no' },
  });
  expect(event.detail).toEqual({ table: 'posts', message: 'add an index' });
  await beatSession(runtime, id);
  await endSession(runtime, { id, state: 'failed' });
  await resumeSession(runtime, id);
  const activity = recentActivity(runtime.config.stateRoot, 10);
  expect(activity.map(({ type, subject }) => [type, subject])).toEqual([
    ['session.started', `session:${id}`],
    ['session.ended', `session:${id}`],
    ['session.resumed', `session:${id}`],
  ]);
  expect(JSON.stringify(activity)).not.toContain('add an index');
  expect((await showSession(runtime, id)).timeline).toHaveLength(4);
});
