/** The tables of docs/benchmarks.md, one for each part. */

import { type Language, languages } from '@skillbox/protocol';
import type { Summary } from '../measure/samples.ts';
import type { GrowthRows } from '../parts/growth.ts';
import { type World, worlds } from '../parts/worlds.ts';
import { ms, short, table, times, withInterval } from './figures.ts';
import type { Circumstances, PartData, PartName, Results } from './results.ts';
import { languageNames, ways } from './ways.ts';

const notYet = 'Not measured yet: `make bench` does.';

export function sectionsOf(results: Results): Record<PartName | 'machine' | 'phases', string> {
  const { growth, latency, memory, pace, sandboxes, throughput } = results;
  return {
    machine: machineSection(results),
    latency: latency ? latencySection(latency.data) : notYet,
    phases: latency ? phasesSection(latency.data) : notYet,
    pace: pace ? paceSection(pace.data) : notYet,
    throughput: throughput ? throughputSection(throughput.data) : notYet,
    sandboxes: sandboxes ? sandboxesSection(sandboxes.data) : notYet,
    memory: memory ? memorySection(memory.data) : notYet,
    growth: growth ? growthSection(growth.data) : notYet,
  };
}

const percentileHead = ['p50', 'p95', 'p99', 'middle half', 'n'];
const percentiles = ({ n, p25, p50, p75, p95, p99 }: Summary): string[] => [
  ms(p50),
  ms(p95),
  ms(p99),
  `${short(p25)}–${short(p75)}`,
  String(n),
];

/** Parts that were measured under the same circumstances are told of together. */
function machineSection(results: Results): string {
  const groups = new Map<string, { parts: string[]; of: Circumstances }>();
  for (const [name, of] of Object.entries(results) as [PartName, Circumstances][]) {
    const { load: _, ...machine } = of.machine;
    const key = JSON.stringify([machine, of.commit, of.size]);
    const group = groups.get(key) ?? { parts: [], of };
    group.parts.push(`${name} (${of.at.slice(0, 16).replace('T', ' ')} UTC, ${Math.round(of.seconds)} s, load before ${of.machine.load})`);
    groups.set(key, { ...group, of: { ...of, versions: { ...group.of.versions, ...of.versions } } });
  }
  if (groups.size === 0) return notYet;
  return [...groups.values()].map(({ parts, of }) => machineText(parts, of)).join('\n\n');
}

function machineText(parts: readonly string[], { commit, machine, size, versions }: Circumstances): string {
  const { cores, cpu, kernel, memoryGb, system } = machine;
  const lines = [
    `- **Measured**: ${parts.join('; ')}${commit ? `; commit ${commit}` : ''}`,
    ...(size < 1 ? [`- **A quick look**, ${short(size)} of the size of a full run: rough figures.`] : []),
    `- **Machine**: ${cpu}, ${cores} cores, ${memoryGb} GB; ${system}, Linux ${kernel}`,
    `- **Versions**: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}`,
  ];
  return lines.join('\n');
}

function latencySection(latency: PartData['latency']): string {
  return languages
    .map((lang) => {
      const { ratios, servedWarm, ways: measured } = latency[lang];
      const rows = ways.flatMap(({ way, label }) => {
        const summary = measured[way];
        if (!summary) return [];
        const ratio = ratios[`${way}/plain`];
        return [[label, ratio ? withInterval(ratio) : '1', ...percentiles(summary)]];
      });
      const notes = [
        `Of the warm runs, ${short(servedWarm * 100)} % found a sandbox ready.`,
        ...(ratios['cold/byHand'] ? [`Cold is ${withInterval(ratios['cold/byHand'])} of bubblewrap by hand.`] : []),
        ...(ratios['docker/warm'] ? [`\`docker run\` takes ${withInterval(ratios['docker/warm'])} of warm.`] : []),
        ...(measured.nothing ? [`For scale: starting \`/usr/bin/true\` in the same way takes ${ms(measured.nothing.p50)}.`] : []),
      ];
      return `### ${languageNames[lang]}\n\n${table(['', '/ plain', ...percentileHead], rows)}\n\n${notes.join(' ')}`;
    })
    .join('\n\n');
}

function phasesSection(latency: PartData['latency']): string {
  const columns = languages.flatMap((lang) =>
    (['cold', 'warm'] as const).map((warmth) => ({ title: `${languageNames[lang]} ${warmth}`, phases: latency[lang].phases[warmth] })),
  );
  const names = [...new Set(columns.flatMap(({ phases }) => Object.keys(phases)))];
  const shares = ({ phases }: (typeof columns)[number], name: string): string => {
    const whole = Object.values(phases).reduce((sum, one) => sum + one, 0);
    const value = phases[name] ?? 0;
    return `${short(value)} (${Math.round((value / whole) * 100)} %)`;
  };
  return table(
    ['ms, p50 (share)', ...columns.map(({ title }) => title)],
    names.map((name) => [name, ...columns.map((column) => shares(column, name))]),
  );
}

