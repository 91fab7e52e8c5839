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

export const commandContext = ({ box, caller, requestId, receivedAt, origin, signal, progress }: Ask): CommandContext => ({
  ...{ box, caller, requestId, receivedAt, origin, signal },
  idempotencyKey: undefined,
  lastEventId: undefined,
  progress: progress && inLines(progress),
});

const progressEveryMs = 100;

/** Every part that begins or ends; of lines that only count on, one now and then. */
function inLines(tell: (message: string) => void): CommandContext['progress'] {
  let told = 0;
  return ({ text, step }) => {
    if (!step && performance.now() - told < progressEveryMs) return;
    told = performance.now();
    tell(text);
  };
}

export const may = ({ scopes }: Caller, scope: Caller['scopes'][number]): boolean => scopes.includes(scope) || scopes.includes('admin');
