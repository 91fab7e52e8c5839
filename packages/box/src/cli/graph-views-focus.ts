/** What people see of focus, context and sessions: what needs attention comes first. */

import type { Attention, ContextReport, FocusReport, RepoState, ServiceStatus, SessionEvent, WorkSession } from '@skillbox/protocol';
import { formatDuration, formatSize } from '../units.ts';
import type { Io } from './io.ts';
import { oneLine, printable, type Tone } from './paint.ts';
import { type Column, formatFacts, formatTable } from './table.ts';
import { ago } from './time.ts';

type View = (body: never, io: Io, input: Record<string, unknown>) => string;

export const focusViews: Record<string, View> = {
  focus: focusView,
  context: contextView,
  'session.start': (session: WorkSession, io) =>
    `${sessionFacts(session, io)}\n\nAdd to it: skillbox session event ${session.session_id} 'what happened'`,
  'session.event': ({ session_id, type }: SessionEvent) => `Added a ${oneLine(type)} to ${session_id}.`,
  'session.heartbeat': (session: WorkSession) => `${session.session_id} is alive.`,
  'session.end': (session: WorkSession, io) => `${sessionFacts(session, io)}\n\nHanded over in ${session.path}/handoff.md`,
  'session.resume': (session: WorkSession, io) => sessionFacts(session, io),
  'session.status': ({ items }: { items: WorkSession[] }, io) =>
    items.length === 0 ? 'No sessions. Start one: skillbox session start CLIENT' : table(items, sessionColumns, io),
  'session.show': sessionView,
};

const stateTones: Record<string, Tone> = {
  ...{ done: 'green', unchanged: 'dim', failed: 'red', skipped: 'yellow' },
  ...{ running: 'green', ok: 'green', starting: 'cyan', down: 'red', unknown: 'yellow' },
  ...{ active: 'green', 'active, but silent': 'yellow', completed: 'dim', abandoned: 'yellow' },
};

const column = <T>(title: string, value: (item: T) => string, more: Partial<Column<T>> = {}): Column<T> => ({ title, value, ...more });
const right = { right: true };
const table = <T>(items: readonly T[], columns: readonly Column<T>[], { paint, width }: Io): string =>
  formatTable(items, columns, { paint, width });

const attentionColumns: Column<Attention>[] = [
  column('ATTENTION', ({ severity }) => severity, { tone: ({ severity }) => (severity === 'error' ? 'red' : 'yellow') }),
  column('SUBJECT', ({ subject }) => subject, { tone: () => 'bold' }),
  column('WHAT', ({ message }) => message),
];

const stepColumns: Column<FocusReport['steps'][number]>[] = [
  column('STEP', ({ step }) => step, { tone: () => 'bold' }),
  column('RESULT', ({ result }) => result, { tone: ({ result }) => stateTones[result] }),
  column('TOOK', ({ duration_ms }) => formatDuration(duration_ms), right),
  column('DETAIL', ({ detail }) => detail ?? ''),
];

const serviceColumns: Column<ServiceStatus>[] = [
  column('SERVICE', ({ id }) => id, { tone: () => 'bold' }),
  column('STATE', ({ state }) => state, { tone: ({ state }) => stateTones[state] }),
  column('PID', ({ pid }) => (pid === null ? '' : String(pid)), right),
  column('HEALTH', ({ healthy }) => (healthy === null ? '' : healthy ? 'well' : 'not well'), {
    tone: ({ healthy }) => (healthy === false ? 'red' : undefined),
  }),
  column('RESTARTS', ({ restarts }) => String(restarts), right),
  column('DETAIL', ({ detail }) => detail ?? ''),
];

const repoColumns: Column<RepoState>[] = [
  column('REPO', ({ id }) => id, { tone: () => 'bold' }),
  column('BRANCH', ({ branch }) => branch ?? ''),
  column('DIRTY', ({ dirty }) => (dirty === null ? '' : String(dirty)), { ...right, tone: ({ dirty }) => (dirty ? 'yellow' : undefined) }),
  column('LAST COMMIT', ({ last_commit }) => last_commit ?? ''),
];

