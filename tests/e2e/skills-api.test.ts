import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SkillDetail, SkillSummary } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { startTestBox, type TestBox } from '../support/box.ts';
import { echoSkill, shellSkill, skill, zipOf } from './wire.ts';

const maxSkillSize = 256 * 1024;
let box: TestBox;
beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_MAX_SKILL_SIZE: String(maxSkillSize) });
});
afterAll(() => box.stop());

const zipHeaders = { 'Content-Type': 'application/zip' };
const pushZip = (zip: Buffer, key?: string) =>
  box.json('/v1/skills', { body: new Uint8Array(zip), headers: zipHeaders, ...(key && { key }) });
const names = (page: { items: { name: string }[] }) => page.items.map(({ name }) => name);

/** Everything a push could leave: files of the state root, rows, and the tenant's bytes. */
async function traces(): Promise<unknown> {
  const { kysely } = box.box.store.database;
  const skills = await kysely.selectFrom('skills').select(['tenant', 'name', 'version', 'digest']).execute();
  const usage = await kysely.selectFrom('tenant_usage').selectAll().execute();
  const events = await kysely.selectFrom('events').select('id').where('type', 'like', 'skill.%').execute();
  const files = (readdirSync(box.stateRoot, { recursive: true, encoding: 'utf8' }) as string[])
    // The database's own files grow by themselves.
    .filter((path) => !path.startsWith('db/') && statSync(join(box.stateRoot, path)).isFile())
    .sort();
  return { skills, usage, events, files };
}

describe('push', () => {
  it('takes a zip as the body: 201, then 200 for the same content, whatever the zip looks like', async () => {
    const files = echoSkill('by-body');
    const first = await box.request('/v1/skills', { body: new Uint8Array(await zipOf(files)), headers: zipHeaders });
    expect(first.status).toBe(201);
    expect(first.headers.get('location')).toBe('/v1/skills/by-body/1.0.0');
    const pushed = (await first.json()) as SkillDetail & { created: boolean };
    expect(pushed).toMatchObject({ name: 'by-body', version: '1.0.0', lang: 'python', mode: 'executable', created: true, warnings: [] });
    expect(pushed.files.map(({ path }) => path).sort()).toEqual(['SKILL.md', 'main.py']);

    const inFolder = Object.fromEntries(Object.entries(files).map(([path, text]) => [`by-body/${path}`, text]));
    const again = await pushZip(await zipOf(inFolder));
    expect(again).toMatchObject({ status: 200, body: { created: false, digest: pushed.digest, created_at: pushed.created_at } });
  });

  it('takes a multipart form with the part file', async () => {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(await zipOf(echoSkill('by-form')))], { type: 'application/zip' }), 'x.zip');
    expect(await box.json('/v1/skills', { body: form })).toMatchObject({ status: 201, body: { name: 'by-form' } });
    expect((await box.run('by-form', { input: [1] })).output).toEqual([1]);
  });

  it('refuses a form without the part, and a form that is broken', async () => {
    const form = new FormData();
    form.set('other', new Blob(['x']), 'x.zip');
    expect(await box.json('/v1/skills', { body: form })).toMatchObject({ status: 400, body: { error: 'bad_request' } });
    const headers = { 'Content-Type': 'multipart/form-data; boundary=abc' };
    expect(await box.json('/v1/skills', { body: '--abc\r\nnonsense', headers })).toMatchObject({
      status: 400,
      body: { error: 'bad_request' },
    });
  });

  it('answers 409 with the next free version in the hint, and keeps what was there', async () => {
    await box.push(echoSkill('fixed'));
    await box.push(echoSkill('fixed', { version: '1.0.1' }));
    const { status, body } = await box.push(shellSkill('fixed'));
    expect(status).toBe(409);
    expect(body).toMatchObject({ error: 'version_conflict', details: { name: 'fixed', version: '1.0.0', next_version: '1.0.2' } });
    expect(body.hint).toContain('1.0.2');
    expect(await box.json('/v1/skills/fixed/1.0.0')).toMatchObject({ body: { lang: 'python' } });
  });

  it('has one winner among pushes of the same content at once', async () => {
    const zip = await zipOf(echoSkill('same-race'));
    const answers = await Promise.all(Array.from({ length: 8 }, () => pushZip(zip)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body.digest)).size).toBe(1);
  });

  it('has one winner among pushes of different content at once, and what is stored is the winner', async () => {
    const before = await box.box.tenants.get('default');
    const zips = await Promise.all(
      Array.from({ length: 8 }, (_, index) => zipOf(skill('bash', 'other-race', `echo '"${index}"' > "$SANDBOX_OUTPUT"\n`))),
    );
    const answers = await Promise.all(zips.map((zip) => pushZip(zip)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
    const winner = answers.findIndex(({ status }) => status === 201);
    expect((await box.run('other-race')).output).toBe(String(winner));
    const stored = await box.json<SkillDetail>('/v1/skills/other-race/latest');
    expect(stored.body.digest).toBe(answers[winner]?.body.digest);
    const rows = await box.box.store.database.kysely.selectFrom('skills').select('size').where('name', '=', 'other-race').execute();
    expect(rows).toHaveLength(1);
    const after = await box.box.tenants.get('default');
    expect(after.storage_used_bytes - before.storage_used_bytes).toBe(rows[0]?.size);
  });
});

