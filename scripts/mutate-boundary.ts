/**
 * Takes each layer of the sandbox away in turn and requires that its test fails: node scripts/run-ts.mjs scripts/mutate-boundary.ts [WORD]
 * With a word, only the layers whose name has it. Works on copies in a temporary folder; the checkout is only read.
 */

import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type Edit, type Mutant, mutants } from './mutants.ts';

const root = join(import.meta.dirname, '..');
const needed = ['packages', 'tests', 'scripts', 'package.json', 'tsconfig.json', 'vitest.config.ts'];
/** A test that is known to wait for ever need not take the whole time for it; the others have time enough on a busy machine. */
const shortMs = 8000;
const longMs = 40_000;
const outOfTime = 'it never ended';

type Verdict = { readonly ok: boolean; readonly text: string };

const word = process.argv[2] ?? '';
const chosen = mutants.filter(({ layer }) => layer.includes(word));
const workers = Math.max(1, Math.min(2, availableParallelism()));
const folder = mkdtempSync(join(tmpdir(), 'skillbox-mutants-'));
const started = Date.now();
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    console.error(`ended by ${signal}`);
    process.exit(130);
  });
}

const copies = Array.from({ length: workers }, (_, index) => makeCopy(join(folder, String(index))));

try {
  for (const { edits } of chosen) for (const edit of edits) applied(edit, readFileSync(join(root, edit.file), 'utf8'));
  await requirePassing();
  const queue = [...chosen];
  const rows: { mutant: Mutant; verdict: Verdict }[] = [];
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = queue.shift(); mutant; mutant = queue.shift()) {
        const verdict = await tryMutant(copy, mutant);
        rows.push({ mutant, verdict });
        console.log(`${verdict.ok ? 'ok  ' : 'FAIL'} ${mutant.layer.padEnd(52)} ${mutant.test.file}: ${verdict.text}`);
      }
    }),
  );
  const failed = rows.filter(({ verdict }) => !verdict.ok);
  console.log(`\n${rows.length - failed.length} of ${rows.length} layers proved, in ${Math.round((Date.now() - started) / 1000)} s`);
  if (failed.length > 0) process.exitCode = 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

