import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { render } from './render.ts';

const folder = mkdtempSync(join(tmpdir(), 'scale-'));
afterAll(() => rmSync(folder, { recursive: true }));
const many = (count: number, make: (n: number) => string): string => Array.from({ length: count }, (_, n) => `    - ${make(n)}\n`).join('');

/** 500 services in a chain, and 2,000 items in all. */
const manifest = `version: 1
graph:
  repos:
${many(400, (n) => `{id: repo-${n}, path: "\${SKILLBOX_REPOS_ROOT}/r${n}", source: {url: https://example.org/r${n}.git, branch: main}}`)}
  artifacts:
${many(300, (n) => `{id: art-${n}, path: bin/a${n}, source: {url: https://example.org/a${n}, sha256: ${'ab'.repeat(32)}, executable: true}}`)}
  env_files:
${many(300, (n) => `{id: env-${n}, path: /workspace/repos/r${n}/.env, repo: repo-${n}, required: true, source: {path: secrets/${n}.env}}`)}
  logs:
${many(100, (n) => `{id: log-${n}, path: "\${SKILLBOX_LOG_ROOT}/l${n}", retention_days: 7}`)}
  tasks:
${many(300, (n) => `{id: task-${n}, command: "make \${SKILLBOX_NAME}", depends_on: [${n ? `task-${n - 1}` : ''}], outputs: [out/${n}]}`)}
  checks:
${many(100, (n) => `{id: check-${n}, path: "\${SKILLBOX_MONOSERVER_ROOT}/c${n}"}`)}
  services:
${many(
  500,
  (n) => `id: svc-${n}
      repo: repo-${n % 400}
      command: run --port ${10_000 + n}
      env: {PORT: ${10_000 + n}, LOGS: "\${SKILLBOX_LOG_ROOT}"}
      depends_on: [${n ? `svc-${n - 1}` : ''}]
      healthcheck: {type: http, url: "http://127.0.0.1:${10_000 + n}/health"}
      log: log-${n % 100}`,
)}`;

describe('500 services and 2,000 items', () => {
  it.each([false, true])('are rendered in under a second of a core, why: %s', async (why) => {
    writeFileSync(join(folder, 'skillbox.yaml'), manifest);
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
    writeFileSync(join(folder, 'skillbox.yaml'), manifest.replace('depends_on: []', 'depends_on: [svc-499]'));
    const config = loadConfig({ cwd: folder, env: {} });
    const runtime = { config, server: false, signal: new AbortController().signal, progress: () => undefined };
    // The first that has no dependency is a task, and a task knows no service.
    await expect(render(runtime, { profiles: [] }, { why: false })).rejects.toMatchObject({
      code: 'graph_invalid',
      details: { findings: [{ code: 'graph.unknown_reference', path: 'graph.tasks[0].depends_on[0]' }] },
    });
  });
});
