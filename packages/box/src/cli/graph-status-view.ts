/** skillbox status: what an operator reads every day. What needs attention first, then services, then a line for everything else. */

import type { Attention, PulseStatus, RuntimeStatus, ServiceStatus } from '@skillbox/protocol';
import { formatDuration } from '../units.ts';
import type { Io } from './io.ts';
import { oneLine, type Paint, type Tone } from './paint.ts';
import { type Column, formatFacts, formatTable } from './table.ts';

export function statusView(status: RuntimeStatus, { paint, width }: Io): string {
  const parts = [headline(status, paint)];
  if (status.attention.length > 0) parts.push(attentionText(status.attention, paint));
  if (status.services.length > 0) parts.push(formatTable(status.services, serviceColumns, { paint, width }));
  parts.push(formatFacts([...sections(status), ['pulse', pulseLine(status.pulse, paint)]], paint));
  return parts.join('\n\n');
}

function headline({ client, profiles, attention }: RuntimeStatus, paint: Paint): string {
  const where = `${client === null ? 'The box' : `Client ${oneLine(client)}`}, ${profiles.map(oneLine).join(' + ')}`;
  const errors = attention.filter(({ severity }) => severity === 'error').length;
  if (attention.length === 0) return `${paint('green', '✓')} ${where}: all is well.`;
  const many = attention.length === 1 ? 'one thing needs' : `${attention.length} things need`;
  return `${errors > 0 ? paint('red', '✗') : paint('yellow', '!')} ${where}: ${many} attention.`;
}

function attentionText(attention: readonly Attention[], paint: Paint): string {
  const width = Math.max(...attention.map(({ subject }) => oneLine(subject).length));
  return attention
    .map(({ severity, subject, message, fix }) => {
      const mark = severity === 'error' ? paint('red', '✗') : paint('yellow', '!');
      const head = `${mark} ${paint('bold', oneLine(subject).padEnd(width))}  ${oneLine(message)}`;
      return fix === null ? head : `${head}\n  ${' '.repeat(width)}  ${paint('cyan', oneLine(fix))}`;
    })
    .join('\n');
}

const stateTones: Readonly<Record<ServiceStatus['state'], Tone>> = {
  running: 'green',
  ok: 'green',
  starting: 'cyan',
  down: 'red',
  declared: 'dim',
  idle: 'dim',
  unknown: 'yellow',
};

const serviceColumns: Column<ServiceStatus>[] = [
  { title: 'SERVICE', value: ({ id }) => id, tone: () => 'bold' },
  { title: 'STATE', value: ({ state }) => state, tone: ({ state }) => stateTones[state] },
  { title: 'PID', value: ({ pid }) => (pid === null ? '' : String(pid)), right: true },
  {
    title: 'HEALTH',
    value: ({ healthy }) => (healthy === null ? '' : healthy ? 'healthy' : 'unhealthy'),
    tone: ({ healthy }) => (healthy === false ? 'red' : undefined),
  },
  { title: 'UP FOR', value: upFor, right: true },
  { title: 'RESTARTS', value: ({ restarts }) => (restarts === 0 ? '' : String(restarts)), right: true },
  {
    title: 'NOTE',
    value: ({ detail, sandbox, mode }) => detail ?? [mode ?? '', sandbox ? `in ${sandbox}` : ''].filter(Boolean).join(', '),
  },
];

function upFor({ started_at, pid }: ServiceStatus): string {
  if (started_at === null || pid === null) return '';
  const minutes = Math.floor((Date.now() - Date.parse(started_at)) / 60_000);
  if (minutes < 1) return formatDuration(Math.max(0, Date.now() - Date.parse(started_at)));
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours}h${minutes % 60}m` : `${Math.floor(hours / 24)}d`;
}

const titles = {
  repos: 'repos',
  artifacts: 'artifacts',
  env_files: 'env files',
  skills: 'skills',
  tasks: 'tasks',
  logs: 'logs',
  checks: 'checks',
  bridges: 'bridges',
} as const;
const well = ['ok', 'ready', 'present', 'fresh'];

/** One line for each: how many are well, and which are not. */
function sections(status: RuntimeStatus): (readonly [string, string | undefined])[] {
  const named = (Object.keys(titles) as (keyof typeof titles)[]).map((section) => {
    const items: readonly { readonly id: string; readonly state: string }[] =
      section === 'repos' ? status.repos.map(told) : status[section];
    return [titles[section], summary(items)] as const;
  });
  const surfaces = status.parity_ledger.map(({ legacy_surface, ownership_state }) => ({ id: legacy_surface, state: ownership_state }));
  const ledger = summary(surfaces, ['covered', 'external']);
  return [...named, ['parity ledger', ledger], ['connectors', status.connectors.map(oneLine).join(', ')]];
}

/** Such as unknown (timed out). */
const told = ({ id, state, detail }: RuntimeStatus['repos'][number]): { id: string; state: string } => ({
  id,
  state: detail === null ? state : `${state} (${oneLine(detail)})`,
});

const mostNamed = 5;

function summary(items: readonly { readonly id: string; readonly state: string }[], fine: readonly string[] = well): string | undefined {
  const byState = new Map<string, string[]>();
  for (const { id, state } of items) byState.set(state, [...(byState.get(state) ?? []), oneLine(id)]);
  const text = [...byState].map(([state, ids]) => {
    if (fine.includes(state)) return `${ids.length} ${state}`;
    const more = ids.length > mostNamed ? `, and ${ids.length - mostNamed} more` : '';
    return `${ids.length} ${state} (${ids.slice(0, mostNamed).join(', ')}${more})`;
  });
  return text.join(', ') || undefined;
}

export function pulseLine({ running, pid, heals, updated_at, given_up }: PulseStatus, paint: Paint): string {
  if (!running) return `${paint('yellow', 'not running')}: nobody starts what falls (skillbox pulse start)`;
  const looked =
    updated_at === null ? 'has not looked yet' : `looked ${formatDuration(Math.max(0, Date.now() - Date.parse(updated_at)))} ago`;
  const lost = given_up.length > 0 ? `, gave up on ${given_up.map(oneLine).join(', ')}` : '';
  return `running, pid ${pid}, ${looked}, ${heals} ${heals === 1 ? 'restart' : 'restarts'}${lost}`;
}
