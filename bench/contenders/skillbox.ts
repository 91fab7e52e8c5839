/** A box in a process of its own, asked over HTTP. */

import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Execution } from '@skillbox/protocol';
import { type ServerProcess, startServerProcess } from '../../tests/support/server-process.ts';
import { type Answer, createCaller, requestBytes } from '../measure/http-caller.ts';
import { type BenchSkill, checkOutput, input } from '../skill.ts';
import type { Contender } from './command.ts';

export interface BenchBox {
  readonly server: ServerProcess;
  /** On a connection of its own. `env` for the run: some variables make it a cold one. */
  contender(skill: BenchSkill, env?: Record<string, string>): Contender;
  /** A gauge or a counter of /metrics. */
  metric(name: string): Promise<number>;
  /** Until all that recent demand asks for stands ready, or nothing more comes. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Nothing is made ready ahead in a cold one; a warm one does what it does by default. */
export type Warmth = 'cold' | 'warm';

export async function openBox(warmth: Warmth, skills: readonly BenchSkill[], env: Record<string, string> = {}): Promise<BenchBox> {
  const server = await startServerProcess({
    env: { SKILLBOX_WARM_MEMORY: warmth === 'cold' ? '0' : '512Mi', SKILLBOX_TENANT_SANDBOXES: '2000', ...env },
  });
  for (const { files, name } of skills) {
    const { status, body } = await server.push(files);
    if (status !== 201) throw new Error(`${name} could not be pushed: ${JSON.stringify(body)}`);
  }
  const metric: BenchBox['metric'] = async (name) => {
    const text = await (await server.request('/metrics')).text();
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`/metrics has no ${name}`);
    return Number(value);
  };

  return {
    server,
    metric,
    contender(skill, runEnv) {
      const caller = createCaller(server);
      const bytes = requestBytes(server, 'POST', '/v1/executions', { skill: skill.name, input, ...(runEnv && { env: runEnv }) });
      let last: Answer | undefined;
      return {
        async run() {
          last = await caller.send(bytes);
        },
        check: () => checkRecord(last, `skillbox ${warmth}, ${skill.lang}`),
        close: () => caller.close(),
      };
    },
    async settled() {
      const deadline = Date.now() + 5000;
      while ((await metric('skillbox_warm_ready')) < (await metric('skillbox_warm_wanted')) && Date.now() < deadline) await delay(50);
    },
    async stop() {
      await destroyLiving(server);
      await server.stop();
      rmSync(server.stateRoot, { recursive: true, force: true });
    },
  };
}

function checkRecord(answer: Answer | undefined, who: string): void {
  const text = answer?.body.toString('utf8') ?? '';
  if (!answer || answer.status >= 300) throw new Error(`${who} answered ${answer?.status}: ${text}`);
  const { error, logs, output, status } = JSON.parse(text) as Execution;
  if (status !== 'success') throw new Error(`${who} ended ${status}: ${JSON.stringify(error)} ${logs}`);
  checkOutput(output, who);
}

/** They would outlive the server. */
async function destroyLiving(server: ServerProcess): Promise<void> {
  for (;;) {
    const { body } = await server.json<{ items: { id: string }[] }>('/v1/sandboxes?state=ready&limit=100');
    if (body.items.length === 0) return;
    for (const { id } of body.items) await server.json(`/v1/sandboxes/${id}`, { method: 'DELETE' });
  }
}
