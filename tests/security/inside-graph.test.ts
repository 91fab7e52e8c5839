/** What the workspace may ask of the box through its channel: the commands of the graph, as itself, and nothing else by whatever trick. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BoxEvent, Page, Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isForInside } from '../../packages/box/src/commands/inside.ts';
import { commands } from '../../packages/box/src/commands/registry.ts';
import { loadConfig } from '../../packages/box/src/config.ts';
import { loadManifest } from '../../packages/box/src/manifest/load.ts';
import { policyOf } from '../../packages/box/src/sandbox/network.ts';
import { mostAtOnce } from '../../packages/box/src/server/inside.ts';
import { startTestBox, type TestBox } from '../support/box.ts';

interface Ran {
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
interface Answer {
  readonly status: number;
  readonly text: string;
}

let folder: string;
let box: TestBox;
let sandbox: string;

const exec = async (cmd: string, id = sandbox, on = box): Promise<Ran> => {
  const { status, body } = await on.json<Ran>(`/v1/sandboxes/${id}/programs`, { body: { cmd } });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
};
/** Bytes as they are, each on a connection of its own, all from inside; what came back until the other side closed. */
const raw = async (requests: readonly string[], id = sandbox, on = box): Promise<Answer[]> => {
  const encoded = Buffer.from(JSON.stringify(requests.map((text) => Buffer.from(text).toString('base64')))).toString('base64');
  const { stdout, stderr } = await exec(`printf %s '${encoded}' | python3 -c "${script}"`, id, on);
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as string[]).map((text) => ({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), text }));
};
const script = `
import base64, json, socket, sys
said = []
for text in json.loads(base64.b64decode(sys.stdin.read())):
    one = socket.create_connection(('127.0.0.1', 3128), 20)
    one.settimeout(20)
    got = b''
    try:
        one.sendall(base64.b64decode(text))
        while True:
            part = one.recv(65536)
            if not part: break
            got += part
    except OSError: pass
    one.close()
    said.append(got.decode('utf8', 'replace'))
print(json.dumps(said))
`;
const head = (line: string, more: readonly string[] = [], host = 'box.internal'): string =>
  `${[`${line} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...more].join('\r\n')}\r\n\r\n`;
const post = (path: string, body: unknown, more: readonly string[] = []): string => {
  const text = JSON.stringify(body);
  return head(`POST ${path}`, ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`, ...more]) + text;
};
const bodyOf = ({ text }: Answer): string => text.slice(text.indexOf('\r\n\r\n') + 4);

