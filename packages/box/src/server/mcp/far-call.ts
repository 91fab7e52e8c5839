/** A tool that works on what another host of the box has, such as a sandbox: that host is asked, with the caller's own key. */

import { BoxError } from '@skillbox/protocol';
import { passOnRead } from '../forward.ts';
import type { Ask } from './ask.ts';
import type { ToolResult } from './content.ts';
import { metaNames, modernRevision } from './revisions.ts';
import { isObject, type Params } from './rpc.ts';

/** The answer of the host that the error names; undefined when it names none, or that one cannot be asked. */
export async function elsewhereOf({ box, request }: Ask, error: unknown, params: Params): Promise<ToolResult | undefined> {
  const host = error instanceof BoxError && error.code === 'on_another_host' ? (error.details as { host?: string }).host : undefined;
  if (host === undefined) return undefined;
  // Sessions are a thing of one host; a request of the newer kind needs none.
  const meta = { ...(isObject(params._meta) && params._meta), [metaNames.revision]: modernRevision, [metaNames.clientCapabilities]: {} };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: meta } };
  const headers = {
    ...{ accept: 'application/json', 'content-type': 'application/json', 'mcp-protocol-version': modernRevision },
    ...{ 'mcp-method': 'tools/call', 'mcp-name': String(params.name) },
  };
  const answer = await passOnRead(box, request, host, Buffer.from(JSON.stringify(message)), headers);
  if (answer?.status !== 200) {
    await answer?.body?.cancel();
    return undefined;
  }
  const body: unknown = await answer.json();
  return isObject(body) && isObject(body.result) ? (body.result as unknown as ToolResult) : undefined;
}
