/** What a sandbox holds while it waits: one made ready ahead of its job, and a living one that nobody uses. */

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Language, languages } from '@skillbox/protocol';
import { memoryOf } from '../../tests/support/memory.ts';
import type { BenchRun } from '../bench-run.ts';
import { openBox } from '../contenders/skillbox.ts';
import { rounded } from '../measure/samples.ts';

export interface Held {
  readonly count: number;
  /** Of each, in MB (10⁶ bytes), the kernel's part included. */
  readonly mb: number;
  /** So many would fill the memory that this machine had available then. Computed, not tried. */
  readonly fit: number;
}

export interface Memory {
  readonly availableMb: number;
  readonly warm: Readonly<Record<Language, Held>>;
  readonly idle: Held;
  /** The same after each has run a command. */
  readonly used: Held;
}

export async function measureMemory(run: BenchRun): Promise<Memory> {
  const available = Number(/^MemAvailable:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024;
  const held = (bytes: number, count: number): Held => ({
    count,
    mb: rounded(bytes / count / 1e6),
    fit: Math.floor((available * count) / bytes),
  });
  const warm: [Language, Held][] = [];
  for (const lang of languages) {
    run.say(`memory: warm ${lang}`);
    warm.push([lang, held(...(await warmMemory(run, lang)))]);
  }
  const count = run.count(200, 10);
  run.say(`memory: ${count} idle sandboxes`);
  const { idle, used } = await idleMemory(count);
  return {
    availableMb: Math.round(available / 1e6),
    warm: Object.fromEntries(warm) as Memory['warm'],
    idle: held(idle, count),
    used: held(used, count),
  };
}

/** Bytes of all that stand ready for one skill in steady use, and how many these are. */
async function warmMemory({ skills }: BenchRun, lang: Language): Promise<[bytes: number, count: number]> {
  const box = await openBox('warm', [skills[lang]]);
  try {
    const caller = box.contender(skills[lang]);
    for (let job = 0; job < 20; job += 1) {
      await caller.run();
      caller.check();
      await delay(50);
    }
    caller.close();
    await box.settled();
    return [await box.metric('skillbox_warm_memory_bytes'), Math.max(1, await box.metric('skillbox_warm_ready'))];
  } finally {
    await box.stop();
  }
}

async function idleMemory(count: number): Promise<{ idle: number; used: number }> {
  const box = await openBox('warm', []);
  const { server } = box;
  try {
    const ids: string[] = [];
    const create = async (): Promise<void> => {
      const { status, body } = await server.json<{ id: string }>('/v1/sandboxes', { body: { template: 'base', ttl: '1h' } });
      if (status !== 201) throw new Error(JSON.stringify(body));
      ids.push(body.id);
    };
    // Not from nothing: the first one makes what all share.
    await create();
    /** Without those that were made ahead and are nobody's yet. */
    const held = async (): Promise<number> => {
      await delay(2000);
      const { bytes, groups } = memoryOf(server);
      if (groups < ids.length) throw new Error('the memory of sandboxes can only be measured where there are memory cgroups');
      return bytes - (await box.metric('skillbox_pool_memory_bytes'));
    };
    const before = await held();
    while (ids.length <= count) await create();
    const idle = await held();
    for (const id of ids.slice(1)) await server.json(`/v1/sandboxes/${id}/programs`, { body: { argv: ['/bin/true'] } });
    return { idle: idle - before, used: (await held()) - before };
  } finally {
    await box.stop();
  }
}