function paceSection(pace: PartData['pace']): string {
  const rows = languages.flatMap((lang) => {
    const { plain, tailRatio, warm } = pace[lang];
    return [
      [`${languageNames[lang]}, plain process`, '1', ...percentiles(plain)],
      [`${languageNames[lang]}, warm over HTTP`, times(tailRatio), ...percentiles(warm)],
    ];
  });
  return table(['', 'p99 / plain p99', ...percentileHead], rows);
}

function throughputSection(throughput: PartData['throughput']): string {
  const shown = ['plain', 'byHand', 'cold', 'warm'] as const;
  const heads = ['plain', 'bubblewrap by hand', 'Skillbox cold', 'Skillbox warm'];
  const rows = languages.flatMap((lang) =>
    throughput[lang].map((at) => [
      `${languageNames[lang]}, ${at.callers} ${at.callers === 1 ? 'caller' : 'callers'}`,
      ...shown.map((way) => {
        const { quickest, rate, slowest } = at[way];
        const beside = way === 'plain' ? '' : ` = ${times(rate / at.plain.rate)}`;
        return `${short(rate)}${beside} (${short(slowest)}–${short(quickest)})`;
      }),
    ]),
  );
  return table(['runs a second', ...heads], rows);
}

function sandboxesSection({ count, create, docker, e2b, exec, process, sequenceRatio, burstRatio }: PartData['sandboxes']): string {
  const rows = [
    [`E2B SDK, ${count} in sequence`, sequenceRatio ? withInterval(sequenceRatio) : '–', ...percentiles(e2b.sequence)],
    ...(docker ? [[`\`docker run\`, ${count} in sequence`, '1', ...percentiles(docker.sequence)]] : []),
    [`E2B SDK, ${count} at once`, burstRatio ? withInterval(burstRatio) : '–', ...percentiles(e2b.burst)],
    ...(docker ? [[`\`docker run\`, ${count} at once`, '1', ...percentiles(docker.burst)]] : []),
    ['API: create alone', docker ? times(create.p50 / docker.sequence.p50) : '–', ...percentiles(create)],
    ['API: `/bin/true` in a sandbox that is there', docker ? times(exec.p50 / docker.sequence.p50) : '–', ...percentiles(exec)],
    ['`/usr/bin/true` as a plain process', docker ? times(process.p50 / docker.sequence.p50) : '–', ...percentiles(process)],
  ];
  return table(['', '/ docker run', ...percentileHead], rows);
}

function memorySection({ availableMb, idle, used, warm }: PartData['memory']): string {
  const least = Math.min(...Object.values(warm).map(({ mb }) => mb), idle.mb, used.mb);
  const row = (name: string, { count, fit, mb }: PartData['memory']['idle']): string[] => [
    name,
    `${short(mb)} MB`,
    times(mb / least),
    fit.toLocaleString('en'),
    String(count),
  ];
  const rows = [
    ...(Object.entries(warm) as [Language, PartData['memory']['idle']][]).map(([lang, held]) =>
      row(`made ready ahead, ${languageNames[lang]}`, held),
    ),
    row('living, never used', idle),
    row('living, idle after a command', used),
  ];
  return `${table(['', 'each', '/ smallest', `fit into the ${(availableMb / 1000).toFixed(1)} GB that were free`, 'measured with'], rows)}`;
}

function growthSection({ postgres, sizes, sqlite }: PartData['growth']): string {
  const title: Record<World, string> = {
    small: 'small box',
    skills: `${sizes.skills[1].toLocaleString('en')} skills`,
    records: `${sizes.records[1].toLocaleString('en')} records`,
    sandboxes: `${sizes.sandboxes[1].toLocaleString('en')} sandboxes`,
  };
  const tableOf = (rows: GrowthRows): string =>
    table(
      ['p50 (p95), and against the small box', ...worlds.map((world) => title[world])],
      Object.entries(rows).map(([name, { ratios, times: measured }]) => [
        name,
        ...worlds.map((world) => {
          const { p50, p95 } = measured[world];
          return `${ms(p50)} (${short(p95)})${world === 'small' ? '' : ` = ${withInterval(ratios[world])}`}`;
        }),
      ]),
    );
  const small = `The small box has ${sizes.skills[0]} skills, ${sizes.records[0].toLocaleString('en')} records and ${sizes.sandboxes[0]} living sandbox.`;
  return [small, '### SQLite', tableOf(sqlite), ...(postgres ? ['### PostgreSQL', tableOf(postgres)] : [])].join('\n\n');
}
