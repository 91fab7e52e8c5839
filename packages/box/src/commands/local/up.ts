/**
 * skillbox up: everything the box declares, in the background. So far that is one service, the server;
 * the answer lists services, so that more can join without a change for who reads it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { BoxError, errorKinds } from '@skillbox/protocol';
import { commandNamed } from '../../cli/call.ts';
import { createClient } from '../../cli/client.ts';

import type { CliContext, Flags, Outcome } from '../../cli/leaf.ts';
import { oneLine } from '../../cli/paint.ts';
import { formatFacts } from '../../cli/table.ts';
import type { Config } from '../../config.ts';
import { onInterrupt } from '../../process/interrupts.ts';
import { adminKeyFile, reachable, readServerRecord, type ServerRecord } from '../../state.ts';
import { formatDuration } from '../../units.ts';
import { type StartedServer, serverLogFile, startServerProcess } from './server-process.ts';

/** A start may migrate a large database or close the work of a crash first. */
const startMs = 120_000;
const readyMs = 20_000;

export async function up(context: CliContext, listening: Flags): Promise<Outcome> {
  const config = context.config(listening);
  const running = readServerRecord(config.stateRoot);
  if (running) return answer(context, config, running, 'running');
  const { stateRoot, manifest } = config;
  const started = startServerProcess(config, { ...listening, 'state-root': stateRoot, manifest });
  const settled = await waitForStart(context, started, config);
  if (isRecord(settled)) return answer(context, config, settled, 'started');
  // Another `up` was quicker by a moment: its server is as good as ours.
  const other = settled === errorKinds.already_running.exit ? await otherServer(config.stateRoot) : undefined;
  if (other) return answer(context, config, other, 'running');
  throw startFailure(config, started);
}

type Settled = Awaited<StartedServer['settled']>;

const isRecord = (settled: Settled): settled is ServerRecord => typeof settled === 'object' && settled !== null;

async function otherServer(stateRoot: string): Promise<ServerRecord | undefined> {
  const since = performance.now();
  while (performance.now() - since < readyMs) {
    const record = readServerRecord(stateRoot);
    if (record) return record;
    await sleep(50);
  }
  return undefined;
}

async function waitForStart({ io }: CliContext, started: StartedServer, config: Config): Promise<Settled> {
  const since = performance.now();
  const interrupts = onInterrupt(() => started.stop());
  const timer = setInterval(() => io.progress.show(`Starting the server, ${formatDuration(performance.now() - since)}`), 100);
  const tooLong = sleep(startMs, 'late' as const, { ref: false });
  try {
    const settled = await Promise.race([started.settled, tooLong]);
    if (settled !== 'late') return settled;
    started.stop();
    throw new BoxError('start_failed', `The server was not up after ${formatDuration(startMs)} and was stopped.`, {
      hint: `Its log may say why: ${serverLogFile(config.stateRoot)}`,
    });
  } finally {
    clearInterval(timer);
    io.progress.clear();
    interrupts.stop();
  }
}

async function answer({ io }: CliContext, config: Config, record: ServerRecord, state: 'started' | 'running'): Promise<Outcome> {
  const url = reachable(record.url);
  await waitUntilReady(io, url);
  const key = adminKeyFile(config.stateRoot);
  const log = serverLogFile(config.stateRoot);
  const { paint } = io;
  const head = state === 'started' ? 'The box is up.' : 'The box is up already.';
  const facts = formatFacts(
    [
      ['url', url],
      ['dashboard', `${url}/ui/ (sign in: skillbox open)`],
      ['admin key', key],
      ['log', log],
      ['stop it', 'skillbox down'],
    ],
    paint,
  );
  return {
    value: {
      url,
      state_root: config.stateRoot,
      admin_key_file: key,
      services: [{ name: 'server', state, pid: record.pid, url, version: record.version, log }],
    },
    text: `${paint('green', '✓')} ${head}\n${facts}`,
  };
}

interface Readiness {
  readonly status: string;
  readonly checks: Record<string, string>;
}

async function waitUntilReady(io: CliContext['io'], url: string): Promise<void> {
  const client = createClient({ url, key: undefined, tenant: undefined });
  const since = performance.now();
  for (;;) {
    const { body } = await client.call(commandNamed('box.ready'), {}, { accept: [503] });
    const { status, checks } = body as Readiness;
    if (status === 'ok') return;
    const wrong = Object.entries(checks).filter(([, state]) => state !== 'ok');
    // A layer that the host lacks does not appear by waiting.
    const hopeless = wrong.every(([name]) => name === 'sandboxes');
    if (hopeless || performance.now() - since > readyMs) throw notReady(url, wrong, hopeless);
    io.progress.show(`Waiting for ${wrong.map(([name]) => name).join(', ')}`);
    await sleep(250);
  }
}

function notReady(url: string, wrong: readonly (readonly [string, string])[], host: boolean): BoxError {
  const what = wrong.map(([name, state]) => `${name} (${oneLine(state)})`).join(', ');
  return new BoxError('start_failed', `The server runs at ${url} but cannot do its work yet: ${what}.`, {
    hint: host
      ? 'Run skillbox doctor for the line that mends it, then skillbox down and up. A layer you can do without is named in the manifest: sandbox.accept_missing.'
      : 'skillbox health shows when it is ready; the log has the cause.',
  });
}

/** The server tells why it could not start on the last lines of its log. */
function startFailure(config: Config, started: StartedServer): BoxError {
  const tail = started.logTail();
  return new BoxError('start_failed', `The server did not start. Its last words:\n${tail || '(none)'}`, {
    hint: `The whole log: ${serverLogFile(config.stateRoot)}`,
  });
}
