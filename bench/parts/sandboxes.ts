/** From nothing to the answer of a first command: the E2B SDK against the box, and `docker run`; one after the other, and all at once. */

import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from 'e2b';
import type { BenchRun } from '../bench-run.ts';
import { startNothing } from '../contenders/plain.ts';
import { type BenchBox, openBox } from '../contenders/skillbox.ts';
import { createCaller, requestBytes } from '../measure/http-caller.ts';
import { type Ratio, ratioOf, type Summary, summarise } from '../measure/samples.ts';
import { inTurns, type Turn } from '../measure/turns.ts';

export interface FirstCommand {
  readonly sequence: Summary;
  readonly burst: Summary;
}

export interface Sandboxes {
  readonly count: number;
  readonly e2b: FirstCommand;
  readonly docker?: FirstCommand;
  /** E2B SDK / docker run, of medians. */
  readonly sequenceRatio?: Ratio;
  readonly burstRatio?: Ratio;
  /** Over the API itself: a create, a command in a sandbox that is there, and the same command as a plain process. */
  readonly create: Summary;
  readonly exec: Summary;
  readonly process: Summary;
}

const command = 'echo ready';

export async function measureSandboxes(run: BenchRun): Promise<Sandboxes> {
  const docker = await run.docker();
  const box = await openBox('warm', []);
  const made: Sandbox[] = [];
  const first = async (): Promise<void> => {
    const connection = { apiKey: box.server.key, apiUrl: `${box.server.url}/e2b`, sandboxUrl: `${box.server.url}/e2b` };
    const sandbox = await Sandbox.create({ ...connection, timeoutMs: 600_000 });
    made.push(sandbox);
    const { stdout } = await sandbox.commands.run(command);
    if (stdout.trim() !== 'ready') throw new Error(`the first command said ${JSON.stringify(stdout)}`);
  };
  const killAll = async (): Promise<void> => {
    for (const sandbox of made.splice(0)) await sandbox.kill();
  };
  const api = await openApi(box);
  const rounds = run.count(100, 4);

  try {
    run.say(`sandboxes: ${rounds} in sequence`);
    const turns: Partial<Record<'e2b' | 'docker' | 'create' | 'exec' | 'process', Turn>> = {
      e2b: { run: first, check: killAll },
      ...(docker && { docker: { run: () => docker.runShell(command) } }),
      create: { run: api.create, check: api.destroy },
      exec: { run: api.exec },
      process: { run: startNothing },
    };
    const samples = await inTurns(turns as Required<typeof turns>, { rounds });

    run.say(`sandboxes: ${rounds} at once`);
    await delay(1000);
    const burst = await atOnce(first, rounds);
    await killAll();
    const dockerBurst = docker && (await atOnce(() => docker.runShell(command), rounds));
    return {
      count: rounds,
      e2b: { sequence: summarise(samples.e2b), burst: summarise(burst) },
      ...(dockerBurst && {
        docker: { sequence: summarise(samples.docker), burst: summarise(dockerBurst) },
        sequenceRatio: ratioOf(samples.e2b, samples.docker),
        burstRatio: ratioOf(burst, dockerBurst),
      }),
      create: summarise(samples.create),
      exec: summarise(samples.exec),
      process: summarise(samples.process),
    };
  } finally {
    await killAll();
    api.close();
    await box.stop();
  }
}

/** How long each of them took, all started together. */
async function atOnce(work: () => Promise<void>, count: number): Promise<number[]> {
  const started = performance.now();
  return Promise.all(Array.from({ length: count }, () => work().then(() => performance.now() - started)));
}

async function openApi({ server }: BenchBox) {
  const caller = createCaller(server);
  const send = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const { status, body: bytes } = await caller.send(requestBytes(server, method, path, body));
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${bytes}`);
    return JSON.parse(bytes.toString('utf8')) as T;
  };
  const make = async (): Promise<string> => (await send<{ id: string }>('POST', '/v1/sandboxes', { template: 'base', ttl: '1h' })).id;
  const old = await make();
  const fresh: string[] = [];
  return {
    create: async () => void fresh.push(await make()),
    destroy: async () => {
      for (const id of fresh.splice(0)) await send('DELETE', `/v1/sandboxes/${id}`);
    },
    async exec() {
      const { exit_code } = await send<{ exit_code: number }>('POST', `/v1/sandboxes/${old}/programs`, { argv: ['/bin/true'] });
      if (exit_code !== 0) throw new Error(`/bin/true ended with ${exit_code}`);
    },
    close: () => caller.close(),
  };
}
