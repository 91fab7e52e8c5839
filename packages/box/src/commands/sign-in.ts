import { apiKey, createdKey, scope, signInCodePattern, signInLink } from '@skillbox/protocol';
import { z } from 'zod';
import { command } from './command.ts';

export const signInCommands = [
  command({
    name: 'signin.link',
    summary: 'Make a link that signs in to the dashboard, once, within five minutes',
    description:
      'Whoever opens it gets a key of their own that may do what this key may, for twelve hours at most and no longer than this key. The key itself is not in the link.',
    scope: 'any',
    effect: 'change',
    audited: true,
    input: z.strictObject({ scopes: z.array(scope).min(1).max(10).optional().describe('Sign in to less than this key may do') }),
    output: { kind: 'json', schema: signInLink, status: 201 },
    http: { method: 'POST', path: '/v1/sign-in/links' },
    cli: { words: 'open', examples: ['skillbox open', 'skillbox open --scopes executions:read,skills:read'] },
    async run({ box, caller, origin }, { scopes }) {
      const { code, expiresAt } = await box.signIns.createCode(caller.actor.id, scopes);
      return { code, url: `${origin}/ui/#sign-in=${code}`, expires_at: expiresAt };
    },
  }),

  command({
    name: 'signin.exchange',
    summary: 'Exchange the code of a sign-in link for a key',
    description: 'Works once for each code.',
    scope: null,
    effect: 'change',
    unrecorded: ['code'],
    input: z.strictObject({ code: z.string().regex(signInCodePattern, 'a code from a sign-in link') }),
    output: { kind: 'json', schema: createdKey, status: 201 },
    http: { method: 'POST', path: '/v1/sign-in' },
    run: ({ box }, { code }) => box.signIns.exchange(code),
  }),

  command({
    name: 'signin.end',
    summary: 'Sign out: the key of this request stops working if it came from a sign-in link',
    description: 'A key that was made with key create stays.',
    scope: 'any',
    effect: 'change',
    input: z.object({}),
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/sign-in' },
    run: ({ box, caller }) => box.signIns.end(caller.actor.id),
  }),

  command({
    name: 'key.self',
    summary: 'Show the key of this request: its tenant and what it may do',
    scope: 'any',
    effect: 'read',
    input: z.object({}),
    output: { kind: 'json', schema: apiKey },
    http: { method: 'GET', path: '/v1/keys/self' },
    cli: { words: 'key self', examples: ['skillbox key self', 'skillbox key self --json'] },
    run: ({ box, caller }) => box.keys.get(caller.actor.id),
  }),
];
