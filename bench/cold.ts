/**
 * What a cold run over HTTP costs beyond the same bubblewrap command started by hand. Both in one process, in turns, so that
 * noise hits both alike. Prints a table, and JSON as the last line.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestBox } from '../tests/support/box.ts';
import { prepareByHand } from './by-hand.ts';
import { inTurns, median, percentile } from './samples.ts';

const rounds = Number(process.argv[2] ?? 50);
const allowedMs = 15;

const programs = {
  python: { file: 'main.py', path: '/usr/bin/python3', text: 'print("hi")\n' },
  node: { file: 'main.js', path: '/usr/bin/node', text: 'console.log("hi");\n' },
  bash: { file: 'main.sh', path: '/usr/bin/bash', text: 'echo hi\n' },
};

const box = await startTestBox({ SKILLBOX_DEFAULT_CPU: '2', SKILLBOX_WARM_MEMORY: '0' });
const folder = mkdtempSync(join(tmpdir(), 'skillbox-bench-'));
const rows: Row[] = [];
try {
  for (const [lang, { file, path, text }] of Object.entries(programs)) {
    const name = `bench-${lang}`;
    await box.push({ 'SKILL.md': `---\nname: ${name}\nversion: 1.0.0\ndescription: Says hi.\nlang: ${lang}\n---\n`, [file]: text });
    const skill = join(folder, lang);
    mkdirSync(skill);
    writeFileSync(join(skill, file), text);
    execFileSync('chmod', ['-R', 'a+rX', folder]);
    const byHand = prepareByHand([path, `/sandbox/scripts/${file}`], skill, '{}');
    const plain = async (): Promise<void> => void execFileSync(path, [join(skill, file)], { env: {} });
    const viaBox = async (): Promise<void> => {
      const record = await box.run(name);
      if (record.status !== 'success') throw new Error(`${lang}: ${JSON.stringify(record.error)} ${record.logs}`);
    };
    const samples = await inTurns({ plain, byHand: async () => void (await byHand.run()), viaBox }, rounds);
    byHand.remove();
    rows.push({
      lang,
      plain: median(samples.plain),
      byHand: median(samples.byHand),
      cold: median(samples.viaBox),
      p95: percentile(samples.viaBox, 0.95),
    });
  }
} finally {
  await box.stop();
  rmSync(folder, { recursive: true, force: true });
}

console.log(`median of ${rounds}, ms; ${readFileSync('/proc/cpuinfo', 'utf8').match(/model name\s*: (.*)/)?.[1] ?? ''}`);
console.log('lang     plain  bubblewrap by hand  over HTTP (p95)   more than by hand  ratio');
for (const { lang, plain, byHand, cold, p95 } of rows) {
  const cells = [
    plain.toFixed(1).padStart(5),
    byHand.toFixed(1).padStart(18),
    `${cold.toFixed(1)} (${p95.toFixed(1)})`.padStart(16),
    (cold - byHand).toFixed(1).padStart(18),
    (cold / byHand).toFixed(2).padStart(6),
  ];
  console.log(`${lang.padEnd(8)} ${cells.join(' ')}`);
}
const worst = Math.max(...rows.map(({ cold, byHand }) => cold - byHand));
console.log(JSON.stringify({ cold_extra_ms: Number(worst.toFixed(2)), allowed_ms: allowedMs, rows }));
if (worst > allowedMs) process.exitCode = 1;

interface Row {
  readonly lang: string;
  readonly plain: number;
  readonly byHand: number;
  readonly cold: number;
  readonly p95: number;
}
