// Runs the scenario through the TypeScript SDK; README.md in the folder above says how.

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Client, SkillboxError } from '@skillbox/sdk';

const { SCENARIO, SKILLBOX_URL, SKILLBOX_API_KEY, VARIABLES } = process.env;
const { steps } = JSON.parse(readFileSync(SCENARIO, 'utf8'));
const variables = JSON.parse(VARIABLES);
const cancelled = Symbol('cancelled');

/** Each takes a client, arguments and the options of a call. */
const calls = {
  'client.health': (c, _with, o) => c.health(o),
  'client.ready': (c) => c.ready(),
  'client.list_skills': (c) => c.listSkills(),
  'client.get_skill': (c, w) => c.getSkill(w.name, w.version),
  'client.register_skill': (c, w) => c.registerSkill(w.path),
  'client.run': (c, { skill, input, ...more }, o) => c.run(skill, input, { ...more, ...o }),
  'client.get_execution': (c, w) => c.getExecution(w.id),
  'client.get_execution_logs': (c, w) => c.getExecutionLogs(w.id),
  'client.download_files': async (c, w) => {
    const paths = await c.downloadFiles(await c.getExecution(w.id), w.folder);
    return paths.map((path) => relative(w.folder, path)).sort();
  },
  'execution.has_files': async (c, w) => (await c.executions.get(w.id)).hasFiles,

  'skills.list': (c, w) => c.skills.list(w),
  'skills.all': (c) => arrayOf(c.skills.all()),
  'skills.search': (c, { words, ...more }) => c.skills.search(words, more),
  'skills.get': (c, w) => c.skills.get(w.name, w.version),
  'skills.versions': (c, w) => c.skills.versions(w.name),
  'skills.file': async (c, w) => bytes(await c.skills.file(w.name, w.version, w.path)),
  'skills.push': (c, w) => c.skills.push(readFileSync(w.path)),
  'skills.push_files': (c, w) => c.skills.pushFiles(w.files),
  'skills.push_folder': (c, w) => c.skills.pushFolder(w.path),
  'skills.delete': (c, w) => c.skills.delete(w.name, w.version),
  'skills.build': (c, w) => c.skills.build(w.name, w.version),
  'skills.build_log': (c, w) => c.skills.buildLog(w.name, w.version),

  'executions.run': (c, { idempotency_key: idempotencyKey, ...w }, o) => c.executions.run(w, { ...o, idempotencyKey }),
  'executions.submit': (c, { idempotency_key: idempotencyKey, ...w }, o) => c.executions.submit(w, { ...o, idempotencyKey }),
  'executions.wait': (c, w, o) => c.executions.wait(w.id, o),
  'executions.stream': (c, w, o) => arrayOf(c.executions.stream(w.id, { lastEventId: w.last_event_id, ...o })),
  'executions.figures': (c, w) => c.executions.figures(w),
  'executions.list': (c, w) => c.executions.list(w),
  'executions.all': (c, w) => arrayOf(c.executions.all(w)),
  'executions.get': (c, w) => c.executions.get(w.id),
  'executions.logs': (c, w) => c.executions.logs(w.id),
  'executions.cancel': (c, w) => c.executions.cancel(w.id),
  'executions.delete': (c, w) => c.executions.delete(w.id),
  'executions.files': (c, w) => c.executions.files(w.id),
  'executions.file': async (c, w) => bytes(await c.executions.file(w.id, w.path)),
  'executions.archive': async (c, w) => bytes(await c.executions.archive(w.id)),

  'sandboxes.create': async (c, w) => (await c.sandboxes.create(w)).record,
  'sandboxes.list': (c, w) => c.sandboxes.list(w),
  'sandboxes.all': (c, w) => arrayOf(c.sandboxes.all(w)),
  'sandboxes.snapshots': (c, w) => c.sandboxes.snapshots(w),
  'sandboxes.delete_snapshot': (c, w) => c.sandboxes.deleteSnapshot(w.snapshot),
  'sandbox.get': (c, w) => c.sandbox(w.id).get(),
  'sandbox.destroy': (c, w) => c.sandbox(w.id).destroy(),
  'sandbox.recreate': (c, w) => c.sandbox(w.id).recreate(),
  'sandbox.set_ttl': (c, w) => c.sandbox(w.id).setTtl(w.ttl),
  'sandbox.set_network': (c, { id, ...change }) => c.sandbox(id).setNetwork(change),
  'sandbox.pause': (c, w) => c.sandbox(w.id).pause(),
  'sandbox.resume': (c, w) => c.sandbox(w.id).resume(),
  'sandbox.snapshot': (c, w) => c.sandbox(w.id).snapshot(w.name),
  'sandbox.restore': (c, w) => c.sandbox(w.id).restore(w.snapshot),
  'sandbox.fork': (c, { id, ...request }) => c.sandbox(id).fork(request),
  'sandbox.events': (c, { id, ...query }) => c.sandbox(id).events(query),
  'sandbox.all_events': (c, w) => arrayOf(c.sandbox(w.id).allEvents()),
  'sandbox.metrics': (c, w) => c.sandbox(w.id).metrics(),
  'sandbox.preview_link': (c, w) => c.sandbox(w.id).previewLink(w.port),
  'sandbox.exec': (c, { id, command, stream, ...more }, o) => execute(c.sandbox(id), command, stream, { ...more, ...o }),
  'sandbox.start': async (c, { id, command, ...more }) => ({ program_id: (await c.sandbox(id).start(command, more)).program }),
  'sandbox.programs': (c, w) => c.sandbox(w.id).programs(),

  'program.get': (c, w) => program(c, w).get(),
  'program.output': (c, { encoding, follow, last_event_id: lastEventId, ...w }, o) =>
    arrayOf(program(c, w).output({ encoding, follow, lastEventId, ...o })),
  'program.wait': async (c, w, o) => {
    const { pid: _pid, ...ended } = await program(c, w).wait(o);
    return ended;
  },
  'program.write': (c, w) => program(c, w).write(w.data),
  'program.close_stdin': (c, w) => program(c, w).closeStdin(),
  'program.kill': (c, w) => program(c, w).kill(w.signal),
  'program.resize': (c, w) => program(c, w).resize(w.cols, w.rows),

  'files.read': async (c, { id, path, ...range }) => bytes(await c.sandbox(id).files.read(path, range)),
  'files.read_text': (c, w) => c.sandbox(w.id).files.readText(w.path),
  'files.write': (c, { id, path, content, ...more }) => c.sandbox(id).files.write(path, content, more),
  'files.stat': (c, w) => c.sandbox(w.id).files.stat(w.path),
  'files.list': (c, { id, path, ...query }) => c.sandbox(id).files.list(path, query),
  'files.make_dir': (c, w) => c.sandbox(w.id).files.makeDir(w.path),
  'files.move': (c, w) => c.sandbox(w.id).files.move(w.from, w.to),
  'files.remove': (c, w) => c.sandbox(w.id).files.remove(w.path),
  'files.watch': async (c, { id, path, first, ...query }) => {
    const events = [];
    for await (const event of c.sandbox(id).files.watch(path, query)) if (events.push(event) === first) return events;
    throw new Error('the watch ended by itself');
  },

  'templates.list': (c) => c.templates.list(),
  'templates.get': (c, w) => c.templates.get(w.name),
  'templates.apply': (c, w) => c.templates.apply({ name: w.name, ...w.definition }),
  'templates.explain': (c, w) => c.templates.explain(w.name),
  'keys.create': (c, w) => c.keys.create(w),
  'keys.list': (c, w) => c.keys.list(w),
  'keys.all': (c, w) => arrayOf(c.keys.all(w)),
  'keys.self': (c) => c.keys.self(),
  'keys.revoke': (c, w) => c.keys.revoke(w.id),
  'sign_in.link': (c, w) => c.signIn.link(w),
  'sign_in.exchange': (c, w) => c.signIn.exchange(w.code),
  'sign_in.end': (c) => c.signIn.end(),
  'tenants.list': (c) => c.tenants.list(),
  'tenants.set': (c, { name, ...limits }) => c.tenants.set(name, limits),
  'credits.balance': (c) => c.credits.balance(),
  'credits.grant': (c, w) => c.credits.grant(w),
  'credits.history': (c, w) => c.credits.history(w),
  'credits.all_history': (c) => arrayOf(c.credits.allHistory()),
  'secrets.set': (c, w) => c.secrets.set(w.name, w.value),
  'secrets.list': (c, w) => c.secrets.list(w),
  'secrets.all': (c) => arrayOf(c.secrets.all()),
  'secrets.delete': (c, w) => c.secrets.delete(w.name),
  'events.list': (c, w) => c.events.list(w),
  'events.follow': async (c, { first, ...query }) => {
    const events = [];
    for await (const event of c.events.follow(query)) if (events.push(event) === first) return events;
    throw new Error('the stream ended by itself');
  },
  'events.all': (c, w) => arrayOf(c.events.all(w)),
  'webhooks.create': (c, w) => c.webhooks.create(w),
  'webhooks.list': (c) => c.webhooks.list(),
  'webhooks.get': (c, w) => c.webhooks.get(w.name),
  'webhooks.delete': (c, w) => c.webhooks.delete(w.name),
  'webhooks.test': (c, w) => c.webhooks.test(w.name),
  'webhooks.deliveries': (c, { name, ...query }) => c.webhooks.deliveries(name, query),
  'webhooks.retry': (c, w) => c.webhooks.retry(w.name, w.event),
  'host.inspect': (c) => c.host.inspect(),
  'host.doctor': (c) => c.host.doctor(),
  'host.stale': (c) => c.host.stale(),
  'host.canary': (c) => c.host.canary(),
  'host.reap': (c, w) => c.host.reap(w),
  'runtime.status': (c, w) => c.runtime.status(w),
  'runtime.describe': (c) => c.runtime.describe(),
  'runtime.render': (c, w) => c.runtime.render(w),
  'runtime.sync': (c, w) => listened(w, (rest, options) => c.runtime.sync(rest, options)),
  'runtime.bootstrap': (c, w) => listened(w, (rest, options) => c.runtime.bootstrap(rest, options)),
  'runtime.up': (c, w) => listened(w, (rest, options) => c.runtime.up(rest, options)),
  'runtime.down': (c, w) => listened(w, (rest, options) => c.runtime.down(rest, options)),
  'runtime.restart': (c, w) => listened(w, (rest, options) => c.runtime.restart(rest, options)),
  'runtime.logs': (c, w) => c.runtime.logs(w),
  'runtime.follow_logs': async (c, { first, ...query }) => {
    const events = [];
    for await (const event of c.runtime.followLogs(query)) if (events.push(event) === first) return events;
    throw new Error('the stream ended by itself');
  },
  'runtime.doctor': (c, w) => c.runtime.doctor(w),
  'runtime.context': (c, w) => c.runtime.context(w),
  'runtime.focus': (c, w) => listened(w, (rest, options) => c.runtime.focus(rest, options)),
  'runtime.pulse': (c) => c.runtime.pulse(),
  'runtime.start_pulse': (c, w) => c.runtime.startPulse(w),
  'runtime.stop_pulse': (c) => c.runtime.stopPulse(),
  'sessions.start': (c, w) => c.sessions.start(w),
  'sessions.event': (c, { id, ...event }) => c.sessions.event(id, event),
  'sessions.heartbeat': (c, w) => c.sessions.heartbeat(w.id),
  'sessions.end': (c, { id, ...how }) => c.sessions.end(id, how),
  'sessions.resume': (c, w) => c.sessions.resume(w.id),
  'sessions.get': (c, w) => c.sessions.get(w.id),
  'sessions.list': (c, w) => c.sessions.list(w),
};

