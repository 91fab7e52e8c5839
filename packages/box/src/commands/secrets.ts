import { page, pageQuery, secret, secretName, secretValue } from '@skillbox/protocol';
import { z } from 'zod';
import { command } from './command.ts';

export const secretCommands = [
  command({
    name: 'secret.set',
    summary: 'Keep a secret, or change its value',
    description: 'It is kept sealed and no answer ever has its value. What sends it on uses the new value from the next request on.',
    scope: 'secrets:manage',
    effect: 'change',
    audited: true,
    unrecorded: ['value'],
    input: z.strictObject({ name: secretName, value: secretValue }),
    output: { kind: 'json', schema: secret },
    http: { method: 'PUT', path: '/v1/secrets/:name' },
    cli: {
      words: 'secret set',
      args: ['name'],
      polished: true,
      examples: ['cat token.txt | skillbox secret set GITHUB_TOKEN', 'skillbox secret set GITHUB_TOKEN --tenant acme'],
    },
    run: ({ box, caller }, { name, value }) => box.vault.set(caller, name, value),
  }),

  command({
    name: 'secret.list',
    summary: 'List the names of the secrets of the tenant',
    scope: 'secrets:manage',
    effect: 'read',
    input: z.object({ ...pageQuery }),
    output: { kind: 'json', schema: page(secret) },
    http: { method: 'GET', path: '/v1/secrets' },
    cli: { words: 'secret list', examples: ['skillbox secret list', 'skillbox secret list --tenant acme --json'] },
    run: ({ box, caller }, filter) => box.vault.list(caller.tenant, filter),
  }),

  command({
    name: 'secret.delete',
    summary: 'Delete a secret',
    description: 'Sandboxes whose template sends it on stay; what needs it is refused from the next request on.',
    scope: 'secrets:manage',
    effect: 'change',
    audited: true,
    input: z.object({ name: secretName }),
    output: { kind: 'empty' },
    http: { method: 'DELETE', path: '/v1/secrets/:name' },
    cli: { words: 'secret delete', args: ['name'], examples: ['skillbox secret delete GITHUB_TOKEN'] },
    run: ({ box, caller }, { name }) => box.vault.remove(caller.tenant, name),
  }),
];
