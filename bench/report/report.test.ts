import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ratio, Summary } from '../measure/samples.ts';
import type { GrowthOf } from '../parts/growth.ts';
import { short, table } from './figures.ts';
import { benchmarkFiles, headlineOf, renderPage, resultsFile, withHeadline } from './page.ts';
import { drawPlots } from './plots.ts';
import { loadResults, type Results } from './results.ts';
import { drawBars, drawLines } from './svg.ts';
import { targetsOf, targetTable, verdictOf } from './targets.ts';

const root = join(import.meta.dirname, '../..');
const template = readFileSync(join(import.meta.dirname, 'page.md'), 'utf8');

const around = (p50: number): Summary => ({
  n: 100,
  p50,
  p95: p50 * 2,
  p99: p50 * 3,
  p25: p50 * 0.9,
  p75: p50 * 1.1,
  min: p50 / 2,
  max: p50 * 4,
});
const ratio = (value: number): Ratio => ({ value, low: value * 0.9, high: value * 1.1 });
const rate = (value: number) => ({ rate: value, slowest: value * 0.9, quickest: value * 1.1 });
const grown = (records: number): GrowthOf => ({
  times: { small: around(2), skills: around(2), records: around(2 * records), sandboxes: around(2) },
  ratios: { skills: ratio(1), records: ratio(records), sandboxes: ratio(1) },
});

function resultsWith({ warm = 2, plain = 20, slowList = 1.1 } = {}): Results {
  const of = {
    ways: { plain: around(plain), warm: around(warm), cold: around(30), byHand: around(25), docker: around(400), nothing: around(1) },
    ratios: {
      'warm/plain': ratio(warm / plain),
      'cold/byHand': ratio(1.2),
      'docker/warm': ratio(400 / warm),
      'cold/plain': ratio(1.5),
      'byHand/plain': ratio(1.25),
      'docker/plain': ratio(20),
    },
    servedWarm: 0.99,
    phases: { cold: { claim: 1, run: 3 }, warm: { claim: 1, run: 1 } },
  };
  const pace = { plain: around(plain), warm: around(warm), tailRatio: 0.3 };
  const at = (callers: number, warmRate: number) => ({ callers, plain: rate(100), byHand: rate(60), cold: rate(50), warm: rate(warmRate) });
  const machine = { cpu: 'Some CPU <x64>', cores: 2, memoryGb: 8, system: 'Debian', kernel: '6.1', load: 0.1 };
  const circumstances = { at: '2026-01-02T03:04:05Z', seconds: 9, size: 1, commit: 'abc1234', machine, versions: { python: '3.11' } };
  const held = { count: 10, mb: 5, fit: 1000 };
  return {
    latency: { ...circumstances, data: { python: of, node: of, bash: of } },
    pace: { ...circumstances, data: { python: pace, node: pace, bash: pace } },
    throughput: {
      ...circumstances,
      data: { python: [at(1, 250), at(4, 120)], node: [at(1, 80), at(4, 90)], bash: [at(1, 30), at(4, 90)] },
    },
    sandboxes: {
      ...circumstances,
      data: {
        ...{ count: 100, e2b: { sequence: around(30), burst: around(900) }, docker: { sequence: around(400), burst: around(9000) } },
        ...{ sequenceRatio: ratio(0.075), burstRatio: ratio(0.1), create: around(20), exec: around(3), process: around(1) },
      },
    },
    memory: { ...circumstances, data: { availableMb: 8000, warm: { python: held, node: held, bash: held }, idle: held, used: held } },
    growth: {
      ...circumstances,
      data: {
        sizes: { skills: [10, 1000], records: [1000, 1_000_000], sandboxes: [1, 500] },
        sqlite: { 'run, warm': grown(9), 'executions list': grown(1) },
        postgres: { 'executions list': grown(slowList) },
      },
    },
  };
}

describe('targets', () => {
  const reached = (results: Results, what: string) => {
    const target = targetsOf(results).find((one) => one.what.startsWith(what));
    return target && { reached: target.reached, verdict: verdictOf(target) };
  };

  it('say what was met and what was not', () => {
    const results = resultsWith({ slowList: 2.5 });
    expect(reached(results, 'warm Python')).toEqual({ reached: 0.1, verdict: 'met' });
    expect(reached(results, 'warm Node')).toEqual({ reached: 0.1, verdict: 'met' });
    expect(reached(results, 'cold over HTTP')?.verdict).toBe('met, and the moonshot');
    expect(reached(results, '`docker run` / warm')).toEqual({ reached: 200, verdict: 'met, and the moonshot' });
    expect(reached(resultsWith({ warm: 5 }), 'warm Python')).toEqual({ reached: 0.25, verdict: 'not met' });
    expect(reached({}, 'warm Python')).toEqual({ reached: undefined, verdict: 'not measured' });
  });

  it('judge throughput by the number of callers where it is lowest', () => {
    const results = resultsWith();
    expect(reached(results, 'sustained throughput / plain processes: Python')).toEqual({ reached: 1.2, verdict: 'not met' });
    expect(reached(results, 'sustained throughput / plain processes: Bash')).toEqual({ reached: 0.3, verdict: 'not met' });
  });

  it('judge growth by the slowest list or get of both databases, not by runs', () => {
    expect(reached(resultsWith({ slowList: 2.5 }), 'any list')).toEqual({ reached: 2.5, verdict: 'not met' });
    expect(reached(resultsWith(), 'any list')).toEqual({ reached: 1.1, verdict: 'met, and the moonshot' });
  });

  it('are a row each in the table', () => {
    const lines = targetTable(resultsWith()).split('\n');
    expect(lines).toHaveLength(2 + targetsOf({}).length);
    expect(lines[2]).toBe('| warm Python over HTTP, p50 / plain `python3` | ≤ 0.200 | 0.080 | 0.100× (0.090–0.110) | met |');
  });
});

