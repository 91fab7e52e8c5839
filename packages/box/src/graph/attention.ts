/** What is down, failing, stale or given up, each with the command that mends it or shows more: errors first. */

import type { Attention, BridgeStatus, CheckStatus, PulseStatus, ServiceStatus, TaskStatus } from '@skillbox/protocol';
import type { FileStates } from './sync/states.ts';

export interface Looked extends FileStates {
  readonly tasks: readonly TaskStatus[];
  readonly services: readonly ServiceStatus[];
  /** Services that run and are declared no more. */
  readonly undeclared: readonly string[];
  readonly checks: readonly CheckStatus[];
  readonly bridges: readonly BridgeStatus[];
  readonly pulse: PulseStatus;
  /** Between the parity ledger and what is declared. */
  readonly gaps: readonly string[];
  /** How tasks last ended, where that was not well. */
  readonly failures: ReadonlyMap<string, string | undefined>;
}

export function attentionOf(looked: Looked): Attention[] {
  const { repos, artifacts, env_files, skills, tasks, services, undeclared, checks, bridges, pulse, gaps, failures } = looked;
  const all = [
    ...services.flatMap((service) => ofService(service, pulse)),
    ...undeclared.map((id) => entry('warning', `service:${id}`, 'runs, but is declared no more', `skillbox down --service ${id}`)),
    ...checks
      .filter(({ state }) => state === 'fail')
      .map(({ id, detail }) => entry('error', `check:${id}`, `fails: ${detail}`, 'skillbox doctor')),
    ...tasks.flatMap((task) => ofTask(task, failures.get(task.id))),
    ...env_files.filter(({ state }) => state !== 'ok').map((file) => ofFile('env_file', file, file.state)),
    ...artifacts.filter(({ state }) => state === 'missing' || state === 'stale').map((file) => ofFile('artifact', file, file.state)),
    ...repos.filter(({ state }) => state === 'missing' || state === 'behind').map((repo) => ofFile('repo', repo, repo.state)),
    ...skills
      .filter(({ state }) => state !== 'ok')
      .map(({ id, state, detail, required }) =>
        entry(severityOf(required, state === 'invalid'), `skills:${id}`, `${words[state]}${because(detail)}`, 'skillbox sync'),
      ),
    ...bridges
      .filter(({ state }) => state !== 'fresh')
      .map(({ id, state }) => entry('warning', `bridge:${id}`, words[state] ?? state, 'skillbox up')),
    ...gaps.map((gap) => entry('error', 'parity_ledger', `LOCAL_RUNTIME_COVERAGE_GAP: ${gap}`, 'skillbox render --why')),
    ...ofPulse(pulse, services),
  ];
  return [...all.filter(({ severity }) => severity === 'error'), ...all.filter(({ severity }) => severity === 'warning')];
}

const words: Readonly<Record<string, string>> = {
  missing: 'is missing',
  stale: 'is stale',
  behind: 'is behind what was fetched',
  'source-missing': 'has no source',
  invalid: 'is not valid',
};

const entry = (severity: Attention['severity'], subject: string, message: string, fix: string | null): Attention => ({
  severity,
  subject,
  message,
  fix,
});

const severityOf = (required: boolean, grave = false): Attention['severity'] => (required || grave ? 'error' : 'warning');
const because = (detail: string | null): string => (detail ? `: ${detail}` : '');

function ofService({ id, state, detail, required, wanted, client }: ServiceStatus, { given_up }: PulseStatus): Attention[] {
  const subject = `service:${id}`;
  const named = `${client === null ? '' : `--client ${client} `}--service ${id}`;
  if (given_up.includes(id))
    return [entry('error', subject, `fell too often, and pulse gave up${because(detail)}`, `skillbox logs ${named}`)];
  // One whose start failed is nobody's concern until somebody starts it again, which tells all that there is to say.
  if (state === 'down') return [entry('error', subject, `is down${because(detail)}`, `skillbox ${wanted ? 'logs' : 'up'} ${named}`)];
  if (state === 'declared' && required)
    return [entry('warning', subject, 'is not started', id === 'api' ? 'skillbox up' : `skillbox up ${named}`)];
  if (state === 'running' && detail !== null) return [entry('warning', subject, detail, `skillbox restart ${named}`)];
  return [];
}

function ofTask({ id, state, required, blocked_by, client }: TaskStatus, failure: string | undefined): Attention[] {
  if (state === 'ready') return [];
  const fix = `skillbox bootstrap ${client === null ? '' : `--client ${client} `}--task ${id}`;
  if (failure !== undefined) return [entry('error', `task:${id}`, failure, fix)];
  if (!required) return [];
  return [entry('warning', `task:${id}`, state === 'blocked' ? `waits for ${blocked_by.join(', ')}` : 'has not run yet', fix)];
}

function ofFile(kind: string, { id, required, host_path }: { id: string; required: boolean; host_path: string }, state: string): Attention {
  const fix = state === 'source-missing' ? null : 'skillbox sync';
  return entry(severityOf(required && state !== 'behind'), `${kind}:${id}`, `${words[state] ?? state}: ${host_path}`, fix);
}

/** Without it nobody starts again what falls. */
function ofPulse({ running }: PulseStatus, services: readonly ServiceStatus[]): Attention[] {
  if (running || !services.some(({ wanted }) => wanted)) return [];
  return [entry('warning', 'pulse', 'does not run: what falls stays down', 'skillbox pulse start')];
}
