import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { check, freePort, type GraphGround, graph, hostPlace, newGround } from '../../../../tests/support/graph.ts';
import { checkStatuses } from './checks.ts';
import type { Check } from './graph.ts';

let ground: GraphGround;
beforeEach(() => {
  ground = newGround();
});
afterEach(() => ground.remove());

async function ask(probe: Check['probe'], withinMs?: number) {
  const [answer] = await checkStatuses(ground.runtime, graph({ checks: [check('one', probe)] }), withinMs);
  return answer;
}

describe('a check', () => {
  it('holds when a path is there', async () => {
    const place = hostPlace(join(ground.folder, 'file'));
    expect(await ask({ type: 'path_exists', place })).toMatchObject({ id: 'one', state: 'fail', detail: `${place.path} is missing` });
    writeFileSync(place.hostPath, '');
    expect(await ask({ type: 'path_exists', place })).toMatchObject({ state: 'ok' });
  });

  it('holds when a port or an address answers', async () => {
    const server = createServer((request, response) => response.writeHead(request.url === '/ok' ? 204 : 500).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await ask({ type: 'port', port })).toMatchObject({ state: 'ok' });
    expect(await ask({ type: 'http', url: `http://127.0.0.1:${port}/ok` })).toMatchObject({ state: 'ok' });
    expect(await ask({ type: 'http', url: `http://127.0.0.1:${port}/no` })).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('500'),
    });
    server.close();
    expect(await ask({ type: 'port', port: await freePort() })).toMatchObject({ state: 'fail' });
  });

  it('holds when a command ends well, in time, and outside of the workspace', async () => {
    const cwd = hostPlace(ground.folder);
    expect(await ask({ type: 'command', command: 'test -d .', cwd })).toMatchObject({ state: 'ok' });
    expect(await ask({ type: 'command', command: 'echo broken; exit 3', cwd })).toMatchObject({
      state: 'fail',
      detail: 'it ended with 3: broken',
    });
    expect(await ask({ type: 'command', command: 'sleep 20', cwd }, 200)).toMatchObject({
      state: 'fail',
      detail: 'it took longer than 200 ms',
    });
    const inside = { path: '/workspace', hostPath: ground.folder, inside: true };
    // Nothing is started for a look: what is needed is said.
    expect(await ask({ type: 'command', command: 'touch no', cwd: inside })).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('skillbox shell -- true'),
    });
    expect(readdirSync(ground.folder)).not.toContain('no');
  });
});
