/** subscriptions/listen: a stream that tells when lists have changed, for as long as the client reads it and its key is good. */

import { BoxError } from '@skillbox/protocol';
import { authenticate } from '../auth.ts';
import { streamResponse } from './exchange.ts';
import { createMessageStream } from './message-stream.ts';
import { metaNames, serverInfo } from './revisions.ts';
import { codes, isObject, notificationMessage, RpcError, type RpcRequest, resultMessage } from './rpc.ts';
import { type Visit, whileKeyIsGood } from './visit.ts';

export const lists = { toolsListChanged: 'tools', promptsListChanged: 'prompts', resourcesListChanged: 'resources' } as const;

export async function listen(visit: Visit, { id, params }: RpcRequest): Promise<Response> {
  const { box, mcp, caller, gone, request } = visit;
  const { notifications: filter } = params;
  if (!isObject(filter)) throw new RpcError(codes.invalidParams, 'notifications must be an object.', { status: 400 });
  if (mcp.stopping.aborted) throw new BoxError('unavailable', 'The box is stopping.', { retryAfter: 5 });
  const wanted = Object.entries(lists).filter(([field]) => filter[field] === true);
  const leave = mcp.takeEar(caller);
  const stream = createMessageStream();
  const meta = { [metaNames.subscription]: id };
  const tell = (method: string, more = {}): void => stream.say(notificationMessage(method, { _meta: meta, ...more }));
  const ends: (() => void)[] = [leave];
  const over = (): void => {
    for (const end of ends.splice(0)) end();
  };
  const finish = (): void => {
    stream.say(resultMessage(id, { resultType: 'complete', _meta: { ...meta, [metaNames.serverInfo]: serverInfo } }));
    stream.end();
    over();
  };
  tell('notifications/subscriptions/acknowledged', { notifications: Object.fromEntries(wanted.map(([field]) => [field, true])) });
  try {
    if (wanted.length > 0) {
      ends.push(
        await mcp.changes.listen(caller.tenant, () => {
          for (const [, list] of wanted) tell(`notifications/${list}/list_changed`);
        }),
      );
    }
  } catch (error) {
    over();
    throw error;
  }
  if (wanted.length === 0) finish();
  else {
    ends.push(whileKeyIsGood(visit, () => authenticate(box, request), finish));
    mcp.stopping.addEventListener('abort', finish);
    ends.push(() => mcp.stopping.removeEventListener('abort', finish));
    gone.addEventListener('abort', over, { once: true });
    if (gone.aborted) over();
  }
  return streamResponse(stream, 0, {}, gone);
}
