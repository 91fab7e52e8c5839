import { BoxError } from '@skillbox/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockedEnvReason, checkEnv, maxEnvBytes } from './env-names.ts';

describe('environment of a skill', () => {
  it.each([
    'PATH',
    'HOME',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'LD_AUDIT',
    'PYTHONPATH',
    'PYTHONSTARTUP',
    'PYTHONHOME',
    'NODE_PATH',
    'NODE_OPTIONS',
    'BASH_ENV',
    'ENV',
    'SANDBOX_INPUT',
    'SANDBOX_',
    'SKILL_INSTRUCTIONS',
  ])('refuses %s', (name) => {
    expect(blockedEnvReason(name)).toMatch(/reserved/);
    expect(() => checkEnv({ [name]: 'x' })).toThrow(BoxError);
  });

  it.each(['', '1A', 'A-B', 'A=B', 'A B', 'BASH_FUNC_x%%', 'Ä', 'A\0', 'a\n', 'x'.repeat(129)])('refuses %j as not a name', (name) => {
    expect(blockedEnvReason(name)).toMatch(/not a variable name/);
  });

  it.each(['DEBUG', 'API_BASE', '_', 'path', 'SKILLED', 'LDAP_HOST', 'http_proxy'])('accepts %s', (name) => {
    expect(blockedEnvReason(name)).toBeUndefined();
    expect(() => checkEnv({ [name]: 'any text, ünicode too' })).not.toThrow();
  });

  it('refuses NUL in a value, without repeating the value', () => {
    const thrown = caught(() => checkEnv({ TOKEN: 'se\0cret' }));
    expect(thrown.code).toBe('invalid_env');
    expect(JSON.stringify([thrown.message, thrown.details])).not.toContain('cret');
  });

  it('bounds names and values together', () => {
    expect(() => checkEnv({ A: 'x'.repeat(maxEnvBytes - 3) })).not.toThrow();
    expect(caught(() => checkEnv({ A: 'x'.repeat(maxEnvBytes - 2) })).code).toBe('invalid_env');
    expect(() => checkEnv(Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`V${i}`, 'abc'])))).toThrow(/bytes/);
  });

  it('lets nothing through that a shell would not take as a name', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        if (blockedEnvReason(name) === undefined) expect(name).toMatch(/^[A-Za-z_]\w*$/);
      }),
    );
  });
});

function caught(run: () => void): BoxError {
  try {
    run();
  } catch (error) {
    if (error instanceof BoxError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
