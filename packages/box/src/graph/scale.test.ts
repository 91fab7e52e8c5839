import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manyItems } from '../../../../tests/support/many-items.ts';
import { loadConfig } from '../config.ts';
import { render } from './render.ts';

const folder = mkdtempSync(join(tmpdir(), 'scale-'));
afterAll(() => rmSync(folder, { recursive: true }));
describe('500 services and 2,000 items', () => {
  it.each([false, true])('are rendered in under a second of a core, why: %s', async (why) => {
    writeFileSync(join(folder, 'skillbox.yaml'), manyItems);
    const config = loadConfig({ cwd: folder, env: {} });
    const runtime = { config, server: false, signal: new AbortController().signal, progress: () => undefined };
    // Time of this process: the others of a busy machine do not count.
    const before = process.cpuUsage();
    const rendered = await render(runtime, { profiles: [] }, { why });
    const { user, system } = process.cpuUsage(before);
    expect((rendered.graph.services as unknown[]).length).toBe(501);
    expect(rendered.why.length > 10_000).toBe(why);
    expect((user + system) / 1000).toBeLessThan(1000);
  });

  it('one fault among them is found, at its line', async () => {
    writeFileSync(join(folder, 'skillbox.yaml'), manyItems.replace('depends_on: []', 'depends_on: [svc-499]'));
    const config = loadConfig({ cwd: folder, env: {} });
    const runtime = { config, server: false, signal: new AbortController().signal, progress: () => undefined };
    // The first that has no dependency is a task, and a task knows no service.
    await expect(render(runtime, { profiles: [] }, { why: false })).rejects.toMatchObject({
      code: 'graph_invalid',
      details: { findings: [{ code: 'graph.unknown_reference', path: 'graph.tasks[0].depends_on[0]' }] },
    });
  });
});
