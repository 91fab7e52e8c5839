/** What people see of an answer. A command without a row here gets columns from its fields, so that none is unreadable. */

import type {
  ApiKey,
  Artifact,
  BoxEvent,
  CreatedKey,
  CreatedWebhook,
  Execution,
  ExecutionSummary,
  Page,
  RouteExplanation,
  Secret,
  SignInLink,
  SkillDetail,
  SkillSummary,
  Tenant,
  Webhook,
  WebhookDelivery,
  WebhookTest,
} from '@skillbox/protocol';
import { formatDuration, formatSize } from '../units.ts';
import { executionView } from './execution-view.ts';
import { graphViews } from './graph-views.ts';
import { focusViews } from './graph-views-focus.ts';
import type { Io } from './io.ts';
import { oneLine, type Paint, printable, type Tone } from './paint.ts';
import { type Column, formatFacts, formatTable } from './table.ts';
import { ago } from './time.ts';

type View = (body: never, io: Io, input: Record<string, unknown>) => string;

export function viewOf(command: string, body: unknown, io: Io, input: Record<string, unknown> = {}): string {
  const view = views[command];
  if (view) return view(body as never, io, input);
  return isPage(body) ? genericList(body, io) : genericFacts(body, io.paint);
}

const views: Record<string, View> = {
  ...focusViews,
  'skill.list': (page: Page<SkillSummary>, io) => list(page, skillColumns, io, 'No skills yet. Add one: skillbox skill push ./my-skill'),
  'skill.search': (page: Page<SkillSummary>, io) => list(page, skillColumns, io, 'No skill has these words.'),
  'skill.versions': (page: Page<SkillSummary>, io) => list(page, versionColumns, io, 'No versions.'),
  'skill.show': skillView,
  'skill.delete': (_nothing, _io, { name, version }) => `Deleted ${name} ${version}.`,
  'execution.list': (page: Page<ExecutionSummary>, io) =>
    list(page, executionColumns, io, 'No executions. Start one: skillbox run NAME --input JSON'),
  'execution.get': (record: Execution, io) => executionView(record, io, { logs: true }),
  'execution.cancel': (record: Execution, io) => executionView(record, io, { logs: false }),
  'execution.delete': (_nothing, _io, { id }) => `Deleted ${id}.`,
  'execution.files': (page: Page<Artifact>, io) => list(page, artifactColumns, io, 'This execution left no artifacts.'),
  'sandbox.programs': (page: Page<ProgramRow>, io) => list(page, programColumns, io, 'Nothing was started in it.'),
  'sandbox.preview': ({ url }: { url: string }) => url,
  'route.explain': routeView,
  'signin.link': ({ url }: SignInLink, { paint }) => `${url}\n${paint('dim', 'Signs in once, within five minutes.')}`,
  'key.create': createdKeyView,
  'key.list': (page: Page<ApiKey>, io) => list(page, keyColumns, io, 'No keys.'),
  'key.revoke': (key: ApiKey) => `Revoked ${key.id} (${oneLine(key.name)}). It does not work any more.`,
  'tenant.list': (page: Page<Tenant>, io) => list(page, tenantColumns, io, 'No tenants.'),
  'tenant.set': (tenant: Tenant, io) => list({ items: [tenant], next_cursor: null }, tenantColumns, io, ''),
  'secret.list': (page: Page<Secret>, io) => list(page, secretColumns, io, 'No secrets. Keep one: skillbox secret set NAME'),
  'secret.delete': (_nothing, _io, { name }) => `Deleted ${name}.`,
  'event.list': (page: Page<BoxEvent>, io) => list(page, eventColumns, io, 'Nothing happened.'),
  'webhook.create': createdWebhookView,
  'webhook.list': (page: Page<Webhook>, io) => list(page, webhookColumns, io, 'No webhooks. Make one: skillbox webhook create NAME URL'),
  'webhook.delete': (_nothing, _io, { name }) => `Deleted ${name}.`,
  'webhook.test': ({ ok, error, status, ms }: WebhookTest) =>
    ok ? `It answered ${status} after ${formatDuration(ms)}.` : `It failed after ${formatDuration(ms)}: ${oneLine(error ?? '')}.`,
  'webhook.deliveries': (page: Page<WebhookDelivery>, io) => list(page, deliveryColumns, io, 'Nothing was sent yet.'),
  'webhook.retry': ({ retried }: { retried: number }) => `${retried} ${retried === 1 ? 'delivery' : 'deliveries'} will be sent again.`,
  ...graphViews,
};

