/**
 * What a call of a tool costs beyond the same request to /v1, as a client sees it: from the first byte sent to the last one read. Both run
 * one skill that stands ready, in turn and in a changing order, and what counts is the median of the differences within each turn.
 */

import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { probeSkill, startTestBox, type TestBox } from '../support/box.ts';
import { modernRequest, openSession } from '../support/mcp.ts';

const rounds = 150;
const warming = 15;
const mostMs = 3;
const code = 'import json, os\njson.dump({"sum": 1}, open(os.environ["SANDBOX_OUTPUT"], "w"))';

let box: TestBox;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  box = await startTestBox();
  await box.push(probeSkill('python'));
});
afterAll(async () => {
  agent.destroy();
  await box.stop();
});

interface Answer {
  readonly ms: number;
  readonly status: number;
  readonly text: string;
}

/** Over one connection that stays, as clients do. */
function post(path: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
  const { hostname, port } = new URL(box.url);
  const text = JSON.stringify(body);
  const heads = {
    Authorization: `Bearer ${box.key}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  };
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path, method: 'POST', agent, headers: heads }, (answer) => {
      let got = '';
      answer.on('data', (chunk) => {
        got += chunk;
      });
      answer.on('end', () => resolve({ ms: performance.now() - begun, status: answer.statusCode ?? 0, text: got }));
    });
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}

/** Behind its answer the box makes the next sandbox ready, which is not to be part of the next answer. */
async function settled(): Promise<void> {
  const full = (): boolean => box.box.provider.warm.ready >= box.box.provider.warm.wanted;
  await vi.waitUntil(full, { interval: 2, timeout: 10_000 });
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

type Way = 'rest' | 'modern' | 'session';

/** Each comes after each as often as after the others: what one leaves behind is the next one's start. */
const orders: readonly (readonly Way[])[] = [
  ['rest', 'modern', 'session'],
  ['session', 'modern', 'rest'],
  ['modern', 'rest', 'session'],
  ['session', 'rest', 'modern'],
  ['rest', 'session', 'modern'],
  ['modern', 'session', 'rest'],
];

it(`a tool call adds less than ${mostMs} ms to the request to /v1, in the newer kind and in a session`, async () => {
  const params = { name: 'skill_probe-python', arguments: { code } };
  const modern = modernRequest('tools/call', params);
  const session = { 'Mcp-Session-Id': await openSession(box), Accept: 'application/json, text/event-stream' };
  let id = 0;
  const ways: Record<Way, () => Promise<Answer>> = {
    rest: () => post('/v1/executions', { skill: 'probe-python', input: { code } }, {}),
    modern: () => post('/mcp', modern.body, modern.headers),
    session: () => post('/mcp', { jsonrpc: '2.0', id: ++id, method: 'tools/call', params }, session),
  };
  const added: Record<'modern' | 'session', number[]> = { modern: [], session: [] };
  const rest: number[] = [];
  for (let round = 0; round < warming + rounds; round += 1) {
    const took: Record<Way, number> = { rest: 0, modern: 0, session: 0 };
    for (const way of orders[round % orders.length] ?? []) {
      await settled();
      const { ms, status, text } = await ways[way]();
      expect(status, text).toBe(200);
      expect(text).toContain('"sum":1');
      took[way] = ms;
    }
    if (round < warming) continue;
    rest.push(took.rest);
    added.modern.push(took.modern - took.rest);
    added.session.push(took.session - took.rest);
  }
  const [newer, older] = [median(added.modern), median(added.session)];
  console.info(
    `a run over /v1 takes ${median(rest).toFixed(2)} ms; a tool call adds: modern ${newer.toFixed(2)} ms, session ${older.toFixed(2)} ms (medians of ${rounds})`,
  );
  expect(newer).toBeLessThan(mostMs);
  expect(older).toBeLessThan(mostMs);
}, 120_000);
