import { describe, expect, it } from 'vitest';
import { createMask, isSecretName } from './focus/mask.ts';
import { redact, redactText } from './journal/redact.ts';
import { looksSecret } from './variables.ts';

describe('all rooms know the same secrets', () => {
  it.each([
    'GITHUB_TOKEN',
    'client_secret',
    'DbPassword',
    'DB_PASSWD',
    'key_passphrase',
    'AWS_CREDENTIALS',
    'API_KEY',
    'accessKey',
    'private-key',
  ])('by the name %s', (name) => {
    expect(looksSecret(name)).toBe(true);
    expect(isSecretName(name)).toBe(true);
    expect(redact({ [name]: 'value' })).toEqual({ [name]: '[redacted]' });
  });

  it.each([
    ['https://me:hunter2@example.org/x', 'hunter2'],
    ['git clone failed: token=abc123', 'abc123'],
    ['"client_secret": "two words"', 'two words'],
    ['run --password hunter2 now', 'hunter2'],
    ['Authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ['glpat-abcdefghij0123', 'abcdefghij'],
    ['AIzaSyA1234567890abcdef', 'SyA1234567890'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln', 'eyJzdWIi'],
    ['-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----', 'MIIB'],
  ])('by the form of %j', (text, secret) => {
    expect(createMask()(text)).not.toContain(secret);
    expect(redactText(text)).not.toContain(secret);
    expect(redactText(text)).toContain('[redacted]');
  });

  it('what differs, differs on purpose: commits stay in the journal, and a key of any kind is no variable to show', () => {
    const commit = '0123456789abcdef0123456789abcdef01234567';
    expect(redactText(`moved to ${commit}`)).toContain(commit);
    expect(createMask()(`moved to ${commit}`)).not.toContain(commit);
    expect([looksSecret('MONKEY'), isSecretName('MONKEY')]).toEqual([true, false]);
    expect([looksSecret('AUTH_HEADER'), isSecretName('AUTH_HEADER')]).toEqual([false, true]);
  });

  it.each(['a', 'token', 'token-', 'eyJ-', 'a.', 'a:', '--token ', 'token=', '_key', "token='", '-----BEGIN ', 'bearer '])(
    'a long text of %j alone takes no long time',
    (part) => {
      const since = process.cpuUsage();
      redactText(part.repeat(100_000 / part.length));
      const { user, system } = process.cpuUsage(since);
      // The square of its length would be minutes.
      expect((user + system) / 1e6).toBeLessThan(5);
    },
  );
});
