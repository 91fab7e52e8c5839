/** A real server on a free port with a state root of its own, in this process, and a client for it. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Execution, Scope } from '@skillbox/protocol';
import { loadConfig } from '../../packages/box/src/config.ts';
import { createLog } from '../../packages/box/src/observe/log.ts';
import { livingStates } from '../../packages/box/src/sandbox/records.ts';
import { startServer } from '../../packages/box/src/server/serve.ts';
import { packArchive } from '../../packages/box/src/skills/archive.ts';

export interface TestBox {
  readonly url: string;
  readonly key: string;
  readonly stateRoot: string;
  readonly box: Awaited<ReturnType<typeof startServer>>['box'];
  request(path: string, options?: RequestOptions): Promise<Response>;
  json<T = Record<string, unknown>>(path: string, options?: RequestOptions): Promise<{ status: number; body: T; headers: Headers }>;
  newKey(tenant: string, scopes?: Scope[]): Promise<string>;
  /** Pushes a skill made of these files, SKILL.md included. */
  push(files: Record<string, string>, key?: string): Promise<{ status: number; body: Record<string, unknown> }>;
  run(skill: string, request?: Record<string, unknown>, key?: string): Promise<Execution>;
  stop(): Promise<void>;
}

export interface RequestOptions {
  readonly method?: string;
  readonly key?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export async function startTestBox(env: Record<string, string> = {}): Promise<TestBox> {
  const stateRoot = env.SKILLBOX_STATE_ROOT ?? mkdtempSync(join(tmpdir(), 'skillbox-test-'));
  const config = loadConfig({
    cwd: stateRoot,
    env: { SKILLBOX_API_PORT: '0', SKILLBOX_LOG_LEVEL: 'error', SKILLBOX_TENANT_RATE: '100000', ...env, SKILLBOX_STATE_ROOT: stateRoot },
  });
  const server = await startServer(config, createLog(config.logLevel));
  const { url, box } = server;
  const key = readFileSync(join(stateRoot, 'admin.key'), 'utf8').trim();

  const request: TestBox['request'] = (path, { method, key: given = key, headers = {}, body, signal } = {}) => {
    const raw = body instanceof Uint8Array || body instanceof FormData || typeof body === 'string';
    return fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(given && { Authorization: `Bearer ${given}` }),
        ...(body !== undefined && !raw && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: raw ? (body as BodyInit) : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  };
  const json: TestBox['json'] = async <T>(path: string, options?: RequestOptions) => {
    const response = await request(path, options);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : null) as T };
  };

  return {
    ...{ url, key, stateRoot, box, request, json },
    async newKey(tenant, scopes = ['skills:read', 'skills:write', 'executions:read', 'executions:run']) {
      const { body } = await json<{ key: string }>('/v1/keys', { body: { name: `test ${tenant}`, tenant, scopes } });
      return body.key;
    },
    async push(files, pushKey) {
      const list = Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, data: Buffer.from(text) }));
      const zip = await packArchive(list);
      return json('/v1/skills', {
        body: new Uint8Array(zip),
        headers: { 'Content-Type': 'application/zip' },
        ...(pushKey && { key: pushKey }),
      });
    },
    async run(skill, more = {}, runKey) {
      const { status, body } = await json<Execution>('/v1/executions', { body: { skill, ...more }, ...(runKey && { key: runKey }) });
      if (status >= 300) throw new Error(`run answered ${status}: ${JSON.stringify(body)}`);
      return body;
    },
    async stop() {
      // They would outlive the server.
      const living = await box.store.database.kysely
        .selectFrom('sandboxes')
        .select(['id', 'tenant'])
        .where('state', 'in', livingStates)
        .execute();
      const actor = { kind: 'adm', id: 'test' } as const;
      for (const { id, tenant } of living) await box.sandboxes.destroy({ tenant, actor, scopes: ['admin'] }, id, 'the test is over');
      await server.stop();
      rmSync(stateRoot, { recursive: true, force: true });
    },
  };
}

/** A skill that runs the code in its input: what a threat test needs. */
export function probeSkill(lang: 'python' | 'node' | 'bash', extra = ''): Record<string, string> {
  const name = `probe-${lang}`;
  const head = `---\nname: ${name}\nversion: 1.0.0\ndescription: Runs the code in its input, for tests.\nlang: ${lang}\n${extra}---\n\nRuns input.code.\n`;
  const programs = {
    python: [
      'main.py',
      'import json, os\ncode = json.load(open("/sandbox/input.json"))["code"]\nexec(compile(code, "probe", "exec"), {"__name__": "__main__"})\n',
    ],
    node: [
      'main.js',
      'const { code } = JSON.parse(require("fs").readFileSync("/sandbox/input.json", "utf8"));\nnew (Object.getPrototypeOf(async () => {}).constructor)("require", code)(require).catch((error) => { console.error(error); process.exit(1); });\n',
    ],
    bash: ['main.sh', 'eval "$PROBE"\n'],
  } as const;
  const [file, text] = programs[lang];
  return { 'SKILL.md': head, [file]: text };
}
