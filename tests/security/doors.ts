/**
 * Every way in which code gets to run in a sandbox. A threat is tried through each, with the same assertions; where something
 * rightly differs between a skill's run and a living sandbox, the door says so as a fact.
 */

import type { Execution } from '@skillbox/protocol';
import { CommandExitError, TimeoutError } from 'e2b';
import { describe } from 'vitest';
import { WebSocket } from 'ws';
import { type Place, runProbe } from './inside.ts';
import type { Living } from './living.ts';
import { type Lang, preludes } from './probes.ts';

export const doorNames = ['one-shot', 'warm one-shot', 'exec', 'terminal', 'E2B commands', 'E2B terminal'] as const;
export type DoorName = (typeof doorNames)[number];

export interface Attempt {
  readonly env?: Record<string, string>;
  readonly timeoutMs?: number;
}

export interface Outcome {
  readonly end: 'success' | 'failed' | 'timeout';
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Standard output, then standard error; a terminal and a skill's log mix them. */
  readonly logs: string;
  /** What the code gave to `answer(value)`. */
  readonly output: unknown;
}

export interface Door extends Facts {
  readonly name: DoorName;
  run(lang: Lang, code: string, attempt?: Attempt): Promise<Outcome>;
  /** What the code gave to `answer(value)`; fails with the log when it did not succeed. */
  python<T>(code: string, attempt?: Attempt): Promise<T>;
  node<T>(code: string, attempt?: Attempt): Promise<T>;
  /** What the code printed. */
  bash(code: string, attempt?: Attempt): Promise<string>;
  /** The same door into a sandbox of another tenant. */
  readonly neighbour: Pick<Door, 'run'>;
}

/** What differs, and why that is right. */
interface Facts {
  /** A living sandbox stays after the program, and outlives the server. */
  readonly living: boolean;
  /** Standard streams are a terminal of the sandbox's own. */
  readonly terminal: boolean;
  /** Where it may write. A living one is for development: programs it built run there. */
  readonly home: '/sandbox' | '/home/user';
  readonly folders: readonly string[];
  readonly noexec: boolean;
}

const runFacts: Facts = {
  ...{ living: false, terminal: false, noexec: true },
  ...{ home: '/sandbox', folders: ['/tmp', '/sandbox', '/sandbox/out', '/dev/shm'] },
};

export const facts: Record<DoorName, Facts> = {
  'one-shot': runFacts,
  'warm one-shot': runFacts,
  exec: livingFacts(false),
  terminal: livingFacts(true),
  'E2B commands': livingFacts(false),
  'E2B terminal': livingFacts(true),
};

function livingFacts(terminal: boolean): Facts {
  return { living: true, terminal, noexec: false, home: '/home/user', folders: ['/tmp', '/home/user', '/dev/shm'] };
}

export function throughEveryDoor(place: Place, tests: (door: Door) => void): void {
  for (const name of doorNames) describe(`through ${name}`, () => tests(createDoor(name, place)));
}

/** For what is about living sandboxes alone. */
export function throughLivingDoors(place: Place, tests: (door: Door) => void): void {
  for (const name of doorNames.filter((door) => facts[door].living)) describe(`through ${name}`, () => tests(createDoor(name, place)));
}

function createDoor(name: DoorName, place: Place): Door {
  const into =
    (whose: Whose) =>
    async (lang: Lang, code: string, attempt: Attempt = {}): Promise<Outcome> => {
      if (name === 'one-shot') return runSkill(place, whose, lang, code, attempt);
      if (name === 'warm one-shot') return runWarm(place, whose, lang, code, attempt);
      return runLiving(place, await place.living[whose](), ways[name], lang, code, attempt);
    };
  const run = into('own');
  const succeed = async (lang: Lang, code: string, attempt?: Attempt): Promise<Outcome> => {
    const outcome = await run(lang, code, attempt);
    if (outcome.end === 'success') return outcome;
    throw new Error(`The attempt ended as ${outcome.end} (${outcome.exitCode ?? outcome.signal}):\n${outcome.logs}`);
  };
  return {
    ...facts[name],
    ...{ name, run },
    python: async <T>(code: string, attempt?: Attempt) => (await succeed('python', code, attempt)).output as T,
    node: async <T>(code: string, attempt?: Attempt) => (await succeed('node', code, attempt)).output as T,
    bash: async (code, attempt) => (await succeed('bash', code, attempt)).logs.trim(),
    neighbour: { run: into('neighbour') },
  };
}