export const statusTones: Record<string, Tone> = {
  success: 'green',
  running: 'cyan',
  building: 'cyan',
  available: 'green',
  queued: 'cyan',
  failed: 'red',
  timeout: 'red',
  cancelled: 'yellow',
};

const column = <T>(title: string, value: (item: T) => string, more: Partial<Column<T>> = {}): Column<T> => ({ title, value, ...more });
const right = { right: true };

const skillColumns: Column<SkillSummary>[] = [
  column('NAME', (skill) => skill.name, { tone: () => 'bold' }),
  column('VERSION', (skill) => skill.version),
  column('RUNS ON', (skill) => skill.lang ?? 'instructions'),
  column('DEPENDENCIES', (skill) => skill.dependencies?.state ?? '', { tone: (skill) => statusTones[skill.dependencies?.state ?? ''] }),
  column('DESCRIPTION', (skill) => skill.description),
];

const versionColumns: Column<SkillSummary>[] = [
  column('VERSION', (skill) => skill.version, { tone: () => 'bold' }),
  column('RUNS ON', (skill) => skill.lang ?? 'instructions'),
  column('ADDED', (skill) => ago(skill.created_at)),
  column('DESCRIPTION', (skill) => skill.description),
];

const executionColumns: Column<ExecutionSummary>[] = [
  column('ID', (record) => record.execution_id),
  column('STATUS', (record) => record.status, { tone: (record) => statusTones[record.status] }),
  column('SKILL', (record) => `${record.skill_name} ${record.skill_version}`),
  column('TOOK', (record) => (record.duration_ms === null ? '' : formatDuration(record.duration_ms)), right),
  column('STARTED', (record) => ago(record.created_at)),
  column('ERROR', (record) => record.error?.message ?? ''),
];

const artifactColumns: Column<Artifact>[] = [
  column('PATH', (file) => file.path, { tone: () => 'bold' }),
  column('SIZE', (file) => formatSize(file.size), right),
  column('SHA-256', (file) => file.sha256),
];

const secretColumns: Column<Secret>[] = [
  column('NAME', (secret) => secret.name, { tone: () => 'bold' }),
  column('SET', (secret) => ago(secret.updated_at)),
  column('BY', (secret) => secret.updated_by),
];