function makeCopy(copy: string): string {
  const skipped = new Set(['node_modules', '.skillbox-state']);
  for (const name of needed)
    cpSync(join(root, name), join(copy, name), { recursive: true, filter: (path) => !skipped.has(basename(path)) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  buildNative(copy);
  return copy;
}

function buildNative(copy: string): void {
  execFileSync(process.execPath, [join(copy, 'packages/box/scripts/build.mjs'), '--native'], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** A test that fails without a mutant would prove nothing. */
async function requirePassing(): Promise<void> {
  const files = [...new Set(chosen.map(({ test }) => test.file))];
  const shares = copies.map((copy, index) =>
    runTests(
      copy,
      files.filter((_, at) => at % copies.length === index),
    ),
  );
  const results = await Promise.all(shares);
  const failed = results.flatMap((result) => result.failed);
  const passed = results.flatMap((result) => result.passed);
  if (failed.length > 0) {
    throw new Error(`These fail without any mutant:\n${failed.map(({ title, reason }) => `  ${title}: ${reason}`).join('\n')}`);
  }
  for (const { test } of chosen) {
    if (!passed.some((title) => matches(title, test.title))) throw new Error(`There is no test "${test.title}" in ${test.file}.`);
  }
  console.log(`${passed.length} tests in ${files.length} files pass without a mutant\n`);
}

async function tryMutant(copy: string, { edits, test, held, hangs }: Mutant): Promise<Verdict> {
  const originals = new Map<string, string>();
  const native = edits.some(({ file }) => file.includes('/native/'));
  try {
    for (const edit of edits) {
      const path = join(copy, edit.file);
      const text = readFileSync(path, 'utf8');
      if (!originals.has(path)) originals.set(path, text);
      writeFileSync(path, applied(edit, text));
    }
    if (native) buildNative(copy);
    const { failed, passed } = await runTests(copy, [test.file], { title: test.title, timeoutMs: hangs ? shortMs : longMs });
    const hit = failed.find(({ title }) => matches(title, test.title));
    if (held) return { ok: !hit && passed.length > 0, text: hit ? `should hold, but: ${hit.reason}` : `holds: ${held}` };
    if (!hit) return { ok: false, text: passed.length > 0 ? 'SURVIVED' : 'the test did not run' };
    if (hit.reason === outOfTime && !hangs) return { ok: false, text: 'ran out of time' };
    if (/sandbox_unavailable|lacks a layer|cannot find|SyntaxError/i.test(hit.reason))
      return { ok: false, text: `the mutant does not run: ${hit.reason}` };
    return { ok: true, text: `caught: ${hit.reason}` };
  } catch (error) {
    return { ok: false, text: (error as Error).message.split('\n').slice(0, 3).join(' ') };
  } finally {
    for (const [path, text] of originals) writeFileSync(path, text);
    if (native) buildNative(copy);
    endStrays(copy);
  }
}

/** What a mutant that does not die with its parent left: processes whose mounts come from this copy, and so nobody else's. */
function endStrays(copy: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(`${copy}/`)) process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended while we looked.
    }
  }
}

function applied({ file, find, replace }: Edit, text: string): string {
  if (!text.includes(find)) throw new Error(`${file} has no longer: ${find}`);
  return text.replaceAll(find, () => replace);
}

/** Titles of `it.each` have their values filled in. */
function matches(title: string, pattern: string): boolean {
  const parts = pattern.split(/%[a-z]/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(title);
}

interface Results {
  readonly passed: string[];
  readonly failed: { readonly title: string; readonly reason: string }[];
}

interface Report {
  readonly testResults: {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: { readonly title: string; readonly status: string; readonly failureMessages: string[] | null }[];
  }[];
}

async function runTests(
  copy: string,
  names: string[],
  { title, timeoutMs = longMs }: { title?: string; timeoutMs?: number } = {},
): Promise<Results> {
  if (names.length === 0) return { passed: [], failed: [] };
  const report = join(copy, 'report.json');
  rmSync(report, { force: true });
  // A title is a pattern there; the rest of the file is skipped.
  const only = title === undefined ? [] : ['-t', title.replace(/[.*+?^${}()|[\]\\]/g, '.').replaceAll(/%[a-z]/g, '.*')];
  const args = [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--root',
    copy,
    `--testTimeout=${timeoutMs}`,
    '--hookTimeout=60000',
    '--reporter=json',
    `--outputFile=${report}`,
    ...only,
    ...names.map((name) => `tests/security/${name}`),
  ];
  const said = await new Promise<string>((resolve) => {
    const options = { cwd: copy, env: { ...process.env, CI: '' }, maxBuffer: 2 ** 26, timeout: only.length > 0 ? 300_000 : 1_800_000 };
    const child = execFile(process.execPath, args, options, (_, stdout, stderr) => {
      running.delete(child);
      resolve(stdout + stderr);
    });
    running.add(child);
  });
  if (!existsSync(report)) throw new Error(`vitest gave no report: ${said.slice(-500)}`);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const broken = testResults
    .filter(({ message }) => message)
    .map(({ name, message }) => ({ title: relative(copy, name), reason: firstLine(message) }));
  return {
    passed: tests.filter(({ status }) => status === 'passed').map((test) => test.title),
    failed: [
      ...tests
        .filter(({ status }) => status === 'failed')
        .map((test) => ({ title: test.title, reason: firstLine(test.failureMessages?.[0] ?? '') })),
      ...broken,
    ],
  };
}

function firstLine(text: string): string {
  const line = stripVTControlCharacters(text)
    .split('\n')
    .map((part) => part.trim())
    .find(Boolean);
  // What vitest says of a test that ran out of time.
  if (line?.includes('STACK_TRACE_ERROR')) return outOfTime;
  return (line ?? '').replace(/^\w*Error: /, '').slice(0, 140);
}