describe('a refused push leaves nothing', () => {
  const refusals: [string, () => Promise<{ status: number; body: Record<string, unknown> }>, object][] = [
    ['a body that is too large', () => pushZip(Buffer.alloc(maxSkillSize + 1)), { status: 413, body: { error: 'too_large' } }],
    [
      'a form that is too large',
      () => {
        const form = new FormData();
        form.set('file', new Blob([Buffer.alloc(maxSkillSize + 1)]), 'x.zip');
        return box.json('/v1/skills', { body: form });
      },
      { status: 413, body: { error: 'too_large', details: { max_bytes: maxSkillSize } } },
    ],
    [
      'another media type',
      () => box.json('/v1/skills', { body: '{}', headers: { 'Content-Type': 'application/json' } }),
      { status: 415, body: { error: 'unsupported_media_type' } },
    ],
    ['what is no zip', () => pushZip(Buffer.from('not a zip at all')), { status: 422, body: { error: 'invalid_skill' } }],
    ['an empty body', () => pushZip(Buffer.alloc(0)), { status: 422 }],
    [
      'front matter with faults',
      async () => pushZip(await zipOf({ 'SKILL.md': '---\nname: bad\nversion: one\ndescription: x\nlang: cobol\n---\n', 'main.py': '' })),
      { status: 422, body: { error: 'invalid_skill' } },
    ],
    [
      'a zip without SKILL.md',
      async () => pushZip(await zipOf({ 'README.md': 'x' })),
      { status: 422, body: { error: 'invalid_skill', message: expect.stringContaining('SKILL.md') } },
    ],
    [
      'a link',
      async () => pushZip(await hostileZip((zip) => zip.addBuffer(Buffer.from('/etc/passwd'), 'link', { mode: 0o120777 }))),
      { status: 422, body: { error: 'security_scan_failed', details: { scan_id: expect.any(String), categories: ['link'] } } },
    ],
    [
      'an archive in the archive',
      async () => {
        const inner = await zipOf({ 'a.txt': 'a' });
        return pushZip(await hostileZip((zip) => zip.addBuffer(inner, 'inner.zip')));
      },
      { status: 422, body: { error: 'security_scan_failed', details: { scan_id: expect.any(String), categories: ['nested_archive'] } } },
    ],
    [
      'a bomb',
      async () => pushZip(await hostileZip((zip) => zip.addBuffer(Buffer.alloc(40 * 1024 * 1024), 'zeros.bin'))),
      { status: 422, body: { error: 'security_scan_failed', details: { categories: expect.arrayContaining(['too_large']) } } },
    ],
  ];

  it.each(refusals)('%s', async (_name, push, expected) => {
    const before = await traces();
    expect(await push()).toMatchObject(expected);
    expect(await traces()).toEqual(before);
  });

  it('names file, line, fault and fix of each error', async () => {
    const { body } = await box.push({ 'SKILL.md': '---\nname: bad\nversion: one\ndescription: x\nlang: cobol\n---\n', 'main.py': '' });
    const { findings } = body.details as { findings: Record<string, unknown>[] };
    expect(findings.filter(({ severity }) => severity === 'error').length).toBeGreaterThanOrEqual(2);
    for (const finding of findings) {
      expect(finding).toMatchObject({ code: expect.any(String), file: 'SKILL.md', message: expect.stringMatching(/\S/) });
      expect(finding.fix).toMatch(/\S/);
      expect(finding.line).toBeGreaterThan(0);
    }
    expect(findings.find(({ line }) => line === 3)?.message).toContain('version');
  });
});

