/** A real agent lives in the workspace: Claude Code from npm works there, and asks the box through the tools that are there without a key. */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Sandbox } from '@skillbox/protocol';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { claudeProgram, quietClaude } from '../support/claude-code.ts';

const withinMs = 60_000;

let folder: string;
let box: TestBox;
let sandbox: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-agent-'));
  const manifest = join(folder, 'skillbox.yaml');
  writeFileSync(manifest, "version: 1\ngraph:\n  services:\n    - { id: web, command: 'exec sleep 600' }\n");
  const stateRoot = join(folder, 'state');
  // As an operator puts it there.
  mkdirSync(join(stateRoot, 'home/.local/bin'), { recursive: true });
  copyFileSync(claudeProgram(), join(stateRoot, 'home/.local/bin/claude'));
  // Nothing inside reaches the host, so the model must be inside too.
  mkdirSync(join(stateRoot, 'workspace'), { recursive: true });
  await build({
    stdin: { contents: modelProgram, resolveDir: join(import.meta.dirname, '../support'), loader: 'ts' },
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', outfile: join(stateRoot, 'workspace/model.mjs') },
  });
  box = await startTestBox({ SKILLBOX_STATE_ROOT: stateRoot, SKILLBOX_MANIFEST: manifest });
  sandbox = (await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace' } })).body.id;
}, 60_000);

afterAll(async () => {
  await box?.json(`/v1/sandboxes/${sandbox}`, { method: 'DELETE' });
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Says where it listens, and does what its arguments say. */
const modelProgram = `
import { writeFileSync } from 'node:fs';
import { startScriptedModel } from './scripted-model.ts';
const [tool = '', input = '{}'] = process.argv.slice(2);
writeFileSync('url', (await startScriptedModel({ tool, input: JSON.parse(input) })).url);
`;

it('with the tools of the box, as skillbox mcp install sets them up without a key', { timeout: withinMs + 10_000 }, async () => {
  expect(await inside('skillbox mcp install claude')).toMatchObject({ exit_code: 0 });
  const said = await ask('mcp__skillbox__skillbox_status', {});
  expect(said).toMatch(/"services":\[{"id":"api",.*"state":"running"/);
  expect(said).toMatch(/"id":"web",.*"state":"declared"/);
});

it('with programs of its own', { timeout: withinMs + 10_000 }, async () => {
  const command =
    'git init -q made && skillbox up --service web --json > up.json; id -un; ls; sed "s/.*\\"id\\":\\"web\\",\\"result\\":\\"\\([a-z]*\\).*/web \\1/" up.json';
  const said = await ask('Bash', { command });
  expect(said).toMatch(/sandbox\n[\s\S]*made\n[\s\S]*web started/);
  await box.json('/v1/runtime/down', { body: {} });
  await box.json('/v1/runtime/pulse/stop', { body: {} });
});

async function ask(tool: string, input: unknown): Promise<string> {
  const quoted = JSON.stringify(input).replaceAll("'", "'\\''");
  const { exit_code, stdout, stderr } = await inside(`
    rm -f url; node model.mjs ${tool} '${quoted}' & model=$!
    until [ -s url ]; do sleep 0.1; done
    ANTHROPIC_BASE_URL=$(cat url) timeout ${withinMs / 1000} claude -p 'Use the tool you have.' --output-format json --allowedTools ${tool}
    end=$?; kill $model; exit $end`);
  expect(exit_code, `${stdout}\n${stderr}`).toBe(0);
  return (JSON.parse(stdout) as { result: string }).result;
}

async function inside(cmd: string): Promise<{ exit_code: number | null; stdout: string; stderr: string }> {
  const body = { cmd, cwd: '/workspace', env: quietClaude, timeout: '90s' };
  return (await box.json<{ exit_code: number | null; stdout: string; stderr: string }>(`/v1/sandboxes/${sandbox}/programs`, { body })).body;
}
