import type { WorkProgress, WorkStep } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { progressEvents } from './progress-events.ts';

const about = (name: string, state: WorkStep['state']): WorkProgress => ({
  ...{ time: new Date(0).toISOString(), text: `${name} ${state}` },
  step: { kind: 'service', name, state, duration_ms: null, detail: null, tail: [] },
});
const line = (text: string): WorkProgress => ({ time: new Date(0).toISOString(), text, step: null });
const never = (error: unknown): never => {
  throw error;
};

async function all(events: AsyncIterable<{ id: string; event: string; data: unknown }>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { id, event, data } of events) seen.push(`${id} ${event} ${(data as WorkProgress).text ?? JSON.stringify(data)}`);
  return seen;
}

describe('progressEvents', () => {
  it('tells what happens in its order, and the result last', async () => {
    const events = progressEvents(async (tell) => {
      for (const progress of [line('Waiting'), about('web', 'running'), about('api', 'running')]) {
        tell(progress);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return { ok: true };
    }, never);
    expect(await all(events)).toEqual(['1 progress Waiting', '2 progress web running', '3 progress api running', '4 result {"ok":true}']);
  });

  it('keeps for who does not read only the newest of each part, and of the line', async () => {
    let tellAll = (): void => undefined;
    const told = new Promise<void>((resolve) => {
      tellAll = resolve;
    });
    const events = progressEvents(async (tell) => {
      for (let count = 0; count < 100_000; count++) tell(line(`Waiting ${count}`));
      for (const progress of [about('web', 'running'), about('api', 'running'), about('web', 'done')]) tell(progress);
      tellAll();
      return {};
    }, never);
    await told;
    expect(await all(events)).toEqual(['1 progress Waiting 99999', '2 progress api running', '3 progress web done', '4 result {}']);
  });

  it('holds no more than so many parts, and loses the oldest', async () => {
    const events = progressEvents(async (tell) => {
      for (let count = 0; count < 3000; count++) tell(about(`s${count}`, 'done'));
      return {};
    }, never);
    await new Promise((resolve) => setImmediate(resolve));
    const seen = await all(events);
    expect(seen).toHaveLength(501);
    expect(seen.slice(-2)).toEqual(['500 progress s2999 done', '501 result {}']);
  });

  it('tells an error as its last event', async () => {
    const events = progressEvents(
      async () => {
        throw new Error('no');
      },
      (error) => ({ error: (error as Error).message }),
    );
    expect(await all(events)).toEqual(['1 error {"error":"no"}']);
  });
});