interface ProgramRow {
  readonly program_id: number;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly started_at: string;
  readonly ended: boolean;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

const programColumns: Column<ProgramRow>[] = [
  column('PROGRAM', (program) => String(program.program_id), right),
  column('PID', (program) => String(program.pid), right),
  column('STATE', ({ ended, exit_code, signal }) => (ended ? `ended: ${signal ?? exit_code}` : 'runs')),
  column('STARTED', (program) => ago(program.started_at)),
  column('COMMAND', (program) => oneLine(program.argv.join(' '))),
];

const keyColumns: Column<ApiKey>[] = [
  column('ID', (key) => key.id),
  column('NAME', (key) => key.name, { tone: () => 'bold' }),
  column('TENANT', (key) => key.tenant),
  column('ACTOR', (key) => key.actor),
  column('STATE', stateOf, { tone: (key) => (stateOf(key) === 'active' ? 'green' : 'dim') }),
  column('LAST USED', (key) => (key.last_used_at ? ago(key.last_used_at) : 'never')),
  column('SCOPES', (key) => key.scopes.join(',')),
];

const tenantColumns: Column<Tenant>[] = [
  column('NAME', (tenant) => tenant.name, { tone: () => 'bold' }),
  column('SLOTS', (tenant) => String(tenant.limits.slots), right),
  column('REQUESTS/S', (tenant) => String(tenant.limits.requests_per_second), right),
  column('USED', (tenant) => formatSize(tenant.storage_used_bytes), right),
  column('STORAGE', (tenant) => formatSize(tenant.limits.storage_bytes), right),
  column('DECLARED IN', (tenant) => (tenant.declared ? 'manifest' : 'database')),
];

const eventColumns: Column<BoxEvent>[] = [
  column('TIME', (event) => event.time.replace('T', ' ').replace(/\.\d+Z$/, 'Z')),
  column('TYPE', (event) => event.type, { tone: () => 'bold' }),
  column('SUBJECT', (event) => `${event.subject.type}:${event.subject.id}`),
  column('TENANT', (event) => event.tenant),
  column('BY', (event) => `${event.actor.kind}:${event.actor.id}`),
];

const webhookTones: Record<Webhook['state'] | WebhookDelivery['state'], Tone> = {
  ...{ ok: 'green', failing: 'yellow', away: 'red' },
  ...{ pending: 'cyan', delivered: 'green', dead: 'red' },
};

const webhookColumns: Column<Webhook>[] = [
  column('NAME', (hook) => hook.name, { tone: () => 'bold' }),
  column('STATE', (hook) => hook.state, { tone: (hook) => webhookTones[hook.state] }),
  column('PENDING', (hook) => String(hook.pending), right),
  column('DEAD', (hook) => String(hook.dead), right),
  column('EVENTS', (hook) => hook.events.join(',')),
  column('OF', (hook) => hook.tenant ?? 'all tenants'),
  column('URL', (hook) => oneLine(hook.url)),
  column('ERROR', (hook) => oneLine(hook.error ?? '')),
];

const deliveryColumns: Column<WebhookDelivery>[] = [
  column('EVENT', (delivery) => delivery.event_id),
  column('STATE', (delivery) => delivery.state, { tone: (delivery) => webhookTones[delivery.state] }),
  column('TYPE', (delivery) => delivery.type),
  column('SUBJECT', ({ subject }) => `${subject.type}:${subject.id}`),
  column('ATTEMPTS', (delivery) => String(delivery.attempts), right),
  column('ERROR', (delivery) => oneLine(delivery.error ?? '')),
];

function stateOf(key: ApiKey): string {
  if (key.revoked_at) return 'revoked';
  if (!key.expires_at) return 'active';
  return Date.parse(key.expires_at) < Date.now() ? 'expired' : 'active';
}

function list<T>(page: Page<T>, columns: readonly Column<T>[], { paint, width }: Io, empty: string): string {
  if (page.items.length === 0) return empty;
  const more = page.next_cursor === null ? '' : `\n\n${paint('dim', `More: add --cursor ${page.next_cursor}`)}`;
  return formatTable(page.items, columns, { paint, width }) + more;
}

const routeColumns: Column<RouteExplanation['route'][number]>[] = [
  column('PROVIDER', ({ provider }) => provider, { tone: () => 'bold' }),
  column('TAKEN', ({ taken }) => (taken ? 'yes' : 'no'), { tone: ({ taken }) => (taken ? 'green' : 'dim') }),
  column('WHY', ({ reason }) => oneLine(reason)),
];

function routeView({ template, price_per_hour, route }: RouteExplanation, io: Io): string {
  const price = price_per_hour === 0 ? 'no credits' : `${price_per_hour} credits an hour`;
  return `${io.paint('bold', template)}, ${price}\n\n${list({ items: route, next_cursor: null }, routeColumns, io, 'It has no candidates.')}`;
}

function createdKeyView(key: CreatedKey, { paint }: Io): string {
  const facts = formatFacts(
    [
      ['id', key.id],
      ['tenant', key.tenant],
      ['actor', key.actor],
      ['scopes', key.scopes.join(', ')],
      ['expires', key.expires_at ?? 'never'],
    ],
    paint,
  );
  return `${paint('bold', key.key)}\n\n${facts}\n\nKeep the key now: it is not stored and cannot be shown again.`;
}

function createdWebhookView(hook: CreatedWebhook, { paint }: Io): string {
  const facts = formatFacts(
    [
      ['name', hook.name],
      ['of', hook.tenant ?? 'all tenants'],
      ['url', oneLine(hook.url)],
      ['events', hook.events.join(', ')],
    ],
    paint,
  );
  return `${paint('bold', hook.secret)}\n\n${facts}\n\nGive the secret to the hub now: it cannot be shown again. Try it: skillbox webhook test ${hook.name}`;
}

function skillView(skill: SkillDetail, { paint }: Io): string {
  const facts = formatFacts(
    [
      ['description', oneLine(skill.description)],
      ['runs on', skill.lang ? `${skill.lang}, ${skill.entrypoint ?? ''}` : 'nothing: instructions to read'],
      ['timeout', skill.timeout_ms === null ? undefined : formatDuration(skill.timeout_ms)],
      ['memory', skill.resources.memory_bytes === null ? undefined : formatSize(skill.resources.memory_bytes)],
      ['preload', skill.preload.join(', ') || undefined],
      ['cpu', skill.resources.cpu === null ? undefined : String(skill.resources.cpu)],
      ['license', skill.license ? oneLine(skill.license) : undefined],
      ['files', `${skill.files.length}, ${formatSize(skill.size)}`],
      ['dependencies', dependenciesText(skill)],
      ['added', ago(skill.created_at)],
    ],
    paint,
  );
  const parts = [`${paint('bold', skill.name)} ${skill.version}\n${facts}`];
  if (skill.input_schema) parts.push(`${paint('dim', 'Input')}\n${printable(JSON.stringify(skill.input_schema, null, 2))}`);
  if (skill.output_schema) parts.push(`${paint('dim', 'Output')}\n${printable(JSON.stringify(skill.output_schema, null, 2))}`);
  if (skill.instructions) parts.push(`${paint('dim', 'Instructions')}\n${printable(skill.instructions).trimEnd()}`);
  return parts.join('\n\n');
}

function dependenciesText({ name, dependencies }: SkillDetail): string | undefined {
  if (!dependencies) return undefined;
  const { state, error, files, size_bytes } = dependencies;
  if (state === 'available') return `available, ${files ?? 0} files, ${formatSize(size_bytes ?? 0)}`;
  if (state === 'failed') return `failed: ${oneLine(error ?? '')} (skillbox skill build-log ${name})`;
  return error === null ? state.replace('_', ' ') : `${state.replace('_', ' ')}: ${oneLine(error)}`;
}

const isPage = (body: unknown): body is Page<Record<string, unknown>> => Array.isArray((body as { items?: unknown } | undefined)?.items);

function genericList(page: Page<Record<string, unknown>>, io: Io): string {
  const fields = Object.entries(page.items[0] ?? {}).filter(([, value]) => value === null || typeof value !== 'object');
  const columns = fields.map(([name]) =>
    column<Record<string, unknown>>(name.replaceAll('_', ' ').toUpperCase(), (item) => String(item[name] ?? '')),
  );
  return list(page, columns, io, 'Nothing here.');
}

function genericFacts(body: unknown, paint: Paint): string {
  if (body === undefined) return 'Done.';
  if (body === null || typeof body !== 'object') return printable(String(body));
  const text = (value: unknown): string => oneLine(typeof value === 'string' ? value : JSON.stringify(value));
  return formatFacts(
    Object.entries(body).map(([name, value]) => [name.replaceAll('_', ' '), value === null ? '-' : text(value)] as const),
    paint,
  );
}
