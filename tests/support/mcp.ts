/** The official MCP client, against a box of the tests, and messages by hand where no client would send them. */

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { TestBox } from './box.ts';

export type Era = 'modern' | 'session';

export const modernRevision = '2026-07-28';

export const clientFor = (era: Era): Client =>
  new Client(
    { name: 'skillbox-tests', version: '1.0.0' },
    { versionNegotiation: { mode: era === 'modern' ? { pin: modernRevision } : 'legacy' } },
  );

export async function connect(box: Pick<TestBox, 'url' | 'key'>, era: Era, key = box.key): Promise<Client> {
  const client = clientFor(era);
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${box.url}/mcp`), { requestInit }));
  return client;
}

/** A request of 2026-07-28 with everything it needs. */
export function modernRequest(method: string, params: Record<string, unknown> = {}) {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': modernRevision, 'io.modelcontextprotocol/clientCapabilities': {} };
  const name = params.name ?? params.uri;
  return {
    headers: {
      'Mcp-Method': method,
      ...(typeof name === 'string' && { 'Mcp-Name': name }),
      ...{ 'MCP-Protocol-Version': modernRevision, Accept: 'application/json, text/event-stream' },
    } as Record<string, string>,
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } } as Record<string, unknown>,
  };
}

/** The id of a new session of an older client. */
export async function openSession(box: Pick<TestBox, 'key' | 'json'>, key = box.key, revision = '2025-11-25'): Promise<string> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'by hand', version: '1' } };
  const { status, headers } = await box.json('/mcp', { key, body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
  const id = headers.get('mcp-session-id');
  if (status !== 200 || id === null) throw new Error(`initialize answered ${status}`);
  return id;
}