const sessionColumns: Column<WorkSession>[] = [
  column('ID', ({ session_id }) => session_id),
  column('CLIENT', ({ client_id }) => client_id),
  column('STATE', stateOf, { tone: (session) => stateTones[stateOf(session)] }),
  column('EVENTS', ({ events }) => String(events), right),
  column('LAST', ({ updated_at }) => ago(updated_at)),
  column('LABEL', ({ label, goal }) => label ?? goal ?? ''),
];

const eventColumns: Column<SessionEvent>[] = [
  column('TIME', ({ ts }) => ts.replace('T', ' ').replace(/\.\d+Z$/, 'Z')),
  column('TYPE', ({ type }) => type, { tone: () => 'bold' }),
  column('WHAT', ({ detail: { message, ...rest } }) =>
    [typeof message === 'string' ? message : '', Object.keys(rest).length > 0 ? JSON.stringify(rest) : ''].filter(Boolean).join(' '),
  ),
];

function stateOf({ state, stale }: WorkSession): string {
  return stale ? `${state}, but silent` : state;
}

function focusView(report: FocusReport, io: Io): string {
  const { paint } = io;
  const { ok, client, profiles, resumed, steps, attention, services, repos, errors, sessions, context } = report;
  const took = formatDuration(steps.reduce((sum, { duration_ms }) => sum + duration_ms, 0));
  const mark = ok ? paint('green', '✓') : paint('red', '✗');
  const head = `${mark} ${resumed ? 'Resumed' : 'Focused'} ${paint('bold', client)} (${profiles.join(', ')}) in ${took}${ok ? '' : ', but not all went well'}`;
  const parts = [
    head,
    attention.length > 0 ? attentionText(attention, io) : paint('green', 'Nothing needs attention.'),
    table(steps, stepColumns, io),
    services.length > 0 ? table(services, serviceColumns, io) : '',
    repos.length > 0 ? table(repos, repoColumns, io) : '',
    errors.length > 0
      ? `${paint('dim', 'Errors in logs')}\n${errors.map(({ log, line }) => `${oneLine(log)}: ${oneLine(line)}`).join('\n')}`
      : '',
    formatFacts(
      [
        ['open sessions', sessions.join(', ')],
        ['agents read', context.join(', ')],
      ],
      paint,
    ),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The command that mends it stands on a line of its own, to be copied. */
function attentionText(attention: readonly Attention[], io: Io): string {
  const fixes = [...new Set(attention.flatMap(({ fix }) => fix ?? []))];
  const list = table(attention, attentionColumns, io);
  return fixes.length === 0 ? list : `${list}\n${fixes.map((fix) => `  ${io.paint('dim', '→')} ${oneLine(fix)}`).join('\n')}`;
}

function contextView({ client, files, bytes }: ContextReport, { paint }: Io): string {
  const lines = files.map(({ path, changed }) => `${changed ? paint('green', 'written  ') : paint('dim', 'unchanged')}  ${path}`);
  return `${lines.join('\n')}\n\n${client ? `For client ${client}` : 'For the box itself'}, ${formatSize(bytes)}.`;
}

function sessionFacts(session: WorkSession, { paint }: Io): string {
  const facts = formatFacts(
    [
      ['client', session.client_id],
      ['state', stateOf(session)],
      ['label', session.label ? oneLine(session.label) : undefined],
      ['goal', session.goal ? oneLine(session.goal) : undefined],
      ['started', ago(session.started_at)],
      ['last', ago(session.updated_at)],
      ['resumed', session.resumed > 0 ? String(session.resumed) : undefined],
      ['events', String(session.events)],
      ['summary', session.summary ? oneLine(session.summary) : undefined],
      ['folder', session.path],
    ],
    paint,
  );
  return `${paint('bold', session.session_id)}\n${facts}`;
}

function sessionView(
  { timeline, handoff, ...session }: WorkSession & { timeline: SessionEvent[]; handoff: string | null },
  io: Io,
): string {
  const earlier = session.events - timeline.length;
  const parts = [sessionFacts(session, io), table(timeline, eventColumns, io)];
  if (earlier > 0) parts.push(io.paint('dim', `${earlier} before these are in ${session.path}/events.jsonl`));
  if (handoff) parts.push(`${io.paint('dim', 'Handed over')}\n${printable(handoff).trimEnd()}`);
  return parts.join('\n\n');
}
