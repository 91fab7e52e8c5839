import { Validator } from '@seriousme/openapi-schema-validator';
import { type ExecutionStatus, isErrorCode } from '@skillbox/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { type RequestOptions, startTestBox, type TestBox } from '../support/box.ts';
import { graphEnv } from '../support/graph-box.ts';
import { echoSkill, shellSkill } from './wire.ts';

type Json = Record<string, unknown>;
interface Operation {
  readonly operationId: string;
  readonly parameters: { name: string; in: string; required?: boolean }[];
  readonly requestBody?: { content: Record<string, { schema: Json }> };
  readonly responses: Record<string, { $ref?: string; content?: Record<string, { schema: Json }> }>;
}
interface Document extends Json {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { schemas: Record<string, Json> };
}

let box: TestBox;
let document: Document;
const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true, formats: { base64: true } }));

beforeAll(async () => {
  box = await startTestBox({ ...graphEnv(), SKILLBOX_PIP_INDEX: 'http://index.invalid/simple/' });
  document = (await box.json<Document>('/openapi.json', { key: null })).body;
  ajv.addSchema({ ...document, $id: 'box:openapi' });
});
afterAll(async () => {
  await box.json('/v1/runtime/down', { body: {} });
  await box.stop();
});

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
const pointer = (...parts: string[]) =>
  `#/${parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;

/** Faults of a value against a place in the document. */
function faults(value: unknown, ...place: string[]): unknown {
  const validate = ajv.getSchema(`box:openapi${pointer(...place)}`);
  if (!validate) throw new Error(`There is no schema at ${place.join(' / ')}`);
  return validate(value) ? [] : validate.errors;
}

describe('the document', () => {
  it('is valid OpenAPI 3.1 by an independent validator', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    expect(document.openapi).toMatch(/^3\.1\./);
  });

  it('has every command of the registry, once, with its path, parameters and error', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect([...ids].sort()).toEqual(commands.map(({ name }) => name).sort());
    for (const { name, http, input } of commands) {
      const path = http.path.replace(/:(\w+)\*?/g, '{$1}');
      const operation = document.paths[path]?.[http.method.toLowerCase()];
      expect(operation?.operationId).toBe(name);
      expect(operation?.responses.default?.$ref).toBe('#/components/responses/Error');
      const inPath = [...http.path.matchAll(/:(\w+)/g)].map((match) => match[1]);
      expect(operation?.parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name)).toEqual(inPath);
      const body = operation?.requestBody?.content;
      const described = [
        ...(operation?.parameters ?? []).filter((parameter) => parameter.in !== 'header').map((parameter) => parameter.name),
        ...Object.keys(
          http.upload ? { archive: true } : ((resolved(body?.['application/json']?.schema)?.properties as Json | undefined) ?? {}),
        ),
      ];
      // Bytes as they are stand in the document as a media type, not as a field.
      const fields = Object.keys(input.shape).filter((field) => !(http.raw && field === 'body'));
      expect(described.sort(), name).toEqual(fields.sort());
    }
  });

  it('refers to nothing that is not there', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(references.length).toBeGreaterThan(10);
    for (const reference of new Set(references))
      expect([reference, resolved({ $ref: reference })]).toEqual([reference, expect.any(Object)]);
  });

  it('compiles as JSON Schema 2020-12, every schema of it', () => {
    for (const name of Object.keys(document.components.schemas)) expect(() => faults(null, 'components', 'schemas', name)).not.toThrow();
  });

  it('needs no key, and says which routes do', async () => {
    for (const { operation } of operations()) {
      const scope = commands.find(({ name }) => name === operation.operationId)?.scope;
      expect((operation as unknown as { security: unknown[] }).security).toEqual(scope === null ? [] : [{ key: [] }]);
    }
  });
});

function resolved(schema: Json | undefined): Json | undefined {
  const reference = schema?.$ref;
  if (typeof reference !== 'string') return schema;
  const parts = reference
    .replace(/^#\//, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let place: unknown = document;
  for (const part of parts) place = (place as Json | undefined)?.[part];
  return place as Json | undefined;
}

describe('answers fit what the document says', () => {
  const covered = new Set<string>();
  const expectFit = async (name: string, path: string, options: RequestOptions & { status: number }) => {
    const command = commands.find((candidate) => candidate.name === name);
    const route = command?.http.path.replace(/:(\w+)\*?/g, '{$1}') ?? '';
    const method = command?.http.method ?? 'GET';
    const answer = await box.json(path, { ...options, method });
    expect([name, answer.status]).toEqual([name, options.status]);
    const place = ['paths', route, method.toLowerCase(), 'responses', String(options.status), 'content', 'application/json', 'schema'];
    if (answer.status < 300) {
      expect(faults(answer.body, ...place), `${name}: ${JSON.stringify(answer.body)}`).toEqual([]);
      covered.add(name);
    } else {
      expect(faults(answer.body, 'components', 'schemas', 'Error')).toEqual([]);
      expect(isErrorCode(String(answer.body.error))).toBe(true);
      expect(document.components.schemas.ErrorCode?.enum).toContain(answer.body.error);
    }
    return answer.body;
  };

  it('for every command that answers with JSON', async () => {
    const extra = 'timeout: 5s\nresources: {memory: 64Mi, cpu: "1"}\ninput_schema: {type: object}\nenv: {A: b}\n';
    const zip = async (files: Record<string, string>) => {
      const form = new FormData();
      const { zipOf } = await import('./wire.ts');
      form.set('file', new Blob([new Uint8Array(await zipOf(files))]), 'skill.zip');
      return form;
    };
    await expectFit('skill.push', '/v1/skills', { body: await zip(echoSkill('echo', { extra })), status: 201 });
    await expectFit('skill.push', '/v1/skills', { body: await zip(echoSkill('echo', { extra })), status: 200 });
    await box.push(shellSkill());
    const plain = { 'SKILL.md': '---\nname: plain\ndescription: Instructions only.\nmetadata: {a: {b: 1}}\n---\nRead.\n' };
    await expectFit('skill.push', '/v1/skills', { body: await zip(plain), status: 201 });
    await expectFit('skill.list', '/v1/skills?limit=1', { status: 200 });
    await expectFit('skill.list', '/v1/skills', { status: 200 });
    await expectFit('skill.search', '/v1/skills/search?q=echo', { status: 200 });
    await expectFit('skill.versions', '/v1/skills/echo/versions', { status: 200 });
    await expectFit('skill.show', '/v1/skills/echo/latest', { status: 200 });
    await expectFit('skill.show', '/v1/skills/plain/latest', { status: 200 });
    const needy = { ...echoSkill('needy'), 'requirements.txt': 'nothing-there==1.0\n' };
    await expectFit('skill.push', '/v1/skills', { body: await zip(needy), status: 201 });
    await expectFit('skill.show', '/v1/skills/needy/latest', { status: 200 });
    await expectFit('skill.build', '/v1/skills/needy/latest/build', { body: {}, status: 202 });
    await expectFit('skill.list', '/v1/skills', { status: 200 });

    const runs: [string, ExecutionStatus][] = [
      ['echo hi; echo {} > $SANDBOX_OUTPUT; echo a > $SANDBOX_FILES_DIR/a', 'success'],
      ['exit 3', 'failed'],
      ['kill -9 $$', 'failed'],
      ['sleep 9', 'timeout'],
    ];
    let id = '';
    for (const [run, status] of runs) {
      const body = await expectFit('execution.create', '/v1/executions', {
        body: { skill: 'shell', env: { RUN: run }, timeout: '500ms' },
        status: 200,
      });
      expect(body.status).toBe(status);
      id = String(body.execution_id);
      await expectFit('execution.get', `/v1/executions/${id}`, { status: 200 });
      await expectFit('execution.files', `/v1/executions/${id}/files`, { status: 200 });
    }
    const accepted = await expectFit('execution.create', '/v1/executions', {
      body: { skill: 'shell', env: { RUN: 'sleep 20' }, wait: false },
      status: 202,
    });
    await expectFit('execution.get', `/v1/executions/${accepted.execution_id}`, { status: 200 });
    await expectFit('execution.cancel', `/v1/executions/${accepted.execution_id}/cancel`, { status: 200 });
    await expectFit('execution.list', '/v1/executions', { status: 200 });

    await expectFit('execution.figures', '/v1/executions/figures?window=24h', { status: 200 });
    const link = await expectFit('signin.link', '/v1/sign-in/links', { body: {}, status: 201 });
    await expectFit('signin.exchange', '/v1/sign-in', { body: { code: link.code }, key: null, status: 201 });
    await expectFit('signin.exchange', '/v1/sign-in', { body: { code: link.code }, key: null, status: 403 });
    await expectFit('key.self', '/v1/keys/self', { status: 200 });

    const key = await expectFit('key.create', '/v1/keys', { body: { name: 'ci', expires_in: '24h' }, status: 201 });
    await expectFit('key.create', '/v1/keys', { body: { name: 'for ever' }, status: 201 });
    await expectFit('key.create', '/v1/keys', { body: { name: 'too long', expires_in: '999999999h' }, status: 400 });
    await expectFit('key.create', '/v1/keys', { body: { name: 'long', expires_in: '60000000h' }, status: 201 });
    await expectFit('key.list', '/v1/keys', { status: 200 });
    await expectFit('key.revoke', `/v1/keys/${key.id}`, { status: 200 });
    await expectFit('tenant.set', '/v1/tenants/acme', { body: { slots: 3 }, status: 200 });
    await expectFit('tenant.list', '/v1/tenants', { status: 200 });
    await expectFit('credits.grant', '/v1/credits/grants', { body: { tenant: 'default', amount: 0.000001 }, status: 201 });
    await expectFit('secret.set', '/v1/secrets/TOKEN', { body: { value: 'x' }, status: 200 });
    await expectFit('secret.list', '/v1/secrets', { status: 200 });
    await expectFit('route.explain', '/v1/templates/burst/route', { status: 200 });
    await expectFit('route.explain', '/v1/templates/vm-attach/route', { status: 200 });
    await expectFit('host.inspect', '/v1/host', { status: 200 });
    await expectFit('host.canary', '/v1/host/canary', { body: {}, status: 200 });
    await expectFit('host.inspect', '/v1/host', { status: 200 });
    await expectFit('host.doctor', '/v1/host/doctor', { status: 200 });
    await expectFit('host.stale', '/v1/host/stale', { status: 200 });
    await expectFit('host.reap', '/v1/host/reap', { body: { dry_run: true }, status: 200 });
    const made = await expectFit('sandbox.create', '/v1/sandboxes', {
      body: { template: 'base', labels: { a: 'b' }, ttl: '5m' },
      status: 201,
    });
    const sandbox = `/v1/sandboxes/${made.id}`;
    await expectFit('sandbox.get', sandbox, { status: 200 });
    await expectFit('sandbox.list', '/v1/sandboxes?limit=1', { status: 200 });
    await expectFit('sandbox.exec', `${sandbox}/programs`, { body: { cmd: 'echo hi' }, status: 200 });
    const sleeping = await expectFit('sandbox.exec', `${sandbox}/programs`, { body: { cmd: 'sleep 30', wait: false }, status: 202 });
    await expectFit('sandbox.programs', `${sandbox}/programs`, { status: 200 });
    await expectFit('sandbox.program', `${sandbox}/programs/${sleeping.program_id}`, { status: 200 });
    await expectFit('sandbox.file.write', `${sandbox}/files?path=a.txt`, {
      body: 'text',
      headers: { 'Content-Type': 'application/octet-stream' },
      status: 200,
    });
    await expectFit('sandbox.file.stat', `${sandbox}/files/stat?path=a.txt`, { status: 200 });
    await expectFit('sandbox.file.list', `${sandbox}/files/list?path=.`, { status: 200 });
    await expectFit('sandbox.file.mkdir', `${sandbox}/files/mkdir`, { body: { path: 'folder' }, status: 201 });
    await expectFit('sandbox.file.move', `${sandbox}/files/move`, { body: { from: 'a.txt', to: 'b.txt' }, status: 200 });
    await expectFit('sandbox.preview', `${sandbox}/ports/8000/link`, { body: {}, status: 200 });
    await expectFit('sandbox.metrics', `${sandbox}/metrics`, { status: 200 });
    await expectFit('sandbox.ttl', `${sandbox}/ttl`, { body: { ttl: '10m' }, status: 200 });
    await expectFit('sandbox.network', `${sandbox}/network`, { body: { mode: 'none' }, status: 200 });
    const taken = await expectFit('sandbox.snapshot', `${sandbox}/snapshots`, { body: { name: 'first' }, status: 201 });
    await expectFit('snapshot.list', '/v1/snapshots', { status: 200 });
    await expectFit('sandbox.restore', `${sandbox}/restore`, { body: { snapshot: taken.id }, status: 200 });
    const forks = (await expectFit('sandbox.fork', `${sandbox}/fork`, { body: {}, status: 201 })) as { items?: { id: string }[] };
    await expectFit('sandbox.pause', `${sandbox}/pause`, { body: {}, status: 200 });
    await expectFit('sandbox.resume', `${sandbox}/resume`, { body: {}, status: 200 });
    await expectFit('sandbox.recreate', `${sandbox}/recreate`, { body: {}, status: 200 });
    await expectFit('sandbox.events', `${sandbox}/events`, { status: 200 });
    for (const fork of forks.items ?? []) await expectFit('sandbox.destroy', `/v1/sandboxes/${fork.id}`, { status: 200 });
    await expectFit('sandbox.destroy', sandbox, { status: 200 });
    await expectFit('template.list', '/v1/templates', { status: 200 });
    await expectFit('template.show', '/v1/templates/base', { status: 200 });
    await expectFit('template.apply', '/v1/templates/mine', { body: { description: 'Mine' }, status: 200 });
    await expectFit('credits.show', '/v1/credits', { status: 200 });
    await expectFit('credits.history', '/v1/credits/history', { status: 200 });
    await expectFit('event.list', '/v1/events', { status: 200 });
    await expectFit('event.list', '/v1/events?type=audit.&limit=1', { status: 200 });
    const hook = { name: 'hub', url: 'https://hub.example/', events: ['skill.never'] };
    await expectFit('webhook.create', '/v1/webhooks', { body: hook, status: 201 });
    await expectFit('webhook.create', '/v1/webhooks', { body: hook, status: 409 });
    await expectFit('webhook.list', '/v1/webhooks', { status: 200 });
    await expectFit('webhook.show', '/v1/webhooks/hub', { status: 200 });
    await expectFit('webhook.deliveries', '/v1/webhooks/hub/deliveries', { status: 200 });
    await expectFit('webhook.retry', '/v1/webhooks/hub/retry', { body: {}, status: 200 });
    await box.json('/v1/webhooks', { body: { name: 'near', url: 'http://localhost:9/' } });
    await expectFit('webhook.test', '/v1/webhooks/near/test', { body: {}, status: 200 });
    await expectFit('box.health', '/health', { status: 200 });
    await expectFit('box.ready', '/ready', { status: 200 });

    const runtime = '/v1/runtime';
    await expectFit('box.describe', '/v1/sandbox', { status: 200 });
    await expectFit('render', `${runtime}/graph?client=acme&why=true`, { status: 200 });
    await expectFit('render', `${runtime}/graph?client=nobody`, { status: 404 });
    await expectFit('status', `${runtime}?client=acme`, { status: 200 });
    await expectFit('sync', `${runtime}/sync`, { body: { client: 'acme' }, status: 200 });
    await expectFit('bootstrap', `${runtime}/bootstrap`, { body: { task: 'make' }, status: 200 });
    await expectFit('up', `${runtime}/up`, { body: { service: 'web' }, status: 200 });
    await expectFit('status', runtime, { status: 200 });
    await expectFit('logs', `${runtime}/logs?service=web&lines=5`, { status: 200 });
    await expectFit('restart', `${runtime}/restart`, { body: { service: 'web', dry_run: true }, status: 200 });
    await expectFit('focus', `${runtime}/focus`, { body: { client_id: 'acme' }, status: 200 });
    await expectFit('context', `${runtime}/context`, { body: { client: 'acme', dry_run: true }, status: 200 });
    await expectFit('doctor', `${runtime}/doctor`, { status: 200 });
    await expectFit('pulse.start', `${runtime}/pulse/start`, { body: {}, status: 200 });
    await expectFit('pulse', `${runtime}/pulse`, { status: 200 });
    await expectFit('pulse.stop', `${runtime}/pulse/stop`, { body: {}, status: 200 });
    await expectFit('down', `${runtime}/down`, { body: { service: 'web' }, status: 200 });
    const session = await expectFit('session.start', `${runtime}/sessions`, { body: { client_id: 'acme', label: 'a' }, status: 200 });
    const own = `${runtime}/sessions/${session.session_id}`;
    await expectFit('session.event', `${own}/events`, { body: { message: 'noted', detail: { a: [1] } }, status: 200 });
    await expectFit('session.heartbeat', `${own}/heartbeat`, { body: {}, status: 200 });
    await expectFit('session.end', `${own}/end`, { body: { summary: 'done' }, status: 200 });
    await expectFit('session.event', `${own}/events`, { body: { message: 'late' }, status: 409 });
    await expectFit('session.resume', `${own}/resume`, { body: {}, status: 200 });
    await expectFit('session.show', own, { status: 200 });
    await expectFit('session.status', `${runtime}/sessions?client_id=acme`, { status: 200 });

    await expectFit('skill.show', '/v1/skills/absent/latest', { status: 404 });
    await expectFit('execution.create', '/v1/executions', { body: { skill: 'echo', input: 1 }, status: 422 });
    await expectFit('execution.create', '/v1/executions', { body: { nonsense: 1 }, status: 400 });
    await expectFit('execution.cancel', `/v1/executions/${id}/cancel`, { status: 409 });
    await expectFit('skill.list', '/v1/skills', { key: null, status: 401 });

    expect([...covered].sort()).toEqual(
      commands
        .filter(({ output }) => output.kind === 'json')
        .map(({ name }) => name)
        .sort(),
    );
  });

  it('for what is no JSON: the type is the one described', async () => {
    const { execution_id: id } = await box.run('shell', { env: { RUN: 'echo hi; echo a > $SANDBOX_FILES_DIR/a' } });
    const { execution_id: spare } = await box.run('shell', { env: { RUN: 'true' } });
    const { body: sandbox } = await box.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base', ttl: '5m' } });
    const inside = `/v1/sandboxes/${sandbox.id}`;
    const start = async (body: object) => (await box.json<{ program_id: number }>(`${inside}/programs`, { body })).body.program_id;
    const ended = await start({ cmd: 'echo hi' });
    const reading = await start({ cmd: 'cat', stdin: true, wait: false });
    const terminal = await start({ cmd: 'sleep 30', pty: { cols: 80, rows: 24 }, wait: false });
    await box.request(`${inside}/files?path=a.txt`, { method: 'PUT', body: 'text' });
    const { body: snapshot } = await box.json<{ id: string }>(`${inside}/snapshots`, { body: {} });
    const bodies: Record<string, unknown> = {
      'sandbox.stdin': { data: 'x' },
      'sandbox.signal': { signal: 'SIGTERM' },
      'sandbox.resize': { cols: 100, rows: 30 },
    };
    const paths: Record<string, string> = {
      'sandbox.output': `${inside}/programs/${ended}/events`,
      'sandbox.stdin': `${inside}/programs/${reading}/stdin`,
      'sandbox.stdin.close': `${inside}/programs/${reading}/stdin`,
      'sandbox.resize': `${inside}/programs/${terminal}/resize`,
      'sandbox.signal': `${inside}/programs/${terminal}/signal`,
      'sandbox.file.read': `${inside}/files?path=a.txt`,
      'sandbox.file.remove': `${inside}/files?path=a.txt`,
      'sandbox.file.watch': `${inside}/files/watch?path=.`,
      'snapshot.delete': `/v1/snapshots/${snapshot.id}`,
      'execution.delete': `/v1/executions/${spare}`,
      'execution.logs': `/v1/executions/${id}/logs`,
      'execution.events': `/v1/executions/${id}/events`,
      'event.follow': '/v1/events/stream',
      'signin.end': '/v1/sign-in',
      'execution.archive': `/v1/executions/${id}/files.tar.gz`,
      'execution.file': `/v1/executions/${id}/files/a`,
      'skill.file': '/v1/skills/plain/1.0.0/files/SKILL.md',
      'skill.delete': '/v1/skills/plain/1.0.0',
      'skill.build-log': '/v1/skills/needy/latest/build',
      'secret.delete': '/v1/secrets/TOKEN',
      'webhook.delete': '/v1/webhooks/hub',
    };
    // Signals last, since what is signalled takes no more.
    const others = commands
      .filter(({ output }) => output.kind !== 'json')
      .sort((one, other) => Number(one.name === 'sandbox.signal') - Number(other.name === 'sandbox.signal'));
    expect(Object.keys(paths).sort()).toEqual(others.map(({ name }) => name).sort());
    for (const { name, http } of others) {
      const hangUp = new AbortController();
      const response = await box.request(paths[name] ?? '', {
        method: http.method,
        signal: hangUp.signal,
        ...(bodies[name] !== undefined && { body: bodies[name] }),
      });
      const described = document.paths[http.path.replace(/:(\w+)\*?/g, '{$1}')]?.[http.method.toLowerCase()]?.responses ?? {};
      expect(Object.keys(described)).toContain(String(response.status));
      const [type] = Object.keys(described[response.status]?.content ?? { '': {} });
      expect((response.headers.get('content-type') ?? '').split(';')[0], name).toBe(type);
      // These have no end of their own.
      const endless = ['sandbox.file.watch', 'event.follow'].includes(name);
      if (endless) hangUp.abort();
      if (endless) continue;
      const body = await response.text();
      if (name !== 'execution.events') continue;
      for (const [, data = ''] of body.matchAll(/^data: (.*)$/gm))
        expect(faults(JSON.parse(data), 'components', 'schemas', 'ExecutionEvent')).toEqual([]);
    }
  });
});
