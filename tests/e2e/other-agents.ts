/**
 * Codex and OpenCode from npm find a skill of a box over MCP and call it, as `skillbox mcp install` has set them up: make agents. Their
 * models are scripts on this machine. What Claude Code does is claude-code.test.ts; these two are 800 MB, and so are not part of every run.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startTestBox } from '../support/box.ts';
import { type ScriptedModel, startScriptedModel } from '../support/scripted-model.ts';
import { startScriptedResponses } from '../support/scripted-responses.ts';
import { pythonAnswer } from '../support/skills.ts';
import { built } from './cli-process.ts';

const programs = join(import.meta.dirname, '../agents/others/node_modules/.bin');
const withinMs = 90_000;
const use = { tool: 'skill_adder', input: { a: 20, b: 22 } };
const prompt = 'Add 20 and 22 with the tool you have.';

interface Agent {
  readonly file: string;
  startModel(): Promise<ScriptedModel>;
  /** What its user has in its settings already: the model. */
  settings(model: string): string;
  readonly words: readonly string[];
  readonly env: Record<string, string>;
}

const agents: Readonly<Record<string, Agent>> = {
  codex: {
    file: '.codex/config.toml',
    startModel: () => startScriptedResponses(use),
    settings: (model) =>
      [
        'model = "scripted"',
        'model_provider = "scripted"',
        '',
        '[model_providers.scripted]',
        'name = "Scripted"',
        `base_url = "${model}/v1"`,
        'wire_api = "responses"',
        '',
      ].join('\n'),
    words: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    env: {},
  },
  opencode: {
    file: '.config/opencode/opencode.json',
    startModel: () => startScriptedModel({ ...use, tool: 'skillbox_skill_adder' }),
    settings: (model) =>
      JSON.stringify({
        provider: {
          anthropic: { options: { baseURL: `${model}/v1`, apiKey: 'scripted' }, models: { scripted: { name: 'Scripted' } } },
        },
        permission: 'allow',
        share: 'disabled',
        autoupdate: false,
      }),
    words: ['run', '--model', 'anthropic/scripted', prompt],
    env: { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
  },
};

const box = await startTestBox();
let failed = 0;
try {
  const key = await box.newKey('acme', ['skills:read', 'skills:write', 'executions:run', 'executions:read']);
  const head = 'name: adder\nversion: 1.0.0\ndescription: Adds two numbers.\nlang: python';
  const schema = 'input_schema: {type: object, properties: {a: {type: number}, b: {type: number}}, required: [a, b]}';
  const program = pythonAnswer('given = json.load(open("/sandbox/input.json"))\nvalue = {"sum": given["a"] + given["b"]}');
  await box.push({ 'SKILL.md': `---\n${head}\n${schema}\n---\nAdds.\n`, 'main.py': program }, key);
  const runs = async (): Promise<number> =>
    (await box.json<{ items: unknown[] }>('/v1/executions?skill=adder&status=success', { key })).body.items.length;

  for (const [name, agent] of Object.entries(agents)) {
    for (const flags of [[], ['--stdio']]) {
      const before = await runs();
      const found = await tryAgent(name, agent, flags, key);
      const findings = [...found, ...((await runs()) === before + 1 ? [] : ['the skill did not run once'])];
      console.log(`${findings.length === 0 ? 'ok    ' : 'FAILED'} ${name}, over ${flags.length > 0 ? 'stdio' : 'HTTP'}`);
      for (const finding of findings) console.log(`       ${finding}`);
      failed += findings.length === 0 ? 0 : 1;
    }
  }
} finally {
  await box.stop();
}
process.exitCode = failed > 0 ? 1 : 0;

/** What was not as it should be. */
async function tryAgent(name: string, agent: Agent, flags: readonly string[], key: string): Promise<string[]> {
  const home = mkdtempSync(join(tmpdir(), `skillbox-${name}-`));
  const model = await agent.startModel();
  try {
    const file = join(home, agent.file);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, agent.settings(model.url));
    const installed = await built(['mcp', 'install', name, '--server', box.url, ...flags], { HOME: home });
    if (installed.exit !== 0) return [`mcp install: ${installed.stderr}`];
    if (readFileSync(file, 'utf8').includes(key)) return ['the key stands in a file'];
    const { code, said } = await run(join(programs, name), agent, home, key);
    const findings = [
      ...(code === 0 ? [] : [`it ended with ${code}`]),
      ...([...model.offered].some((tool) => tool.endsWith(use.tool)) ? [] : [`its model was offered ${[...model.offered].join(', ')}`]),
      ...(/"sum\\?":\s*42/.test(model.heard.join('\n')) ? [] : [`its model heard ${JSON.stringify(model.heard)}`]),
      ...(said.includes('42') ? [] : ['its user did not hear 42']),
    ];
    return findings.length === 0 ? [] : [...findings, `it said: ${said.slice(-2000)}`];
  } finally {
    await model.close();
    rmSync(home, { recursive: true, force: true });
  }
}

/** With a home of its own. */
function run(program: string, { words, env }: Agent, home: string, key: string): Promise<{ code: number | null; said: string }> {
  const child = spawn(program, words, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', SKILLBOX_API_KEY: key, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, said });
    });
  });
}
