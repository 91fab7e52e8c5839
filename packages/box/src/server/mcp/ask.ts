import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../access/caller.ts';
import type { Box } from '../../box.ts';
import type { CommandContext } from '../../commands/command.ts';

/** One request of an MCP client, as the methods see it. */
export interface Ask {
  readonly box: Box;
  readonly caller: Caller;
  readonly requestId: string;
  readonly receivedAt: number;
  readonly origin: string;
  /** Aborts when the client takes the request back. */
  readonly signal: AbortSignal;
  /** Of 2026-07-28 or later. */
  readonly modern: boolean;
  /** For what another host has to do. */
  readonly request: IncomingMessage;
  /** Tells how it goes on; nothing for a client that did not ask. */
  readonly progress: ((message: string) => void) | undefined;
}

export const commandContext = ({ box, caller, requestId, receivedAt, origin, signal }: Ask): CommandContext => ({
  ...{ box, caller, requestId, receivedAt, origin, signal },
  idempotencyKey: undefined,
  lastEventId: undefined,
});

export const may = ({ scopes }: Caller, scope: Caller['scopes'][number]): boolean => scopes.includes(scope) || scopes.includes('admin');
