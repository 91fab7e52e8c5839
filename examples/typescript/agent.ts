/**
 * An agent in TypeScript: finds a skill for each job in the catalogue, runs several at once, follows one while it runs, and checks the figures in a sandbox.
 * There is no model here, so that it runs offline and checks itself: choose() does what a model would, from the same catalogue.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { APIError, Client, type ExecutionResult, type Skill } from '@skillbox/sdk';

interface Summary {
  readonly summary: string;
}
interface Figures {
  readonly columns: Readonly<Record<string, { readonly sum: number }>>;
}

const { SKILLBOX_URL: url = 'http://localhost:8080', SKILLBOX_API_KEY: key } = process.env;
const examples = join(import.meta.dirname, '..');
const text = 'The box runs skills. Skills read JSON and write JSON. A sandbox keeps each run apart. The box keeps the record of every run.';
const rows = [
  { city: 'Bern', visitors: 120 },
  { city: 'Chur', visitors: 80 },
  { city: 'Genf', visitors: 400 },
];

const client = new Client(url, key);
for (const name of ['data-analysis', 'text-summary', 'word-counter']) await client.registerSkill(join(examples, 'skills', name));

// Several at once: each runs in a sandbox of its own.
const [summary, figures] = await Promise.all([
  work<Summary>('summarise text', { text, max_sentences: 1 }),
  work<Figures>('statistics of numbers', { data: rows }),
]);

// One that is followed while it runs.
const counter = await choose('count words');
const { execution_id } = await client.executions.submit({ skill: counter.name, input: { text } });
for await (const { event, data } of client.executions.stream(execution_id)) console.log(`${counter.name} ${event}: ${data.text.trim()}`);
const words = await client.getExecution<{ total_words: number }>(execution_id);

// Artifacts land in a folder.
const folder = await mkdtemp(join(tmpdir(), 'skillbox-example-'));
const charts = (await client.downloadFiles(figures, folder)).map((path) => basename(path));
await rm(folder, { recursive: true });

// What a skill says can be checked: in a sandbox of one's own, with any program.
const sandbox = await client.sandboxes.create({ template: 'python', ttl: '10m' });
let checked: number;
try {
  await sandbox.files.write('rows.json', JSON.stringify(rows));
  const program = "import json; print(sum(row['visitors'] for row in json.load(open('rows.json'))))";
  const { stdout } = await sandbox.exec(['python3', '-c', program], { onStderr: (complaint) => process.stderr.write(complaint) });
  checked = Number(stdout);
} finally {
  await sandbox.destroy();
}

const report = {
  summary: summary.output.summary,
  visitors: figures.output.columns.visitors?.sum,
  checked,
  words: words.output.total_words,
  charts,
};
console.log(report);
assert.equal(report.visitors, 600);
assert.equal(report.checked, 600);
assert.equal(report.words, text.split(' ').length);
assert(text.includes(report.summary));
assert(report.charts.length > 0);

// What does not fit is refused before it runs, with a code to act on.
const refusal = await client.run('text-summary', { max_sentences: 1 }).catch((error: unknown) => error);
assert(refusal instanceof APIError);
assert.equal(refusal.code, 'invalid_input');
console.log(`refused, as it should be: ${refusal.code}: ${refusal.message}`);

async function work<Output>(job: string, input: unknown): Promise<ExecutionResult<Output>> {
  const skill = await choose(job);
  console.log(`${job}: ${skill.name} ${skill.version}`);
  const result = await client.run<Output>(skill.name, input, { version: skill.version });
  if (result.status !== 'success') throw new Error(`${skill.name} ended as ${result.status}: ${result.logs}`);
  return result;
}

/** The best match of the catalogue, with its instructions and schema, which a model would read. */
async function choose(job: string): Promise<Skill> {
  for (const { name } of (await client.skills.search(job)).items) {
    const skill = await client.getSkill(name);
    if (skill.mode === 'executable' && skill.input_schema) return skill;
  }
  throw new Error(`No skill for: ${job}`);
}
