import { expect, it } from 'vitest';
import { commands } from './registry.ts';

it('has each command once, by name and by route', () => {
  for (const of of [commands.map(({ name }) => name), commands.map(({ http }) => `${http.method} ${http.path}`)])
    expect(new Set(of).size).toBe(of.length);
});

it('reads with GET, changes with the others, and audits what administrators change', () => {
  for (const { name, effect, http, scope, audited } of commands) {
    expect(effect === 'read', name).toBe(http.method === 'GET');
    if (scope === 'admin' && effect === 'change') expect(audited, name).toBe(true);
  }
});

it('takes every parameter of a path as an input', () => {
  for (const { http, input } of commands)
    for (const [, name = ''] of http.path.matchAll(/:(\w+)/g)) expect(Object.keys(input.shape)).toContain(name);
});

it('needs a key for everything but the probes and a sign-in, which has a code', () => {
  expect(commands.filter(({ scope }) => scope === null).map(({ name }) => name)).toEqual(['signin.exchange', 'box.health', 'box.ready']);
});
