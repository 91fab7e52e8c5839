/** A request that turned out to belong to another host after its body was read: one that starts from a snapshot over there. */

import type { IncomingMessage } from 'node:http';
import { BoxError } from '@skillbox/protocol';
import type { Box } from '../box.ts';
import { bodyOf } from './body.ts';
import { passOnRead } from './forward.ts';

/** The answer of the host that the error names; throws the error again when nobody can be asked. */
export async function orElsewhere(box: Box, request: IncomingMessage, error: unknown): Promise<Response> {
  const host = error instanceof BoxError && error.code === 'on_another_host' ? (error.details as { host?: string }).host : undefined;
  const body = bodyOf(request);
  const answer = host && body && (await passOnRead(box, request, host, body));
  if (answer) return answer;
  throw error;
}