describe('the page', () => {
  it('has every part, and no place left open', () => {
    const page = renderPage(resultsWith(), template);
    expect(page).not.toMatch(/\{\{|undefined|NaN|Not measured/);
    expect(page).toContain('| Skillbox over HTTP, warm | 0.100× (0.090–0.110) | 2.00 ms | 4.00 ms | 6.00 ms | 1.80–2.20 | 100 |');
    expect(page).toContain('| Python, 4 callers | 100 (90.0–110) | 60.0 = 0.600× (54.0–66.0) |');
    expect(page).toContain('| run | 3.00 (75 %) | 1.00 (50 %) |');
    expect(page).toContain('1,000,000 records');
    for (const row of page.split('\n').filter((line) => line.startsWith('|'))) expect(row.endsWith('|'), row).toBe(true);
  });

  it('says so where nothing was measured', () => {
    expect(renderPage({}, template).match(/Not measured yet/g)?.length).toBeGreaterThan(6);
  });

  it('says so when the run was a small one', () => {
    const { pace } = resultsWith();
    expect(renderPage({ ...(pace && { pace: { ...pace, size: 0.1 } }) }, template)).toContain('A quick look');
  });

  it('refuses a template that asks for what there is not', () => {
    expect(() => renderPage({}, '{{nothing}}')).toThrow('asks for nothing');
  });
});

describe('the headline', () => {
  it('says how much faster, or how much slower', () => {
    expect(headlineOf(resultsWith())).toContain('answers in **2.00 ms**: **10.0 times as fast as plain `python3`**');
    expect(headlineOf(resultsWith({ warm: 30 }))).toContain('**1.50 times the time of plain `python3`**');
  });

  it('stands in README as in the page, with a link', () => {
    const results = loadResults(resultsFile);
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    expect(withHeadline(readme, results)).toBe(readme);
    expect(readme.indexOf(headlineOf(results))).toBeGreaterThan(0);
    expect(readme.split('\n').findIndex((line) => line.includes('(docs/benchmarks.md)'))).toBeLessThan(12);
    expect(readFileSync(join(root, 'docs/benchmarks.md'), 'utf8')).toContain(headlineOf(results));
  });

  it('is put between its marks and nowhere else', () => {
    const readme = 'before\n<!-- benchmark: written by make bench -->\nold\n<!-- /benchmark -->\nafter\n';
    const written = withHeadline(readme, resultsWith());
    expect(written).not.toContain('old');
    expect(written.startsWith('before\n') && written.endsWith('\nafter\n')).toBe(true);
    expect(() => withHeadline('no place', resultsWith())).toThrow('no place for the benchmark');
  });
});

describe('plots', () => {
  it('are there for all that the page shows', () => {
    const shown = [...template.matchAll(/\(benchmarks\/(\w+\.svg)\)/g)].map(([, name]) => name);
    expect(Object.keys(drawPlots(resultsWith())).sort()).toEqual(shown.sort());
    expect(benchmarkFiles(resultsWith()).map(({ file }) => file)).toContain('docs/benchmarks/latency.svg');
  });

  it('are well formed and hold no figure that is none', () => {
    for (const svg of Object.values(drawPlots(resultsWith()))) {
      expect(svg).not.toMatch(/NaN|undefined|Infinity/);
      const open = [...svg.matchAll(/<([a-z]+)[^>]*[^/]>/g)].length;
      expect([...svg.matchAll(/<\/[a-z]+>/g)]).toHaveLength(open);
    }
  });

  it('draw bars as long as their values, and escape what they say', () => {
    const bar = (label: string, value: number) => ({ label, value, note: `${value}`, colour: 'ours' as const });
    const widths = (scale: 'linear' | 'log') =>
      [
        ...drawBars({ title: 'a < b & c', unit: '', scale, panels: [{ name: '', bars: [bar('x', 10), bar('y', 40)] }] }).matchAll(
          /<rect[^>]* width="([\d.]+)"/g,
        ),
      ].map(([, width]) => Number(width));
    const [ten = 0, forty = 0] = widths('linear');
    expect(forty / ten).toBeCloseTo(4, 1);
    const [small = 0, large = 0] = widths('log');
    expect(large / small).toBeCloseTo(Math.log(8) / Math.log(2), 1);
    expect(drawBars({ title: 'a < b & c', unit: '', scale: 'linear', panels: [] })).toContain('a &lt; b &amp; c');
  });

  it('draw lines that rise with their values', () => {
    const svg = drawLines({
      ...{ title: 't', unit: 'u', places: ['1', '4'] },
      panels: [{ name: 'p', lines: [{ label: 'l', values: [10, 100], colour: 'ours' }] }],
    });
    const [, first, last] = /points="[\d.]+,([\d.]+) [\d.]+,([\d.]+)"/.exec(svg) ?? [];
    expect(Number(last)).toBeLessThan(Number(first));
  });
});

describe('figures', () => {
  it('keep three digits that count', () => {
    expect([0.0512, 0.1523, 3.4213, 41.77, 386.4, 12_345.6, 0].map(short)).toEqual(['0.051', '0.152', '3.42', '41.8', '386', '12346', '0']);
  });

  it('stand to the right in tables', () => {
    expect(table(['a', 'b'], [['1', '2']])).toBe('| a | b |\n| --- | ---: |\n| 1 | 2 |');
  });
});
