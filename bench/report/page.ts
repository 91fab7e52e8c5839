/** docs/benchmarks.md with its plots, and the headline of README: all from the results, so that they cannot differ. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GeneratedFile } from '../../scripts/docs/generated-file.ts';
import { dockerFlags } from '../contenders/docker-flags.ts';
import { ms, short } from './figures.ts';
import { drawPlots } from './plots.ts';
import type { Results } from './results.ts';
import { sectionsOf } from './sections.ts';
import { targetTable } from './targets.ts';

const root = join(import.meta.dirname, '../..');
export const resultsFile = join(root, 'docs/benchmarks.json');

export function benchmarkFiles(results: Results): GeneratedFile[] {
  return [
    { file: 'docs/benchmarks.md', render: () => renderPage(results, readFileSync(join(import.meta.dirname, 'page.md'), 'utf8')) },
    { file: 'README.md', render: () => withHeadline(readFileSync(join(root, 'README.md'), 'utf8'), results) },
    ...Object.entries(drawPlots(results)).map(([name, svg]) => ({ file: `docs/benchmarks/${name}`, render: () => svg })),
  ];
}

export function renderPage(results: Results, template: string): string {
  const values: Record<string, string> = {
    ...sectionsOf(results),
    headline: headlineOf(results),
    targets: targetTable(results),
    dockerFlags: `\`${dockerFlags.join(' ')}\``,
  };
  const plots = drawPlots(results);
  // A plot of what was not measured yet would be a broken link.
  const shown = template.replace(/!\[[^\]]*\]\(benchmarks\/(\w+\.svg)\)\n\n?/g, (line, name: string) => (name in plots ? line : ''));
  return shown.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`page.md asks for ${name}, which there is not`);
    return value;
  });
}

/** One sentence: what it costs to run in a fresh sandbox over HTTP, beside no sandbox at all. */
export function headlineOf({ latency }: Results): string {
  const { ratios, ways } = latency?.data.python ?? {};
  const [warm, plain, ratio] = [ways?.warm, ways?.plain, ratios?.['warm/plain']];
  if (!warm || !plain || !ratio) return 'Not measured yet.';
  const pace = ratio.value < 1 ? `${short(1 / ratio.value)} times as fast as` : `${short(ratio.value)} times the time of`;
  const docker = ratios?.['docker/warm'] ? `, and ${short(ratios['docker/warm'].value)} times as fast as \`docker run\`` : '';
  return `A Python skill over HTTP, in a fresh hardened sandbox, answers in **${ms(warm.p50)}**: **${pace} plain \`python3\`** without any sandbox (${ms(plain.p50)})${docker}.`;
}

const place = /(<!-- benchmark: written by make bench -->\n)[\s\S]*?(<!-- \/benchmark -->)/;

export function withHeadline(readme: string, results: Results): string {
  if (!place.test(readme)) throw new Error('README.md has no place for the benchmark: <!-- benchmark: written by make bench -->');
  return readme.replace(
    place,
    (_, before: string, after: string) => `${before}${headlineOf(results)} [All figures](docs/benchmarks.md).\n${after}`,
  );
}