const begin = async (settings: string, more: Record<string, string> = {}): Promise<TestBox> => {
  const stateRoot = mkdtempSync(join(folder, 'state-'));
  const manifest = join(stateRoot, 'skillbox.yaml');
  writeFileSync(manifest, `version: 1\n${settings}`);
  mkdirSync(join(stateRoot, 'clients', 'acme'), { recursive: true });
  writeFileSync(join(stateRoot, 'clients', 'acme', 'overlay.yaml'), 'version: 1\nclient:\n  id: acme\n');
  return startTestBox({ SKILLBOX_STATE_ROOT: stateRoot, SKILLBOX_MANIFEST: manifest, ...more });
};
const workspaceOf = async (of: TestBox): Promise<string> =>
  (await of.json<Sandbox>('/v1/sandboxes', { body: { template: 'workspace' } })).body.id;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-inside-threat-'));
  box = await begin('', { SKILLBOX_BODY_TIMEOUT: '2s' });
  sandbox = await workspaceOf(box);
}, 120_000);
afterAll(async () => {
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('the way from the workspace to the graph', { timeout: 120_000 }, () => {
  it('leads to no other command of the box, nor to anything else of its server', async () => {
    const others = commands.filter((command) => !isForInside(command));
    expect(others.length).toBeGreaterThan(60);
    const lines = others.map(({ http }) => `${http.method} /graph${http.path.replace(/:id\b/, sandbox).replace(/:\w+\*?/g, 'x')}`);
    const pages = [
      '/',
      '/ui/',
      '/metrics',
      '/openapi.json',
      '/docs',
      '/livez',
      '/e2b/sandboxes',
      `/preview/${sandbox}/80/`,
      '/files?path=/x',
    ];
    const answers = await raw([...lines, ...pages.map((path) => `GET /graph${path}`)].map((line) => head(line)));
    expect([...new Set(answers.map(({ status }) => status))]).toEqual([403]);
    expect(JSON.parse(bodyOf(answers[0] as Answer))).toMatchObject({
      error: 'forbidden',
      hint: expect.stringContaining('machine of the box'),
    });
    const beside = await raw(
      ['/v1/runtime', '/v1/keys', '/metrics', '/mcp', '/graphs/v1/runtime', '/%67raph/v1/runtime'].map((path) => head(`GET ${path}`)),
    );
    expect(beside.map(({ status }) => status)).toEqual(beside.map(() => 404));
  });

  it('is left by no trick of paths, targets, hosts or protocols', async () => {
    const api = new URL(box.url).host;
    const tricks = [
      ...['/graph/../v1/keys', '/graph/..%2fv1/keys', '/graph/%2e%2e/v1/keys', '/graph/.%2e/v1/keys', '/graph//v1/keys', '//graph/v1/keys'],
      ...['/graph/v1/runtime/../keys', '/graph/v1/runtime/..;/keys', '/graph/./v1/keys', '/graph/v1\\keys', '/graph/v1/runtime%00/../keys'],
      ...[
        '/graph/v1/%6beys',
        '/graph?/../v1/keys',
        '/graph/v1/runtime/%2e%2e/%2e%2e/metrics',
        '/graph/@127.0.0.1/v1/keys',
        '/graph#/v1/keys',
      ],
      ...['http://box.internal/graph/../v1/keys', 'http://box.internal/v1/keys', `http://${api}/v1/keys`, `http://${api}/graph/v1/runtime`],
      ...['http://box.internal:80/graph/v1/keys', 'http://x@box.internal/graph/v1/keys', 'https://box.internal/graph/v1/runtime', '*'],
    ];
    const hosts = [api, `8000-${sandbox}.box.internal`, 'evil.example', 'box.internal, evil.example', 'box.internal@evil.example'];
    const answers = await raw([
      ...tricks.map((target) => head(`GET ${target}`)),
      ...tricks.map((target) => head(`DELETE ${target}`)),
      ...hosts.map((host) => head('GET /graph/v1/runtime', [], host)),
      head('GET /graph/v1/runtime', ['Host: evil.example']),
      head('CONNECT box.internal:80'),
      head(`CONNECT ${api}`, [], api),
    ]);
    expect(answers.filter(({ status }) => status < 400 || status >= 500).map(({ text }) => text.slice(0, 200))).toEqual([]);
    expect(answers.filter(({ text }) => /"sk-|key_[0-9a-f]{16}|skillbox_pulse_up/.test(text))).toEqual([]);
    // An upgrade stays a request, and a second one behind a body is a request of its own.
    const upgrade = [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    const [socket, plain, smuggled] = await raw([
      head(`GET /graph/v1/sandboxes/${sandbox}/terminal`, upgrade),
      head('GET /graph/v1/runtime/pulse', ['Upgrade: h2c']),
      post('/graph/v1/runtime/sync', { dry_run: true }).replace('Connection: close\r\n', '') + head('GET /v1/keys'),
    ]);
    expect([socket?.status, plain?.status]).toEqual([403, 200]);
    expect(smuggled?.text.match(/HTTP\/1\.1 (\d+)/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
  });

  it('is walked as the workspace, whatever a request says of itself', async () => {
    const claims = [
      `Authorization: Bearer ${box.key}`,
      ...[`X-API-Key: ${box.key}`, `X-Access-Token: ${box.key}`, 'X-Tenant-ID: other', 'X-Skillbox-Forwarded: elsewhere'],
      ...[`E2B-Sandbox-ID: ${sandbox}`, 'X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1', `Cookie: key=${box.key}`],
    ];
    const [keys, templates, started] = await raw([
      head('GET /graph/v1/keys', claims),
      head('GET /graph/v1/templates', claims),
      post('/graph/v1/runtime/sessions', { client_id: 'acme', label: 'as whom' }, claims),
    ]);
    expect([keys?.status, templates?.status, started?.status]).toEqual([403, 403, 200]);
    const { body } = await box.json<Page<BoxEvent>>('/v1/events?limit=50');
    const act = body.items.find(({ type }) => type === 'audit.session.start');
    expect([act?.tenant, act?.actor]).toEqual(['default', { kind: 'agt', id: `workspace:${sandbox}` }]);
    const [page] = await raw([post('/graph/v1/runtime/sessions', { client_id: 'acme' }, ['Origin: https://evil.example'])]);
    expect(page?.status).toBe(403);
  });

  it('neither stops nor starts pulse, nor shows what the server logs', async () => {
    const answers = await raw([
      post('/graph/v1/runtime/pulse/stop', {}),
      post('/graph/v1/runtime/pulse/start', {}),
      head('GET /graph/v1/runtime/logs?service=api'),
      head('GET /graph/v1/runtime/logs'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 200]);
    expect(bodyOf(answers[3] as Answer)).not.toContain('server.log');
  });

  it('has no more by MCP: no other tool, skill, resource, nor a session of somebody else', async () => {
    const message = (id: number, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });
    const accept = ['Accept: application/json, text/event-stream'];
    const opening = message(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } });
    const open = await box.request('/mcp', { body: opening, headers: { Accept: 'application/json, text/event-stream' } });
    const foreign = open.headers.get('mcp-session-id') ?? '';
    expect(foreign).not.toBe('');
    const [opened, stolen] = await raw([
      post('/graph/mcp', opening, accept),
      post('/graph/mcp', message(2, 'tools/list'), [...accept, `Mcp-Session-Id: ${foreign}`, `Authorization: Bearer ${box.key}`]),
    ]);
    expect(stolen?.status).toBe(404);
    const session = /mcp-session-id: (\S+)/i.exec(opened?.text ?? '')?.[1] ?? '';
    const ask = async (method: string, params: object = {}) =>
      JSON.parse(
        bodyOf((await raw([post('/graph/mcp', message(3, method, params), [...accept, `Mcp-Session-Id: ${session}`])]))[0] as Answer),
      );
    const { result } = await ask('tools/list');
    const graph = commands.filter(isForInside).map(({ name }) => `skillbox_${name.replaceAll('.', '_')}`);
    expect((result.tools as { name: string }[]).map(({ name }) => name).sort()).toEqual(graph.sort());
    for (const name of [
      'skillbox_key_list',
      'skillbox_sandbox_exec',
      'skillbox_box_health',
      'skillbox_event_list',
      'skillbox_pulse_stop',
      'skill_x',
    ])
      expect((await ask('tools/call', { name, arguments: {} })).error?.message, name).toContain('no tool');
    expect((await ask('resources/list')).result.resources).toEqual([]);
    expect((await ask('resources/read', { uri: 'skillbox://skills/x' })).error?.message).toContain('no resource');
  });

  it('is bounded: bodies, requests at once, bodies that never end', async () => {
    const large = `${head('POST /graph/v1/runtime/sync', ['Content-Type: application/json', 'Content-Length: 1100000'])}{"client":"`;
    const endless = `${head('POST /graph/v1/runtime/sync', ['Content-Type: application/json', 'Content-Length: 100'])}{`;
    const [tooLarge, cut] = await raw([large, endless]);
    expect([tooLarge?.status, cut?.status]).toEqual([413, 0]);
    // Those that only listen hold their places; the operator is not held up by them.
    const streams = `
import socket, json, time
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": True},
  "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})
text = ("POST /graph/mcp HTTP/1.1\\r\\nHost: box.internal\\r\\nContent-Type: application/json\\r\\nAccept: application/json, text/event-stream\\r\\n"
  "MCP-Protocol-Version: 2026-07-28\\r\\nMcp-Method: subscriptions/listen\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
open = [socket.create_connection(('127.0.0.1', 3128), 20) for _ in range(${mostAtOnce} + 6)]
for one in open: one.settimeout(20); one.sendall(text.encode())
print(sorted(one.recv(12).decode() for one in open))
`;
    await exec(`cat > /tmp/streams.py <<'EOS'\n${streams}\nEOS`);
    const [{ stdout }, health] = await Promise.all([exec('python3 /tmp/streams.py'), box.request('/v1/runtime/pulse')]);
    expect(health.status).toBe(200);
    const said = stdout.match(/HTTP\/1\.1 \d+/g) ?? [];
    expect(said).toHaveLength(mostAtOnce + 6);
    expect(said.filter((line) => line.endsWith('429')).length).toBeGreaterThanOrEqual(6);
    // Their places are free again when they are gone.
    expect((await raw([head('GET /graph/v1/runtime/pulse')]))[0]?.status).toBe(200);
  });

  it('is the workspace’s alone: no template of the API, of the manifest or kept from elsewhere has it', async () => {
    for (const grant of ['graph', 'graph-read']) {
      const definition = { network: { mode: 'allow', allow: ['example.com'], internal: [grant] } };
      const { status, body } = await box.json('/v1/templates/sly', { method: 'PUT', body: definition });
      expect([status, body.message]).toEqual([422, expect.stringContaining('only the workspace')]);
      const path = join(folder, 'sly.yaml');
      writeFileSync(path, `version: 1\ntemplates:\n  sly:\n    network: { internal: [${grant}] }\n`);
      const config = loadConfig({ cwd: folder, env: { SKILLBOX_MANIFEST: path } });
      expect(() => loadManifest(config, () => undefined)).toThrow(/only the workspace/);
      const template = { name: 'workspace', source: 'api', network: { mode: 'none', allow: [], internal: ['network', grant] } };
      expect(policyOf({ network: null, template: JSON.stringify(template) }).internal).toEqual(['network']);
    }
    await box.json('/v1/templates/open', { method: 'PUT', body: { network: { mode: 'allow', allow: ['example.com'] } } });
    const { body: other } = await box.json<Sandbox>('/v1/sandboxes', { body: { template: 'open' } });
    const answers = await raw([head('GET /graph/v1/runtime'), head('GET /network')], other.id);
    expect(answers.map(({ status }) => status)).toEqual([404, 200]);
    expect((await exec('ls -d /opt/skillbox', other.id)).exit_code).not.toBe(0);
    await box.request(`/v1/sandboxes/${other.id}`, { method: 'DELETE' });
  });

  it('is narrowed by the operator: to reading, or to nothing', async () => {
    const reading = await begin('workspace: { network: { internal: [graph-read] } }\n');
    try {
      const id = await workspaceOf(reading);
      const answers = await raw(
        [
          head('GET /graph/v1/runtime/pulse'),
          ...['sync', 'up', 'down', 'restart', 'bootstrap', 'context', 'focus'].map((word) =>
            post(`/graph/v1/runtime/${word}`, { dry_run: true }),
          ),
          post('/graph/v1/runtime/sessions', { client_id: 'acme' }),
          head('GET /network'),
        ],
        id,
        reading,
      );
      expect(answers.map(({ status }) => status)).toEqual([200, ...Array.from({ length: 8 }, () => 403), 404]);
      const told = await exec('skillbox sync', id, reading);
      expect([told.exit_code, told.stderr]).toEqual([3, expect.stringContaining('workspace.network.internal')]);
    } finally {
      await reading.stop();
    }
    const closed = await begin('workspace: { network: { internal: [] } }\n');
    try {
      const id = await workspaceOf(closed);
      const told = await exec('ls /.skillbox/box; skillbox status', id, closed);
      expect([told.exit_code, told.stderr]).toEqual([7, expect.stringContaining('workspace.network.internal')]);
      expect(told.stdout).toBe('');
    } finally {
      await closed.stop();
    }
  });

  it('shows the program of the box and no more of its folders, for reading only', async () => {
    const shown = (await exec('cd /opt/skillbox && find . -type f | sort')).stdout.trim().split('\n');
    expect(shown).toContain('./lib/cli.js');
    expect(shown.filter((path) => !/^\.\/(node|bin\/skillbox|lib\/([\w-]+\.js|help\.json|package\.json))$/.test(path))).toEqual([]);
    const attempts = [
      'echo x > lib/cli.js',
      'echo x > new',
      'rm bin/skillbox',
      'chmod 777 node',
      'mv lib other',
      'echo x >> node',
      'ln -s /etc bin/etc',
    ];
    const tried = await exec(
      `cd /opt/skillbox; ${attempts.map((line) => `(${line}) 2>/dev/null && echo done: '${line}'`).join('; ')}; true`,
    );
    expect(tried.stdout).toBe('');
    const environment = (await exec('skillbox completion bash >/dev/null; env')).stdout;
    expect(environment).not.toContain(box.key);
    expect(environment).not.toMatch(/SKILLBOX_API_KEY|sk-[0-9a-f]{48}/);
  });
});
