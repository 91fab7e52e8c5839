/** The box as pages see it: the client, who is signed in, and what they may do. */

import { type ApiKey, type Client, SkillboxError } from '@skillbox/sdk';
import { createContext, useContext } from 'react';

export type Scope = ApiKey['scopes'][number];

export interface BoxAccess {
  readonly client: Client;
  /** The key that is signed in. */
  readonly self: ApiKey;
  /** Whom it looks at and acts for: its own tenant, or the one an administrator chose. */
  readonly tenant: string;
  /** What is not allowed is not shown. */
  may(scope: Scope | 'any' | readonly Scope[]): boolean;
  signOut(why?: string): void;
}

export const BoxContext = createContext<BoxAccess | undefined>(undefined);

export function useBox(): BoxAccess {
  const box = useContext(BoxContext);
  if (!box) throw new Error('Only pages of somebody who is signed in have a box.');
  return box;
}

/** What the box said, in the words of a page. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  readonly details: unknown;
}

export function failureOf(error: unknown): Failure {
  const { requestId, details } = error as { requestId?: string; details?: unknown };
  if (error instanceof SkillboxError) return { code: error.code, message: error.message, hint: error.hint, requestId, details };
  // A fault of the dashboard itself: the console has where.
  console.error(error);
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'dashboard', message, hint: 'This is a fault of the dashboard: load it anew.', requestId: undefined, details: undefined };
}
