/** What was done to the graph, one line for each change. */

import type {
  ActionRecord,
  BootstrapReport,
  DownReport,
  GraphExamination,
  PulseStatus,
  ServiceLog,
  ServiceOutcome,
  SyncReport,
  TaskOutcome,
  UpReport,
} from '@skillbox/protocol';
import { acceptableLayers } from '../manifest/layers.ts';
import { formatDuration } from '../units.ts';
import { pulseLine } from './graph-status-view.ts';
import type { Io } from './io.ts';
import { oneLine, type Paint, printable, type Tone } from './paint.ts';
import { formatFacts } from './table.ts';

type Mark = readonly [mark: string, tone: Tone];

const good: Mark = ['✓', 'green'];
const bad: Mark = ['✗', 'red'];
const planned: Mark = ['→', 'cyan'];
const passed: Mark = ['-', 'dim'];

export function syncView(report: SyncReport, { paint }: Io): string {
  const lines = changesOf(report, paint);
  const failed = report.actions.filter(({ result }) => result === 'failed').length;
  const took = `(${report.actions.length} ${report.actions.length === 1 ? 'item' : 'items'}, ${formatDuration(report.duration_ms)})`;
  if (lines.length === 0) return `Nothing to do ${took}.`;
  const changes = report.actions.filter(({ result }) => result === 'done' || result === 'planned').length;
  const told = report.dry_run ? `${changes} to do, nothing done` : `${changes} done`;
  return [...lines, '', `${failed > 0 ? paint('red', `${failed} failed, ${told}`) : told} ${took}.`].join('\n');
}

/** What is unchanged is left out. */
function changesOf({ actions }: SyncReport, paint: Paint): string[] {
  const shown = actions.filter(({ result }) => result !== 'unchanged');
  const width = Math.max(0, ...shown.map(({ action }) => action.length));
  return shown.map((record) => actionLine(record, width, paint));
}

const actionMarks: Readonly<Record<ActionRecord['result'], Mark>> = {
  done: good,
  unchanged: passed,
  planned,
  skipped: ['!', 'yellow'],
  failed: bad,
};

function actionLine({ section, id, action, result, path, detail, error }: ActionRecord, width: number, paint: Paint): string {
  const [mark, tone] = actionMarks[result];
  const told = error?.message ?? detail ?? path ?? '';
  const line = `${paint(tone, mark)} ${action.padEnd(width)}  ${paint('bold', `${section}/${oneLine(id)}`)}  ${oneLine(told)}`.trimEnd();
  return error ? `${line}\n    ${paint('cyan', oneLine(error.hint))}` : line;
}

export function bootstrapView({ ok, sync, tasks }: BootstrapReport, { paint }: Io): string {
  const lines = [...changesOf(sync, paint), ...tasksOf(tasks, paint)];
  if (lines.length > 0) return lines.join('\n');
  return ok ? `Nothing to do (${tasks.length} ${tasks.length === 1 ? 'task is' : 'tasks are'} ready).` : 'It failed.';
}

const taskMarks: Readonly<Record<TaskOutcome['result'], Mark>> = {
  ready: passed,
  done: good,
  failed: bad,
  blocked: bad,
  'dry-run': planned,
};

function tasksOf(tasks: readonly TaskOutcome[], paint: Paint): string[] {
  return tasks
    .filter(({ result }) => result !== 'ready')
    .map(({ id, result, duration_ms, detail, error, tail }) =>
      [
        line(taskMarks[result], `task ${oneLine(id)}`, result, duration_ms, detail ?? error?.message ?? null, paint),
        ...tailOf(tail, paint),
        ...hintOf(error, paint),
      ].join('\n'),
    );
}

export const upView = (report: UpReport, io: Io): string => upText(report, io);
export const downView = (report: DownReport, io: Io): string => downText(report, io);

