/** skillbox doctor: the findings of doctor.ts for people. */

import { type HostCheck as Check, exitCodes } from '@skillbox/protocol';
import type { CliContext, Outcome } from '../../cli/leaf.ts';
import type { Paint } from '../../cli/paint.ts';
import { examine } from '../../doctor.ts';
import { acceptableLayers } from '../../manifest/schema.ts';

export async function doctor({ config, io }: CliContext): Promise<Outcome> {
  io.progress.show('Looking at this machine');
  const checks = await examine(config);
  io.progress.clear();
  const healthy = checks.every(({ state }) => state !== 'missing');
  return {
    value: { healthy, checks },
    text: `${checks.map((check) => lines(check, checks, io.paint)).join('\n')}\n\n${verdict(checks, io.paint)}`,
    exit: healthy ? exitCodes.ok : exitCodes.failed,
  };
}

const marks = { ok: ['✓', 'green'], warn: ['!', 'yellow'], missing: ['✗', 'red'] } as const;

function lines({ name, state, detail, fix }: Check, all: readonly Check[], paint: Paint): string {
  const width = Math.max(...all.map((check) => check.name.length));
  const [mark, tone] = marks[state];
  const head = `${paint(tone, mark)} ${name.padEnd(width)}  ${detail}`;
  return fix === undefined ? head : `${head}\n  ${' '.repeat(width)}  ${paint('cyan', fix)}`;
}

function verdict(checks: readonly Check[], paint: Paint): string {
  const missing = checks.filter(({ state }) => state === 'missing').length;
  const warnings = checks.filter(({ state }) => state === 'warn').length;
  if (missing > 0)
    return `${paint('red', `${missing} of ${checks.length} checks need mending.`)} The line under each mends it.${alternative(checks)}`;
  if (warnings > 0) return `This machine can run the box. ${warnings} ${warnings === 1 ? 'remark' : 'remarks'} above.`;
  return paint('green', 'Everything the box needs is here.');
}

/** For a host that cannot have some layers, such as one without root. */
function alternative(checks: readonly Check[]): string {
  const layers = checks.filter(({ name, state }) => state === 'missing' && acceptableLayers.some((layer) => layer === name));
  if (layers.length === 0) return '';
  return `\nTo do without, say so in skillbox.yaml: sandbox: {accept_missing: [${layers.map(({ name }) => name).join(', ')}]}`;
}