function clientOf({ url = SKILLBOX_URL, key = SKILLBOX_API_KEY, tenant, options = {} } = {}) {
  const { max_retries: maxRetries, timeout_ms: timeoutMs } = options;
  const client = new Client(fill(url), fill(key), { maxRetries, timeoutMs });
  return tenant === undefined ? client : client.withTenant(fill(tenant));
}

function optionsOf({ cancel_after_ms: after }) {
  if (after === undefined) return {};
  const stop = new AbortController();
  setTimeout(() => stop.abort(cancelled), after);
  return { signal: stop.signal };
}

/** The value with variables in place of ${name}. */
function fill(value) {
  if (Array.isArray(value)) return value.map(fill);
  if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one)]));
  if (typeof value !== 'string') return value;
  const whole = /^\$\{(\w+)\}$/.exec(value);
  return whole ? known(whole[1]) : value.replace(/\$\{(\w+)\}/g, (_match, name) => known(name));
}

function known(name) {
  if (name in variables) return variables[name];
  throw new Error(`There is no variable ${name}.`);
}

const at = (value, pointer) =>
  pointer === ''
    ? value
    : pointer
        .slice(1)
        .split('/')
        .reduce((inner, name) => inner[name], value);

async function arrayOf(items) {
  const array = [];
  for await (const item of items) array.push(item);
  return array;
}

