/** A box in a process of its own, asked over HTTP. */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { sandboxGroups } from '../../tests/support/leftovers.ts';
import { type ServerProcess, startServerProcess } from '../../tests/support/server-process.ts';
import { type Answer, createCaller, requestBytes } from '../measure/http-caller.ts';
import { type BenchSkill, checkOutput, input } from '../skill.ts';
import { type Contender, Refused } from './command.ts';

/** Where the time of one run went, in milliseconds: the phases that the box tells, and `outside` it. */
export interface Trace {
  readonly phases: Readonly<Record<string, number>>;
  /** Whether a sandbox that stood ready served it. */
  readonly warm: boolean;
}

export interface BoxContender extends Contender {
  /** Of the last run. */
  trace(): Trace;
}

export interface BenchBox {
  readonly server: ServerProcess;
  /** On a connection of its own. `env` for the run: some variables make it a cold one. */
  contender(skill: BenchSkill, env?: Record<string, string>): BoxContender;
  /** A gauge or a counter of /metrics. */
  metric(name: string): Promise<number>;
  /** Until all that recent demand asks for stands ready, or nothing more comes. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const open = new Set<BenchBox>();

/** For whoever ends before its time: living sandboxes outlive their server. */
export async function stopAllBoxes(): Promise<void> {
  await Promise.all([...open].map((box) => box.stop()));
}

/** Nothing is made ready ahead in a cold one; a warm one does what it does by default. */
export type Warmth = 'cold' | 'warm';

export async function openBox(warmth: Warmth, skills: readonly BenchSkill[], env: Record<string, string> = {}): Promise<BenchBox> {
  const server = await startServerProcess({
    env: { SKILLBOX_WARM_MEMORY: warmth === 'cold' ? '0' : '512Mi', SKILLBOX_TENANT_SANDBOXES: '2000', ...env },
  });
  const metric: BenchBox['metric'] = async (name) => {
    const text = await (await server.request('/metrics')).text();
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`/metrics has no ${name}`);
    return Number(value);
  };

  const box: BenchBox = {
    server,
    metric,
    contender(skill, runEnv) {
      const caller = createCaller(server);
      const bytes = requestBytes(server, 'POST', '/v1/executions', { skill: skill.name, input, ...(runEnv && { env: runEnv }) });
      let last: Answer | undefined;
      let took = 0;
      return {
        async run() {
          const started = performance.now();
          last = await caller.send(bytes);
          took = performance.now() - started;
          if (last.status === 429 || last.status === 503) throw new Refused(`the box answered ${last.status}: ${last.body}`);
          if (last.status !== 200) throw new Error(`the box answered ${last.status}: ${last.body}`);
        },
        check: () => void recordIn(last, `skillbox ${warmth}, ${skill.lang}`),
        trace() {
          const { warm } = recordIn(last, `skillbox ${warmth}, ${skill.lang}`);
          const { total = 0, ...phases } = phasesIn(last?.head ?? '');
          return { warm: warm === true, phases: { ...phases, outside: took - total } };
        },
        close: () => caller.close(),
      };
    },
    async settled() {
      const deadline = Date.now() + 5000;
      while ((await metric('skillbox_warm_ready')) < (await metric('skillbox_warm_wanted')) && Date.now() < deadline) await delay(50);
    },
    async stop() {
      if (!open.delete(box)) return;
      // Ctrl-C reaches the server too.
      if (server.running) await destroyLiving(server).catch((error: unknown) => void (server.running && console.error(error)));
      await server.stop();
      killLiving(server);
      rmSync(server.stateRoot, { recursive: true, force: true });
    },
  };
  open.add(box);
  for (const { files, name } of skills) {
    const { status, body } = await server.push(files);
    if (status !== 201) throw new Error(`${name} could not be pushed: ${JSON.stringify(body)}`);
  }
  return box;
}

function recordIn(answer: Answer | undefined, who: string): Execution {
  const record = JSON.parse(answer?.body.toString('utf8') ?? '{}') as Execution;
  const { error, logs, output, status } = record;
  if (status !== 'success') throw new Error(`${who} ended ${status}: ${JSON.stringify(error)} ${logs}`);
  checkOutput(output, who);
  return record;
}

/** Of the header Server-Timing. */
export function phasesIn(head: string): Record<string, number> {
  const header = /\r\nserver-timing: *(.*)/i.exec(head)?.[1] ?? '';
  return Object.fromEntries([...header.matchAll(/(\w+);dur=([\d.]+)/g)].map(([, name = '', duration]) => [name, Number(duration)]));
}

/** They would outlive the server. */
async function destroyLiving(server: ServerProcess): Promise<void> {
  for (;;) {
    const { body } = await server.json<{ items: { id: string }[] }>('/v1/sandboxes?state=ready&limit=100');
    if (body.items.length === 0) return;
    for (const { id } of body.items) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  }
}

/** What was made while they were destroyed: an interrupted part goes on until its server is gone. */
function killLiving({ host }: ServerProcess): void {
  for (const group of sandboxGroups(`${host}-living`)) {
    const pids = readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Its launcher was the one before, and took it along.
      }
    }
  }
}
