/** Signatures as the Standard Webhooks specification has them, so that its libraries verify them. */

import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
/** As the specification asks: between 24 and 64 bytes. */
const leastBytes = 24;
const mostBytes = 64;

export const newSigningSecret = (): string => prefix + randomBytes(32).toString('base64');

export function isSigningSecret(text: string): boolean {
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64');
  return text.startsWith(prefix) && bytes.toString('base64') === encoded && bytes.length >= leastBytes && bytes.length <= mostBytes;
}

export interface Message {
  /** The same at every attempt, so that receivers can drop repeats. */
  readonly id: string;
  readonly body: string;
}

/** Signed anew at every attempt: receivers refuse what is older than a few minutes. */
export function signedHeaders(secret: string, { id, body }: Message, now: number = Date.now()): Record<string, string> {
  const seconds = Math.floor(now / 1000);
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