describe('versions', () => {
  it('means by latest the highest version, and a pre-release only when there is nothing else', async () => {
    const key = await box.newKey('versions');
    const latest = async (name: string) => (await box.json<SkillDetail>(`/v1/skills/${name}/latest`, { key })).body.version;
    for (const version of ['1.9.0', '1.10.0', '2.0.0-rc.1', '1.2.0'])
      expect(await box.push(echoSkill('many', { version }), key)).toMatchObject({ status: 201 });
    expect(await latest('many')).toBe('1.10.0');
    expect((await box.run('many', {}, key)).skill_version).toBe('1.10.0');
    expect((await box.run('many', { version: '2.0.0-rc.1' }, key)).skill_version).toBe('2.0.0-rc.1');

    const { body } = await box.json<{ items: SkillSummary[] }>('/v1/skills/many/versions', { key });
    expect(body.items.map(({ version }) => version)).toEqual(['2.0.0-rc.1', '1.10.0', '1.9.0', '1.2.0']);
    expect(await box.json('/v1/skills', { key })).toMatchObject({ body: { items: [{ name: 'many', version: '1.10.0' }] } });

    for (const version of ['0.1.0-alpha.2', '0.1.0-alpha.10', '0.1.0-alpha.1']) await box.push(echoSkill('early', { version }), key);
    expect(await latest('early')).toBe('0.1.0-alpha.10');
    await box.push(echoSkill('early', { version: '0.0.9' }), key);
    expect(await latest('early')).toBe('0.0.9');
  });

  it('deletes one version: 204, then 404, and latest moves on', async () => {
    const key = await box.newKey('deleting');
    await box.push(echoSkill('gone', { version: '1.0.0' }), key);
    await box.push(echoSkill('gone', { version: '1.1.0' }), key);
    const run = await box.run('gone', { input: 7 }, key);
    const deleted = await box.request('/v1/skills/gone/1.1.0', { method: 'DELETE', key });
    expect([deleted.status, await deleted.text()]).toEqual([204, '']);
    expect(await box.json('/v1/skills/gone/1.1.0', { method: 'DELETE', key })).toMatchObject({ status: 404 });
    expect(await box.json('/v1/skills/gone/1.1.0', { key })).toMatchObject({ status: 404, body: { error: 'skill_not_found' } });
    const gone = await box.json('/v1/executions', { body: { skill: 'gone', version: '1.1.0' }, key });
    expect(gone).toMatchObject({ status: 404, body: { error: 'skill_not_found' } });
    expect(await box.run('gone', { input: 8 }, key)).toMatchObject({ skill_version: '1.0.0', output: 8 });
    expect(await box.json('/v1/skills/gone/latest', { key })).toMatchObject({ status: 200, body: { version: '1.0.0' } });
    await box.request('/v1/skills/gone/1.0.0', { method: 'DELETE', key });
    expect(await box.json('/v1/skills/gone/versions', { key })).toMatchObject({ status: 404, body: { error: 'skill_not_found' } });
    expect(await box.json('/v1/skills', { key })).toMatchObject({ body: { items: [], next_cursor: null } });
    // The record of what it did stays; it said nothing, so no byte of storage does.
    expect(await box.json(`/v1/executions/${run.execution_id}`, { key })).toMatchObject({ body: { output: 7, skill_version: '1.1.0' } });
    expect((await box.box.tenants.get('deleting')).storage_used_bytes).toBe(0);
  });

  it('lets a deleted version be pushed anew, with other content', async () => {
    const key = await box.newKey('anew');
    await box.push(echoSkill('anew'), key);
    await box.run('anew', {}, key);
    await box.request('/v1/skills/anew/1.0.0', { method: 'DELETE', key });
    await box.push(shellSkill('anew'), key);
    expect((await box.run('anew', { env: { RUN: 'echo two' } }, key)).logs).toBe('two\n');
  });
});

