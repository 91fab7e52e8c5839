/** Requests that came through the channel of a sandbox, and who they are: the channel says it, and nothing in them. */

import type { IncomingMessage } from 'node:http';
import type { Caller } from '../access/caller.ts';

const insiders = new WeakMap<IncomingMessage, Caller>();

export const insiderOf = (request: IncomingMessage): Caller | undefined => insiders.get(request);

export const noteInsider = (request: IncomingMessage, caller: Caller): void => void insiders.set(request, caller);