type Whose = 'own' | 'neighbour';

async function runSkill(place: Place, whose: Whose, lang: Lang, code: string, attempt: Attempt): Promise<Outcome> {
  return outcomeOf(await runProbe(place.box, lang, code, requestOf(attempt), whose === 'own' ? undefined : await place.neighbourKey()));
}

/** In a sandbox that stood ready: a run that does nothing goes before, until one is. */
async function runWarm(place: Place, whose: Whose, lang: Lang, code: string, attempt: Attempt): Promise<Outcome> {
  const { box, neighbourKey } = await place.warm();
  const key = whose === 'own' ? undefined : await neighbourKey();
  const nothing = lang === 'bash' ? 'true' : '0';
  // On a busy machine it may not be ready again in time; the attempt has gone through another door then.
  for (let tries = 0; tries < 5; tries += 1) {
    while (!(await runProbe(box, lang, nothing, {}, key)).warm) await new Promise((resolve) => setTimeout(resolve, 20));
    const run = await runProbe(box, lang, code, requestOf(attempt), key);
    if (run.warm) return outcomeOf(run);
  }
  throw new Error('The run was not served by a sandbox that stood ready.');
}

const requestOf = ({ env, timeoutMs }: Attempt): Record<string, unknown> => ({
  ...(env && { env }),
  ...(timeoutMs !== undefined && { timeout: `${timeoutMs}ms` }),
});

function outcomeOf(run: Execution): Outcome {
  const { status, exit_code: exitCode, signal, logs, output } = run;
  if (status !== 'success' && status !== 'failed' && status !== 'timeout') throw new Error(`The run ended as ${status}.`);
  return { end: status, exitCode: exitCode ?? null, signal: signal ?? null, logs: logs ?? '', output };
}

type Ended = Omit<Outcome, 'output'>;
type Way = (place: Place, living: Living, words: readonly [string, string], attempt: Attempt) => Promise<Ended>;

const ways: Record<Exclude<DoorName, 'one-shot' | 'warm one-shot'>, Way> = {
  exec: runExec,
  terminal: runTerminal,
  'E2B commands': runCommand,
  'E2B terminal': runE2bTerminal,
};

const programs: Record<Lang, readonly [string, string]> = { python: ['python3', 'py'], node: ['node', 'js'], bash: ['bash', 'sh'] };
/** Before the first byte that counts: a terminal shows prompts and what was typed as well. */
const mark = '\x1e';
let attempts = 0;

/** The code goes in as a file and its answer comes out as one, so that every door carries the same. */
async function runLiving(place: Place, living: Living, way: Way, lang: Lang, code: string, attempt: Attempt): Promise<Outcome> {
  attempts += 1;
  const [program, ending] = programs[lang];
  const base = `/home/user/.attempts/${attempts}`;
  const file = `${base}.${ending}`;
  const written = await living.request(`/files?path=${file}`, { method: 'PUT', body: wrapped(lang, `${base}.json`, code) });
  if (!written.ok) throw new Error(`The probe could not be written: ${await written.text()}`);
  const ended = await way(place, living, [program, file], attempt);
  const answer = await living.request(`/files?path=${base}.json`);
  const text = await answer.text();
  const logs = ended.logs.replaceAll('\r\n', '\n');
  return { ...ended, logs: logs.slice(logs.indexOf(mark) + 1), output: answer.ok ? (JSON.parse(text) as unknown) : null };
}

function wrapped(lang: Lang, output: string, code: string): string {
  if (lang === 'python') return `print("\\x1e", end="", flush=True)\n${preludes.python(output)}${code}\n`;
  if (lang === 'bash') return `printf '\\036'\n${code}\n`;
  return `process.stdout.write("\\x1e");\n(async () => {${preludes.node(output)}${code}\n})().catch((error) => { console.error(error); process.exit(1); });\n`;
}

