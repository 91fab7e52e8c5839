/** A real agent, Claude Code from npm, finds a skill of the box over MCP and calls it. Its model is a script on this machine. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { claudeProgram, quietClaude } from '../support/claude-code.ts';
import { startScriptedModel } from '../support/scripted-model.ts';
import { pythonAnswer } from '../support/skills.ts';
import { built } from './cli-process.ts';

const withinMs = 60_000;

let claude: string;
let box: TestBox;
let key: string;
let home: string;

beforeAll(async () => {
  claude = claudeProgram();
  box = await startTestBox();
  key = await box.newKey('acme', ['skills:read', 'skills:write', 'executions:run', 'executions:read']);
  home = mkdtempSync(join(tmpdir(), 'skillbox-claude-'));
  const head = 'name: adder\nversion: 1.0.0\ndescription: Adds two numbers.\nlang: python';
  const schema = 'input_schema: {type: object, properties: {a: {type: number}, b: {type: number}}, required: [a, b]}';
  const program = pythonAnswer('given = json.load(open("/sandbox/input.json"))\nvalue = {"sum": given["a"] + given["b"]}');
  expect((await box.push({ 'SKILL.md': `---\n${head}\n${schema}\n---\nAdds.\n`, 'main.py': program }, key)).status).toBe(201);
});

afterAll(async () => {
  await box.stop();
  rmSync(home, { recursive: true, force: true });
});

it.each([
  ['over HTTP', []],
  ['over stdio', ['--stdio']],
])(
  'discovers a skill and calls it, %s, as skillbox mcp install has set it up',
  async (_way, flags) => {
    const tool = 'mcp__skillbox__skill_adder';
    const model = await startScriptedModel({ tool, input: { a: 20, b: 22 } });
    try {
      const installed = await built(['mcp', 'install', 'claude', '--server', box.url, ...flags], { HOME: home });
      expect(installed.exit, installed.stderr).toBe(0);
      expect(readFileSync(join(home, '.claude.json'), 'utf8')).not.toContain(key);
      const before = await executions();
      const words = ['-p', 'Add 20 and 22 with the tool you have.', '--output-format', 'json', '--allowedTools', tool];
      const { code, stdout, stderr } = await run(model.url, words);
      expect(code, `${stdout}\n${stderr}`).toBe(0);
      expect([...model.offered]).toContain(tool);
      expect(model.heard.join('\n')).toContain('"sum":42');
      expect((JSON.parse(stdout) as { result: string }).result).toContain('42');
      expect(await executions()).toBe(before + 1);
    } finally {
      await model.close();
    }
  },
  withinMs + 10_000,
);

const executions = async (): Promise<number> =>
  (await box.json<{ items: unknown[] }>('/v1/executions?skill=adder&status=success', { key })).body.items.length;

/** With a home of its own, and nothing it would ask of the world. */
function run(model: string, args: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = {
    ...{ PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', ANTHROPIC_BASE_URL: model, SKILLBOX_API_KEY: key },
    ...quietClaude,
  };
  const child = spawn(claude, args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
}