describe('reading', () => {
  it('shows everything the front matter said', async () => {
    const extra = [
      'timeout: 90s',
      'license: MIT',
      'env:\n  MODE: fast',
      'resources:\n  memory: 64Mi\n  cpu: "0.5"',
      'input_schema:\n  type: object\n  required: [text]',
      'output_schema:\n  type: object',
    ].join('\n');
    await box.push(echoSkill('full', { extra: `${extra}\n` }));
    const { body } = await box.json('/v1/skills/full/1.0.0');
    expect(body).toMatchObject({
      timeout_ms: 90_000,
      license: 'MIT',
      env: { MODE: 'fast' },
      resources: { cpu: 0.5, memory_bytes: 64 * 1024 * 1024 },
      entrypoint: 'main.py',
      input_schema: { type: 'object', required: ['text'] },
      output_schema: { type: 'object' },
      instructions: 'For tests.',
    });
  });

  it('lists page by page, each skill once, by name', async () => {
    const key = await box.newKey('pages');
    const all = ['a', 'b.c', 'b-c', 'b_c', 'Z', 'd', 'e0', 'e1'];
    for (const name of all) await box.push(echoSkill(name), key);
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await box.json<{ items: SkillSummary[]; next_cursor: string | null }>(`/v1/skills?limit=3${query}`, { key });
      expect(body.items.length).toBeLessThanOrEqual(3);
      seen.push(...names(body));
      cursor = body.next_cursor;
      pages += 1;
    } while (cursor !== null && pages < 10);
    expect(pages).toBe(3);
    expect([...seen].sort()).toEqual([...all].sort());
  });

  it.each([
    ['limit=0', 'bad_request'],
    ['limit=501', 'bad_request'],
    ['limit=x', 'bad_request'],
    ['cursor=nonsense', 'invalid_cursor'],
    ['limit=1&limit=2', 'bad_request'],
    ['unknown=1', 'bad_request'],
  ])('refuses ?%s', async (query, error) => {
    expect(await box.json(`/v1/skills?${query}`)).toMatchObject({ status: 400, body: { error } });
  });

  it('gives each file as it was pushed, to be kept and not to be opened as a page', async () => {
    const files = { ...echoSkill('with-files'), 'notes/a b.html': '<script>alert(1)</script>' };
    const { body } = await box.push(files);
    expect((body as unknown as SkillDetail).files.map(({ path }) => path).sort()).toEqual(Object.keys(files).sort());
    for (const [path, text] of Object.entries(files)) {
      const address = `/v1/skills/with-files/latest/files/${path.split('/').map(encodeURIComponent).join('/')}`;
      const response = await box.request(address);
      expect(await response.text()).toBe(text);
      expect(response.headers.get('content-type')).toBe('application/octet-stream');
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/);
      expect(response.headers.get('content-security-policy')).toContain('sandbox');
    }
    for (const path of ['absent', 'notes', '..%2f..%2fadmin.key', 'SKILL.md%00']) {
      const { status } = await box.json(`/v1/skills/with-files/1.0.0/files/${path}`);
      expect([path, status]).toEqual([path, 404]);
    }
  });

  it('finds skills by words, best first, only in the latest version', async () => {
    const key = await box.newKey('finding');
    await box.push(echoSkill('chart-maker', { description: 'Draws charts of numbers.' }), key);
    await box.push(echoSkill('word-counter', { description: 'Counts words; no drawing here.' }), key);
    const search = async (q: string) => names((await box.json<never>(`/v1/skills/search?q=${encodeURIComponent(q)}`, { key })).body);
    expect(await search('chart')).toEqual(['chart-maker']);
    expect((await search('counting words'))[0]).toBe('word-counter');
    expect(await search('zebra')).toEqual([]);
    await box.push(echoSkill('chart-maker', { version: '2.0.0', description: 'Something else entirely about zebras.' }), key);
    expect(await search('zebra')).toEqual(['chart-maker']);
    expect(await box.json('/v1/skills/search?q=', { key })).toMatchObject({ status: 400 });
  });

  it('answers 404 for names and versions that are not there', async () => {
    await box.push(echoSkill('present'));
    for (const path of ['/v1/skills/absent/latest', '/v1/skills/absent/1.0.0', '/v1/skills/present/9.9.9', '/v1/skills/absent/versions'])
      expect(await box.json(path)).toMatchObject({ status: 404, body: { error: 'skill_not_found' } });
  });
});

describe('plain Agent Skills', () => {
  it('pushes a folder as it is, shows it, and says why it cannot be run', async () => {
    const files = {
      'pdf-forms/SKILL.md':
        '---\nname: pdf-forms\ndescription: Fill in PDF forms. Use when the user mentions a form.\nlicense: Complete terms in LICENSE.txt\nallowed-tools: Read Bash\nmetadata:\n  author: somebody\n---\n\n# Forms\n\nRun `scripts/fill.py`, see references/fields.md.\n',
      'pdf-forms/LICENSE.txt': 'Terms.',
      'pdf-forms/references/fields.md': '# Fields',
      'pdf-forms/assets/form.css': 'body{}',
      'pdf-forms/scripts/fill.py': 'print("for the agent, not for the box")\n',
    };
    const { status, body } = await box.push(files);
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: 'pdf-forms', mode: 'cognitive', lang: null, entrypoint: null, version: '1.0.0' });
    expect((body.files as { path: string }[]).map(({ path }) => path).sort()).toEqual(
      Object.keys(files)
        .map((path) => path.slice('pdf-forms/'.length))
        .sort(),
    );
    const shown = await box.json('/v1/skills/pdf-forms/latest');
    expect(shown.body).toMatchObject({ metadata: expect.objectContaining({ author: 'somebody' }) });
    expect(shown.body.instructions).toMatch(/^# Forms/);
    const run = await box.json('/v1/executions', { body: { skill: 'pdf-forms' } });
    expect(run).toMatchObject({ status: 422, body: { error: 'not_executable' } });
    expect(`${run.body.message} ${run.body.hint}`).toContain('pdf-forms');
  });
});

async function hostileZip(add: (zip: ZipFile) => void): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, text] of Object.entries(echoSkill('hostile'))) zip.addBuffer(Buffer.from(text), path);
  add(zip);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
