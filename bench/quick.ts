/** make bench-quick: the main ratios in under two minutes; as JSON on the last line. docs/benchmarks.md says what each one is. */

import { type Language, languages } from '@skillbox/protocol';
import { openRun } from './bench-run.ts';
import { prepareByHand } from './contenders/by-hand.ts';
import { preparePlain } from './contenders/plain.ts';
import { openBox } from './contenders/skillbox.ts';
import { median, rounded } from './measure/samples.ts';
import { inTurns } from './measure/turns.ts';
import { measureRates, rateMakers } from './parts/throughput.ts';
import { ms, short, table } from './report/figures.ts';

const rounds = 40;
const dockerRounds = 12;
const callers = 4;

const run = await openRun(1);
const skills = Object.values(run.skills);
const cold = await openBox('cold', skills);
const warm = await openBox('warm', skills);
const medians = {} as Record<Language, Record<'plain' | 'byHand' | 'cold' | 'warm', number>>;
let dockerRatio: number | null = null;
let throughputRatio = 0;
try {
  for (const lang of languages) {
    run.say(`${lang}: ${rounds} rounds`);
    const skill = run.skills[lang];
    const ways = { plain: preparePlain(skill), byHand: prepareByHand(skill), cold: cold.contender(skill), warm: warm.contender(skill) };
    const samples = await inTurns(ways, { rounds, withinMs: 20_000 });
    for (const way of Object.values(ways)) await way.close();
    medians[lang] = {
      plain: median(samples.plain),
      byHand: median(samples.byHand),
      cold: median(samples.cold),
      warm: median(samples.warm),
    };
  }
  run.say(`throughput: Python, ${callers} callers`);
  const { byHand, ...makers } = rateMakers(run.skills.python, { warm }, callers);
  byHand.close();
  const rates = await measureRates(makers, { slices: 3, sliceMs: 2000 });
  throughputRatio = rates.warm.rate / rates.plain.rate;
  console.log(`Python, ${callers} callers: plain ${short(rates.plain.rate)} runs a second, warm ${short(rates.warm.rate)}`);

  const docker = await run.docker();
  if (docker) {
    run.say(`docker run: ${dockerRounds} rounds`);
    const ways = { docker: docker.contender(run.skills.python), warm: warm.contender(run.skills.python) };
    const samples = await inTurns(ways, { rounds: dockerRounds, warmUp: 1, withinMs: 15_000 });
    for (const way of Object.values(ways)) await way.close();
    dockerRatio = median(samples.docker) / median(samples.warm);
    console.log(`docker run, Python: ${ms(median(samples.docker))}`);
  } else console.log('docker_ratio is null: no Docker engine could be started here; the line above says why.');
} finally {
  await cold.stop();
  await warm.stop();
  await run.close();
}

console.log(
  table(
    ['p50', 'plain', 'bubblewrap by hand', 'cold', 'warm'],
    languages.map((lang) => [lang, ...Object.values(medians[lang]).map(ms)]),
  ),
);
const { node, python } = medians;
console.log(
  JSON.stringify({
    warm_python_ratio: rounded(python.warm / python.plain),
    warm_node_ratio: rounded(node.warm / node.plain),
    cold_ratio: rounded(Math.max(...Object.values(medians).map((of) => of.cold / of.byHand))),
    throughput_ratio: rounded(throughputRatio),
    docker_ratio: dockerRatio === null ? null : rounded(dockerRatio),
  }),
);
process.exit(0);