async function runExec(_: Place, living: Living, words: readonly string[], { env = {}, timeoutMs = 25_000 }: Attempt): Promise<Ended> {
  const body = { argv: words, env, timeout: `${timeoutMs}ms` };
  const { body: result } = await living.json<{
    exit_code: number | null;
    signal: string | null;
    stdout: string;
    stderr: string;
    timed_out: boolean;
  }>('/programs', { body });
  const { exit_code: exitCode, signal } = result;
  return { end: endOf(exitCode, result.timed_out), exitCode, signal, logs: result.stdout + result.stderr };
}

async function runTerminal({ box }: Place, living: Living, words: readonly string[], { env = {}, timeoutMs }: Attempt): Promise<Ended> {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`);
  const cmd = ['exec', 'env', ...variables, ...words].join(' ');
  const query = new URLSearchParams({ cols: '200', rows: '50', cmd });
  const socket = new WebSocket(`${box.url.replace('http', 'ws')}/v1/sandboxes/${living.id}/pty?${query}`, {
    headers: { Authorization: `Bearer ${living.key}` },
  });
  const bytes: Buffer[] = [];
  let exit: { code: number | null; signal: string | null } | undefined;
  let late = false;
  let timer: NodeJS.Timeout | undefined;
  // A terminal has no time limit of its own: who opened it ends it.
  const end = async (program: number): Promise<void> => {
    late = true;
    await living.request(`/programs/${program}/signal`, { body: { signal: 'KILL' } });
  };
  socket.on('message', (data: Buffer, binary: boolean) => {
    if (binary) return void bytes.push(data);
    const news = JSON.parse(data.toString()) as { exit?: typeof exit; program?: number };
    exit = news.exit ?? exit;
    if (news.program !== undefined && timeoutMs !== undefined) timer = setTimeout(end, timeoutMs, news.program);
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('close', () => resolve());
    socket.on('error', reject);
  });
  clearTimeout(timer);
  if (!exit) throw new Error(`The terminal closed without an end:\n${Buffer.concat(bytes)}`);
  return { end: endOf(exit.code, late), exitCode: exit.code, signal: exit.signal, logs: Buffer.concat(bytes).toString() };
}

async function runCommand(_: Place, living: Living, words: readonly string[], { env, timeoutMs = 25_000 }: Attempt): Promise<Ended> {
  const sandbox = await living.e2b();
  return ended(timeoutMs, () => sandbox.commands.run(words.join(' '), { timeoutMs, ...(env && { envs: env }) }));
}

async function runE2bTerminal(_: Place, living: Living, words: readonly string[], { env, timeoutMs = 25_000 }: Attempt): Promise<Ended> {
  const sandbox = await living.e2b();
  const bytes: Uint8Array[] = [];
  const onData = (data: Uint8Array): void => void bytes.push(data);
  const outcome = await ended(timeoutMs, async () => {
    const terminal = await sandbox.pty.create({ cols: 200, rows: 50, onData, timeoutMs, ...(env && { envs: env }) });
    await sandbox.pty.sendInput(terminal.pid, Buffer.from(`exec ${words.join(' ')}\n`));
    return terminal.wait();
  });
  return { ...outcome, logs: Buffer.concat(bytes).toString() };
}

/** E2B's SDK throws what did not end well. */
async function ended(timeoutMs: number, start: () => Promise<{ exitCode: number; stdout: string; stderr: string }>): Promise<Ended> {
  try {
    const { exitCode, stdout, stderr } = await start();
    return { end: endOf(exitCode, false), exitCode, signal: null, logs: stdout + stderr };
  } catch (error) {
    if (error instanceof TimeoutError) return { end: 'timeout', exitCode: null, signal: 'SIGKILL', logs: `ended after ${timeoutMs} ms` };
    if (!(error instanceof CommandExitError)) throw error;
    const signal = /^signal: (.*)$/.exec(error.error ?? '')?.[1];
    const exitCode = signal === undefined ? error.exitCode : null;
    return { end: 'failed', exitCode, signal: signal === 'killed' ? 'SIGKILL' : (signal ?? null), logs: error.stdout + error.stderr };
  }
}

const endOf = (exitCode: number | null, timedOut: boolean): Outcome['end'] =>
  timedOut ? 'timeout' : exitCode === 0 ? 'success' : 'failed';

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