const bytes = (content) => ({ base64: Buffer.from(content).toString('base64') });
const program = (client, { id, program: number }) => client.sandbox(id).program(number);

async function execute(sandbox, command, stream, options) {
  if (!stream) return sandbox.exec(command, options);
  const heard = { heard_stdout: '', heard_stderr: '' };
  const onStdout = (text) => {
    heard.heard_stdout += text;
  };
  const onStderr = (text) => {
    heard.heard_stderr += text;
  };
  const { pid: _pid, ...ended } = await sandbox.exec(command, { ...options, onStdout, onStderr });
  return { ...ended, ...heard };
}

async function listened({ progress, ...rest }, work) {
  if (!progress) return work(rest);
  const heard = new Set();
  const onProgress = ({ step }) => {
    if (step?.kind === 'service' && step.state !== 'running') heard.add(`${step.name} ${step.state}`);
  };
  return { ...(await work(rest, { onProgress })), heard: [...heard].sort() };
}

function describe(error) {
  const nothing = { status: null, hint: null, request_id: null, retry_after: null };
  if (error === cancelled) return { code: 'cancelled', ...nothing };
  if (!(error instanceof SkillboxError)) throw error;
  const { code, status = null, hint = null, requestId = null, retryAfter = null } = error;
  return { code, status, hint, request_id: requestId, retry_after: retryAfter };
}

for (const step of steps) {
  const call = calls[step.call];
  if (!call) throw new Error(`There is no call ${step.call} here.`);
  const line = { step: step.name };
  try {
    line.result = await call(clientOf(step.as), fill(step.with ?? {}), optionsOf(step));
    line.result ??= null;
    for (const [name, pointer] of Object.entries(step.keep ?? {})) variables[name] = at(line.result, pointer);
  } catch (error) {
    line.error = describe(error);
  }
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
// A pause that was given up may be pending still.
process.exit(0);
