/** The SDKs run one scenario, each against a box of its own, and must see what it says, and the same. README.md here has the format. */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { packArchive } from '../../packages/box/src/skills/archive.ts';
import { startTestBox } from '../support/box.ts';
import { graphEnv } from '../support/graph-box.ts';
import { startHub } from '../support/hub.ts';
import { type Fault, openGate, type Passed } from './gate.ts';
import { at, masked, misfits, withVariables } from './observations.ts';
import { installed } from './programs.ts';

interface Step {
  readonly name: string;
  readonly call: string;
  readonly with?: Record<string, unknown>;
  readonly as?: Record<string, unknown>;
  readonly keep?: Record<string, string>;
  readonly fails?: boolean;
  readonly see?: readonly string[];
  readonly expect?: Record<string, unknown>;
}

interface Driver {
  readonly command: readonly [string, ...string[]];
  readonly env?: Record<string, string>;
  readonly needs?: string;
}

interface Observation {
  readonly step: string;
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Run {
  readonly observations: readonly Observation[];
  readonly exit: number | null;
  readonly said: string;
  readonly passed: readonly Passed[];
  readonly downloaded: readonly string[];
}

const root = join(import.meta.dirname, '../..');
const scenarioFile = join(import.meta.dirname, 'scenario.json');
const { steps, gates } = JSON.parse(readFileSync(scenarioFile, 'utf8')) as { steps: Step[]; gates: Record<string, Fault[]> };
const listed = Object.entries(JSON.parse(readFileSync(join(import.meta.dirname, 'drivers.json'), 'utf8')) as Record<string, Driver>);
const drivers = listed.filter(([, { needs }]) => needs === undefined || installed(needs) !== undefined);
const runs = new Map<string, Run>();
const [first] = drivers.map(([name]) => name);
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-sdks-'));
  // One after the other: each has its box for itself, and the machine.
  for (const [name, driver] of drivers) runs.set(name, await drive(name, driver));
}, 240_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const runOf = (name: string | undefined): Run => {
  const run = runs.get(name ?? '');
  if (run) return run;
  throw new Error(`${name} did not run`);
};

// A skip, which CI refuses: the others can be compared all the same.
it.skipIf(drivers.length < listed.length)('every driver has the program that it needs', () => expect(drivers).toEqual(listed));

describe.each(drivers.map(([name]) => name))('%s', (name) => {
  it('runs every step, and each as the scenario says', () => {
    const { exit, observations, said } = runOf(name);
    expect({ exit, said, steps: observations.length }).toEqual({ exit: 0, said: '', steps: steps.length });
    const variables: Record<string, unknown> = {};
    const wrong = steps.flatMap((step, index) => {
      const { step: ran, result, error } = observations[index] ?? { step: 'nothing' };
      if (ran !== step.name) return [`${step.name}: ${ran} ran instead`];
      if (step.fails !== (error !== undefined || undefined)) return [`${step.name}: ${JSON.stringify(error ?? result)?.slice(0, 400)}`];
      for (const [variable, pointer] of Object.entries(step.keep ?? {})) variables[variable] = at(result, pointer);
      const wanted = withVariables(step.expect ?? {}, variables) as Record<string, unknown>;
      return misfits(step.fails ? error : result, wanted).map((misfit) => `${step.name}: ${misfit}`);
    });
    expect(wrong).toEqual([]);
  });

  it('has a method for every route of the box', () => {
    const { passed } = runOf(name);
    const unused = commands.flatMap(({ name: command, http }) => {
      const pattern = new RegExp(
        `^${http.path
          .replaceAll('.', '\\.')
          .replace(/:\w+\*/g, '.+')
          .replace(/:\w+/g, '[^/]+')}$`,
      );
      return passed.some(({ method, path }) => method === http.method && pattern.test(path)) ? [] : [command];
    });
    expect(unused).toEqual([]);
  });

  it('tries again under the key of the first attempt, and only what may be repeated', () => {
    const through = (gate: string) => runOf(name).passed.filter((one) => one.gate === gate);
    expect(through('busy')).toHaveLength(3);
    expect(new Set(through('busy').map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    expect(through('busy')[0]?.idempotencyKey).toMatch(/.{16,}/);
    expect(through('full')).toHaveLength(2);
    expect(through('doubt')).toHaveLength(1);
    expect(through('cut').map(({ lastEventId }) => lastEventId)).toEqual([undefined, '2', '2']);
  });

  it('downloads what there is, where it was told', () => {
    expect(runOf(name).downloaded).toEqual(['a.txt: first\n', 'in.txt: hello\n', 'sub folder/ü.txt: sécond\n']);
  });
});

describe.each(drivers.slice(1).map(([name]) => name))(`%s beside ${first}`, (name) => {
  it('saw the same, step by step', () => {
    const seen = (run: Run) =>
      Object.fromEntries(
        steps.map(({ name: step, see = [''] }, index) => {
          const { result, error } = run.observations[index] ?? { step };
          return [step, masked(Object.fromEntries(see.map((pointer) => [pointer, at(error ?? result, pointer)])))];
        }),
      );
    expect(seen(runOf(name))).toEqual(seen(runOf(first)));
  });
});

async function drive(name: string, { command, env = {} }: Driver): Promise<Run> {
  const box = await startTestBox({ ...graphEnv(), SKILLBOX_WEBHOOK_PRIVATE_ADDRESSES: 'allow' });
  const hub = await startHub();
  const gate = await openGate(box.url, gates);
  const out = join(folder, name);
  mkdirSync(out);
  try {
    const variables = {
      ...{ skills: join(root, 'examples/skills'), out, hub: hub.url, gate: `${gate.url}/gate` },
      ...{ zip: await zipped('1.0.0'), zip2: await zipped('1.1.0') },
    };
    const [program, ...args] = command;
    const child = spawn(program, args, {
      cwd: root,
      env: {
        ...{ PATH: process.env.PATH, HOME: process.env.HOME, ...env },
        ...{ SKILLBOX_URL: gate.url, SKILLBOX_API_KEY: box.key, SCENARIO: scenarioFile, VARIABLES: JSON.stringify(variables) },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 100_000,
    });
    const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
    const [lines, said, exit] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const observations = lines
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Observation);
    return {
      observations,
      exit,
      said,
      passed: gate.passed,
      downloaded: existsSync(join(out, 'files')) ? contentsOf(join(out, 'files')) : [],
    };
  } finally {
    gate.close();
    await hub.close();
    await box.stop();
  }
}

async function zipped(version: string): Promise<string> {
  const head = `---\nname: zipped\nversion: ${version}\ndescription: Came as a zip.\nlang: bash\n---\nDoes nothing.\n`;
  const path = join(folder, `zipped-${version}.zip`);
  const files = { 'SKILL.md': head, 'main.sh': 'true\n' };
  writeFileSync(
    path,
    await packArchive(Object.entries(files).map(([name, data]) => ({ path: name, mode: 0o644, data: Buffer.from(data) }))),
  );
  return path;
}

const contentsOf = (from: string): string[] =>
  readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${join(parentPath, name).slice(from.length + 1)}: ${readFileSync(join(parentPath, name), 'utf8')}`)
    .sort();
