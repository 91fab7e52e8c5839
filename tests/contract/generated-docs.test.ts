import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { settings } from '../../packages/box/src/config.ts';
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
