import { Validator } from '@seriousme/openapi-schema-validator';
import { type ExecutionStatus, isErrorCode } from '@skillbox/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { type RequestOptions, startTestBox, type TestBox } from '../support/box.ts';
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
  box = await startTestBox();
  document = (await box.json<Document>('/openapi.json', { key: null })).body;
  ajv.addSchema({ ...document, $id: 'box:openapi' });
});
afterAll(() => box.stop());

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
      expect(described.sort(), name).toEqual(Object.keys(input.shape).sort());
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

    const key = await expectFit('key.create', '/v1/keys', { body: { name: 'ci', expires_in: '24h' }, status: 201 });
    await expectFit('key.create', '/v1/keys', { body: { name: 'for ever' }, status: 201 });
    await expectFit('key.create', '/v1/keys', { body: { name: 'too long', expires_in: '999999999h' }, status: 400 });
    await expectFit('key.create', '/v1/keys', { body: { name: 'long', expires_in: '60000000h' }, status: 201 });
    await expectFit('key.list', '/v1/keys', { status: 200 });
    await expectFit('key.revoke', `/v1/keys/${key.id}`, { status: 200 });
    await expectFit('tenant.set', '/v1/tenants/acme', { body: { slots: 3 }, status: 200 });
    await expectFit('tenant.list', '/v1/tenants', { status: 200 });
    await expectFit('credits.grant', '/v1/credits/grants', { body: { tenant: 'default', amount: 0.000001 }, status: 201 });
    await expectFit('route.explain', '/v1/templates/burst/route', { status: 200 });
    await expectFit('route.explain', '/v1/templates/vm-attach/route', { status: 200 });
    await expectFit('host.inspect', '/v1/host', { status: 200 });
    await expectFit('host.canary', '/v1/host/canary', { body: {}, status: 200 });
    await expectFit('host.inspect', '/v1/host', { status: 200 });
    await expectFit('host.stale', '/v1/host/stale', { status: 200 });
    await expectFit('host.reap', '/v1/host/reap', { body: { dry_run: true }, status: 200 });
    await expectFit('credits.show', '/v1/credits', { status: 200 });
    await expectFit('credits.history', '/v1/credits/history', { status: 200 });
    await expectFit('event.list', '/v1/events', { status: 200 });
    await expectFit('event.list', '/v1/events?type=audit.&limit=1', { status: 200 });
    await expectFit('box.health', '/health', { status: 200 });
    await expectFit('box.ready', '/ready', { status: 200 });

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
    const paths: Record<string, string> = {
      'execution.delete': `/v1/executions/${spare}`,
      'execution.logs': `/v1/executions/${id}/logs`,
      'execution.events': `/v1/executions/${id}/events`,
      'execution.archive': `/v1/executions/${id}/files.tar.gz`,
      'execution.file': `/v1/executions/${id}/files/a`,
      'skill.delete': '/v1/skills/plain/1.0.0',
    };
    const others = commands.filter(({ output }) => output.kind !== 'json');
    expect(Object.keys(paths).sort()).toEqual(others.map(({ name }) => name).sort());
    for (const { name, http, output } of others) {
      const response = await box.request(paths[name] ?? '', { method: http.method });
      const described = document.paths[http.path.replace(/:(\w+)\*?/g, '{$1}')]?.[http.method.toLowerCase()]?.responses ?? {};
      expect(Object.keys(described)).toContain(String(response.status));
      const [type] = Object.keys(described[response.status]?.content ?? { '': {} });
      expect((response.headers.get('content-type') ?? '').split(';')[0], name).toBe(type);
      const body = await response.text();
      if (output.kind !== 'events') continue;
      for (const [, data = ''] of body.matchAll(/^data: (.*)$/gm))
        expect(faults(JSON.parse(data), 'components', 'schemas', 'ExecutionEvent')).toEqual([]);
    }
  });
});