/** `log`: of the server, for who is on its machine. */
export function upText(report: UpReport, { paint }: Io, { log }: { readonly log?: string } = {}): string {
  const { dry_run, ok, url, services } = report;
  // A server that is up is told by where it is.
  const shown = services.filter(({ id, result }) => dry_run || id !== api || (result !== 'started' && result !== 'already-running'));
  // What agents are told comes with every change of the box: no news for who starts it.
  const changes = changesOf({ ...report.sync, actions: report.sync.actions.filter(isNews) }, paint);
  const lines = [...changes, ...tasksOf(report.tasks, paint), ...servicesOf(shown, paint)];
  const facts = formatFacts(
    [
      ['url', url ?? undefined],
      ['dashboard', url === null ? undefined : `${url}/ui/ (sign in: skillbox open)`],
      ['admin key', report.admin_key_file ?? undefined],
      ['log', log],
      ['look', 'skillbox status'],
      ['stop it', 'skillbox down'],
    ],
    paint,
  );
  const idle = changes.length + tasksOf(report.tasks, paint).length === 0;
  const already = idle && services.every(({ result }) => result === 'already-running' || result === 'external');
  const head = dry_run
    ? 'Nothing was done.'
    : ok
      ? `${paint('green', '✓')} The box is up${already ? ' already' : ''}.`
      : `${paint('red', '✗')} Not all is up.`;
  return [...lines, '', ok && !dry_run ? `${head}\n${facts}` : head].join('\n').trimStart();
}

const isNews = ({ section, result }: ActionRecord): boolean => section !== 'context' || result === 'failed' || result === 'planned';

export function downText(
  { ok, dry_run, services }: DownReport,
  { paint }: Io,
  { stateRoot }: { readonly stateRoot?: string } = {},
): string {
  const server = services.find(({ id }) => id === api);
  const whole = isWhole({ services });
  const shown = services.filter(
    ({ id, result, detail }) => dry_run || ((result !== 'not-running' || detail !== null) && !(id === api && whole)),
  );
  const lines = servicesOf(shown, paint);
  if (dry_run) return [...lines, '', 'Nothing was done.'].join('\n').trimStart();
  if (server?.result === 'killed')
    lines.push(`${paint('yellow', '!')} The server did not stop in time and was killed. The next start closes what it left open.`);
  else if (!ok) lines.push(paint('red', 'Not all of them stopped.'));
  else if (whole) lines.push(`${paint('green', '✓')} The box is down.`);
  if (lines.length > 0) return lines.join('\n');
  return services.length <= 1 && server && stateRoot !== undefined ? `No box runs in ${stateRoot}.` : 'Nothing runs.';
}

/** The server of the box among its services. */
const api = 'api';

/** The server went with the rest. */
export const isWhole = ({ services }: Pick<DownReport, 'services'>): boolean =>
  services.some(({ id, result }) => id === api && (result === 'stopped' || result === 'killed'));

/** Sandboxes outlive the server: who stops the box must know that something still runs. */
export function livingOnText(sandboxes: readonly string[], { paint }: Io): string[] {
  const [first] = sandboxes;
  if (first === undefined) return [];
  const some = sandboxes.length === 1 ? `Sandbox ${first} lives on` : `${sandboxes.length} sandboxes live on`;
  const them = sandboxes.length === 1 ? ['it', first] : ['them', 'ID'];
  return [
    `${paint('yellow', '!')} ${some}, with what runs inside. skillbox up finds ${them[0]} again; then, to end ${them[0]}: skillbox sandbox destroy ${them[1]}`,
  ];
}

const serviceMarks: Readonly<Record<ServiceOutcome['result'], Mark>> = {
  started: good,
  'already-running': passed,
  failed: bad,
  timeout: bad,
  skipped: ['!', 'yellow'],
  'dry-run': planned,
  stopped: good,
  killed: ['!', 'yellow'],
  stuck: bad,
  external: passed,
  'not-running': passed,
};

function servicesOf(services: readonly ServiceOutcome[], paint: Paint): string[] {
  return services.map(({ id, result, pid, duration_ms, detail, error, tail }) => {
    const told = detail ?? error?.message ?? (pid === null ? null : `pid ${pid}`);
    return [
      line(serviceMarks[result], oneLine(id), result, duration_ms, told, paint),
      ...tailOf(tail, paint),
      ...hintOf(error, paint),
    ].join('\n');
  });
}

