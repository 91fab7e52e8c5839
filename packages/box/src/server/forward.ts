/** Passes a request on to the host that runs the execution; what lives in its memory is nowhere else. */

import type { IncomingMessage } from 'node:http';
import { type Execution, isFinal } from '@skillbox/protocol';
import type { Caller } from '../access/caller.ts';
import type { Box } from '../box.ts';

const passedOn = 'x-skillbox-forwarded';
const carried = ['authorization', 'x-tenant-id', 'x-request-id', 'last-event-id', 'accept'];

/** undefined when it is ours to answer, or when the owner cannot be reached and the database has to do. */
export async function forwardToOwner(
  box: Box,
  caller: Caller,
  id: string,
  request: IncomingMessage,
  signal: AbortSignal,
): Promise<Response | undefined> {
  if (request.headers[passedOn]) return undefined;
  const row = await box.executions.row(id, caller.tenant);
  if (row.host === box.host || isFinal(row.status as Execution['status'])) return undefined;
  const owner = (await box.store.leases.list(`host/${row.host}`)).find((lease) => !lease.expired);
  if (typeof owner?.data.url !== 'string') return undefined;
  const headers = new Headers({ [passedOn]: box.host });
  for (const name of carried) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  try {
    // Only path and query are the caller's: a request line may name a whole address, and this must not go there.
    const { pathname, search } = new URL(request.url ?? '/', 'http://host');
    const answer = await fetch(new URL(pathname + search, owner.data.url), { headers, signal });
    return new Response(answer.body, {
      status: answer.status,
      headers: { 'Content-Type': answer.headers.get('content-type') ?? 'text/plain', 'Cache-Control': 'no-store' },
    });
  } catch (error) {
    box.log.warn({ err: error, owner: row.host }, 'the owner of an execution cannot be reached; answering from the database');
    return undefined;
  }
}
