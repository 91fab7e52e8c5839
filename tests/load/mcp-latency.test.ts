/**
 * What a call of a tool costs beyond the same request to /v1: both are measured in turn, on one box, for one skill that stands ready.
 * Runs take longer or shorter, whoever asked for them, so what is compared is what is left without the phases of the run's own record.
 */

import { Agent, request } from 'node:http';
import type { Execution } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { probeSkill, startTestBox, type TestBox } from '../support/box.ts';
import { modernRequest, openSession } from '../support/mcp.ts';

const rounds = 120;
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

/** Over one connection that stays, as clients do. */
function post(path: string, body: unknown, headers: Record<string, string>): Promise<{ ms: number; status: number; text: string }> {
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

/** Of the execution that the answer is about. */
async function ownTime(text: string): Promise<number> {
  const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/.exec(text)?.[0];
  const { body } = await box.json<Execution>(`/v1/executions/${id}`);
  return Object.values(body.timings ?? {}).reduce<number>((sum, ms) => sum + (ms ?? 0), 0);
}

const rotated = <T>(items: T[], by: number): T[] => items.map((_, at) => items[(at + by) % items.length] as T);

const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

it(`a tool call adds less than ${mostMs} ms to the request to /v1, in the newer kind and in a session`, async () => {
  const params = { name: 'skill_probe-python', arguments: { code } };
  const modern = modernRequest('tools/call', params);
  const session = { 'Mcp-Session-Id': await openSession(box), Accept: 'application/json, text/event-stream' };
  let id = 0;
  const ways = {
    rest: () => post('/v1/executions', { skill: 'probe-python', input: { code } }, {}),
    modern: () => post('/mcp', modern.body, modern.headers),
    session: () => post('/mcp', { jsonrpc: '2.0', id: ++id, method: 'tools/call', params }, session),
  };
  const took: Record<string, number[]> = { rest: [], modern: [], session: [] };
  for (let round = 0; round < rounds + 10; round += 1) {
    // Each comes first as often as the others: what one leaves behind is the next one's start.
    for (const [way, call] of rotated(Object.entries(ways), round)) {
      const { ms, status, text } = await call();
      expect(status, text).toBe(200);
      expect(text).toContain('"sum":1');
      // The first ones make the skill warm.
      if (round >= 10) took[way]?.push(ms - (await ownTime(text)));
    }
  }
  const [rest = 0, newer = 0, older = 0] = ['rest', 'modern', 'session'].map((way) => median(took[way] ?? []));
  const added = { modern: newer - rest, session: older - rest };
  const said = Object.entries(added).map(([kind, ms]) => `${kind} ${ms.toFixed(2)} ms`);
  console.info(`around a run /v1 takes ${rest.toFixed(2)} ms; a tool call adds: ${said.join(', ')} (medians of ${rounds})`);
  expect(added.modern).toBeLessThan(mostMs);
  expect(added.session).toBeLessThan(mostMs);
}, 120_000);
