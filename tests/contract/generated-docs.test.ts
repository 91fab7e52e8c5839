import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig, settings } from '../../packages/box/src/config.ts';
import { examineGraph } from '../../packages/box/src/graph/load.ts';
import { type JsonSchema, manifestJsonSchema } from '../../packages/box/src/manifest/json-schema.ts';
import { checkManifest } from '../../packages/box/src/manifest/load.ts';
import { refresh } from '../../scripts/docs/generated-file.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

describe('generated documents', () => {
  it('are current', () => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/run-ts.mjs', 'scripts/generate-docs.ts', '--check'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('a stale one is named, and only written when asked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'docs-'));
    const file = { file: 'docs/a.md', render: () => 'new' };
    expect(await refresh(folder, [file], true)).toEqual(['docs/a.md']);
    expect(await refresh(folder, [file], false)).toEqual(['docs/a.md']);
    expect(await refresh(folder, [file], true)).toEqual([]);
    expect(await refresh(folder, [{ ...file, render: () => 'newer' }], true)).toEqual(['docs/a.md']);
    rmSync(folder, { recursive: true });
  });

  it('name every variable once', () => {
    for (const { env } of Object.values(settings)) {
      expect(read('docs/configuration.md').split(`| \`${env}\` |`)).toHaveLength(2);
      expect(read('.env.example').split(`\n# ${env}=`)).toHaveLength(2);
    }
  });
});

describe('the example of docs/manifest.md', () => {
  const example = /```yaml\n([\s\S]*?)```/.exec(read('docs/manifest.md'))?.[1] ?? '';

  it('is a good manifest', () => {
    const files = { homes: [], realPath: (path: string) => path, isProgram: () => true };
    const { manifest, findings } = checkManifest(example, 'example', { stateRoot: '/srv/box', maxConcurrentExecs: 10, files });
    expect(findings).toEqual([]);
    expect(manifest?.tenants.acme?.storage).toBe(2 ** 31);
  });

  it('shows every key there is', () => {
    expect(missingKeys(manifestJsonSchema(), parse(example), '')).toEqual([]);
  });

  it('declares a graph that can be loaded, as does the overlay of docs/box-manifest.md', () => {
    const folder = mkdtempSync(join(tmpdir(), 'docs-'));
    const put = (file: string, text: string) => {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    };
    // Paths of the machine that reads it are not there here.
    put('skillbox.yaml', example.replace(/\nsandbox:[\s\S]*?\n(?=# Limits)/, '\n'));
    put('.skillbox-state/clients/personal/overlay.yaml', 'version: 1\nclient: {id: personal}\n');
    const overlay = /```yaml\n([\s\S]*?)```/.exec(read('docs/box-manifest.md'))?.[1] ?? '';
    put('.skillbox-state/clients/acme/overlay.yaml', overlay);
    const config = loadConfig({ cwd: folder, env: {} });
    expect(examineGraph(config, { profiles: ['local-core'] })).toMatchObject({ findings: [], graph: { client: { id: 'personal' } } });
    // The repo of the example is for the other client, and what names it is missing then.
    put('skillbox.yaml', 'version: 1\ngraph: {connectors: [github]}\n');
    const { graph, findings } = examineGraph(loadConfig({ cwd: folder, env: {} }), { client: 'acme', profiles: ['local-core'] });
    expect(findings).toEqual([]);
    expect(graph?.services.map(({ id, template }) => [id, template])).toEqual([
      ['api', undefined],
      ['app-dev', 'workspace'],
    ]);
    rmSync(folder, { recursive: true });
  });
});

function missingKeys(schema: JsonSchema, value: unknown, path: string): string[] {
  const given = (value ?? {}) as Record<string, unknown>;
  const own = Object.entries(schema.properties ?? {}) as [string, JsonSchema][];
  const missing = own.flatMap(([key, child]) =>
    Object.hasOwn(given, key) ? missingKeys(child, given[key], `${path}.${key}`) : [`${path}.${key}`],
  );
  const rest = schema.additionalProperties;
  return typeof rest === 'object' ? [...missing, ...missingKeys(rest as JsonSchema, Object.values(given)[0], `${path}.*`)] : missing;
}