function line([mark, tone]: Mark, name: string, result: string, ms: number, detail: string | null, paint: Paint): string {
  const took = ms >= 1 ? ` after ${formatDuration(ms)}` : '';
  return `${paint(tone, mark)} ${paint('bold', name)}  ${result}${took}${detail === null ? '' : `  ${oneLine(detail)}`}`;
}

/** Outcomes of an older box have no error. */
const hintOf = (error: ServiceOutcome['error'] | undefined, paint: Paint): string[] =>
  error ? [`    ${paint('cyan', oneLine(error.hint))}`] : [];

const tailOf = (tail: readonly string[], paint: Paint): string[] => tail.map((text) => `    ${paint('dim', '│')} ${printable(text)}`);

export function logsView({ items }: { readonly items: readonly ServiceLog[] }, { paint }: Io): string {
  if (items.length === 0) return 'No service has a log here.';
  return items
    .map(({ service, path, lines }) => {
      const head = items.length > 1 ? [`${paint('bold', oneLine(service))}  ${paint('dim', oneLine(path))}`] : [];
      return [...head, ...(lines.length > 0 ? lines.map(printable) : [paint('dim', '(nothing yet)')])].join('\n');
    })
    .join('\n\n');
}

const checkMarks = { ok: good, warn: ['!', 'yellow'], fail: bad } as const;

export function doctorView({ healthy, checks }: GraphExamination, { paint }: Io): string {
  const width = Math.max(0, ...checks.map(({ name }) => oneLine(name).length));
  const lines = checks.map(({ name, state, detail, code, fix }) => {
    const [mark, tone] = checkMarks[state];
    const head = `${paint(tone, mark)} ${oneLine(name).padEnd(width)}  ${oneLine(detail)}${code === null ? '' : paint('dim', ` (${code})`)}`;
    return fix === null ? head : `${head}\n  ${' '.repeat(width)}  ${paint('cyan', oneLine(fix))}`;
  });
  return [...lines, '', verdict(healthy, checks, paint)].join('\n');
}

function verdict(healthy: boolean, checks: GraphExamination['checks'], paint: Paint): string {
  const count = (state: string): number => checks.filter((check) => check.state === state).length;
  if (!healthy)
    return `${paint('red', `${count('fail')} of ${checks.length} checks failed.`)} The line under each mends it.${alternative(checks)}`;
  const warnings = count('warn');
  if (warnings > 0) return `All can work. ${warnings} ${warnings === 1 ? 'remark' : 'remarks'} above.`;
  return paint('green', 'All is as declared.');
}

/** For a host that cannot have some layers, such as one without root. */
function alternative(checks: GraphExamination['checks']): string {
  const layers = checks.filter(({ name, state }) => state === 'fail' && acceptableLayers.some((layer) => layer === name));
  if (layers.length === 0) return '';
  return `\nTo do without, say so in skillbox.yaml: sandbox: {accept_missing: [${layers.map(({ name }) => name).join(', ')}]}`;
}

export function pulseView(pulse: PulseStatus, { paint }: Io): string {
  const states = (of: Readonly<Record<string, string>>): string =>
    Object.entries(of)
      .map(([id, state]) => `${oneLine(id)} ${oneLine(state)}`)
      .join(', ');
  const waiting = Object.entries(pulse.next_attempts).map(([id, time]) => `${oneLine(id)} at ${time}`);
  return formatFacts(
    [
      ['pulse', pulseLine(pulse, paint)],
      ['looks every', `${pulse.interval} s, ${pulse.cycle_count} times so far`],
      ['restarts what falls', pulse.auto_restart ? 'yes' : 'no'],
      ['events written', String(pulse.events_emitted)],
      ['config', pulse.config_hash ?? undefined],
      ['services', states(pulse.service_states)],
      ['checks', states(pulse.check_states)],
      ['next attempts', waiting.join(', ')],
      ['given up', pulse.given_up.map(oneLine).join(', ')],
    ],
    paint,
  );
}
