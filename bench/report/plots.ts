/** The plots of docs/benchmarks.md. */

import { type Language, languages } from '@skillbox/protocol';
import type { GrowthRows } from '../parts/growth.ts';
import { ms, times } from './figures.ts';
import type { PartData, Results } from './results.ts';
import { type Bar, drawBars, drawLines } from './svg.ts';
import { readsOf } from './targets.ts';
import { languageNames, ways } from './ways.ts';

/** By name of the file; only of what was measured. */
export function drawPlots({ growth, latency, sandboxes, throughput }: Results): Record<string, string> {
  return {
    ...(latency && { 'latency.svg': latencyPlot(latency.data) }),
    ...(throughput && { 'throughput.svg': throughputPlot(throughput.data) }),
    ...(sandboxes && { 'sandboxes.svg': sandboxesPlot(sandboxes.data) }),
    ...(growth && { 'growth.svg': growthPlot(growth.data) }),
  };
}

function latencyPlot(latency: PartData['latency']): string {
  const bars = (lang: Language): Bar[] =>
    ways.flatMap(({ way, label, colour }) => {
      const { ways: measured, ratios } = latency[lang];
      const summary = measured[way];
      if (!summary) return [];
      const beside = way === 'plain' ? '' : ` · ${times(ratios[`${way}/plain`]?.value ?? 0)}`;
      return [{ label, value: summary.p50, upTo: summary.p95, note: `${ms(summary.p50)}${beside}`, colour }];
    });
  return drawBars({
    title: 'One call, from request to result',
    unit: 'ms at p50, the line goes on to p95, logarithmic; beside it, times the plain process',
    scale: 'log',
    panels: languages.map((lang) => ({ name: languageNames[lang], bars: bars(lang) })),
  });
}

function throughputPlot(throughput: PartData['throughput']): string {
  const shown = ways.filter(({ way }) => way === 'warm' || way === 'plain' || way === 'cold' || way === 'byHand');
  return drawLines({
    title: 'Sustained throughput by number of callers',
    unit: 'runs a second; each caller asks again as soon as it is answered',
    places: throughput.python.map(({ callers }) => String(callers)),
    panels: languages.map((lang) => ({
      name: languageNames[lang],
      lines: shown.map(({ way, label, colour }) => ({
        label,
        colour,
        values: throughput[lang].map((at) => at[way as 'warm' | 'plain' | 'cold' | 'byHand'].rate),
      })),
    })),
  });
}

function sandboxesPlot({ count, e2b, docker }: PartData['sandboxes']): string {
  const bars = (which: 'sequence' | 'burst'): Bar[] => {
    const ours = e2b[which];
    const theirs = docker?.[which];
    const beside = theirs ? ` · ${times(ours.p50 / theirs.p50)}` : '';
    return [
      { label: 'E2B SDK on Skillbox', value: ours.p50, upTo: ours.p95, note: `${ms(ours.p50)}${beside}`, colour: 'ours' },
      ...(theirs
        ? [{ label: 'docker run, hardened', value: theirs.p50, upTo: theirs.p95, note: ms(theirs.p50), colour: 'other' as const }]
        : []),
    ];
  };
  return drawBars({
    title: 'From nothing to the answer of a first command',
    unit: 'ms at p50, the line goes on to p95, logarithmic; beside it, times docker run',
    scale: 'log',
    panels: [
      { name: `${count} in sequence`, bars: bars('sequence') },
      { name: `${count} at once`, bars: bars('burst') },
    ],
  });
}

function growthPlot({ sizes, sqlite, postgres }: PartData['growth']): string {
  const bars = (rows: GrowthRows): Bar[] =>
    readsOf(rows).map(([name, { ratios, times: measured }]) => ({
      label: name,
      value: ratios.records.value,
      note: `${times(ratios.records.value)} · ${ms(measured.records.p50)}`,
      colour: ratios.records.value > 2 ? 'plain' : 'second',
    }));
  const [few, many] = sizes.records.map((count) => count.toLocaleString('en'));
  return drawBars({
    title: `Lists and gets with ${many} records of executions, against ${few}`,
    unit: 'ratio at p50; beside it, the time with many',
    scale: 'linear',
    panels: [{ name: 'SQLite', bars: bars(sqlite) }, ...(postgres ? [{ name: 'PostgreSQL', bars: bars(postgres) }] : [])],
  });
}
