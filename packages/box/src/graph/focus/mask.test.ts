import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EnvFile, Service } from '../graph.ts';
import { createMask, knownSecrets, plainLine } from './mask.ts';

const mask = createMask();

describe('what looks like a secret', () => {
  it.each([
    ['login failed, password=hunter2', 'hunter2'],
    ['"api_key": "abcdef123456"', 'abcdef123456'],
    ["DB_PASSWORD='two words'", 'two words'],
    ['STRIPE_SECRET_KEY: whatever-it-is', 'whatever-it-is'],
    ['connect postgres://app:s3cr3t@db:5432/x failed', 's3cr3t'],
    ['redis://:onlypass@cache', 'onlypass'],
    ['Authorization: Bearer abc.def.ghi', 'abc.def.ghi'],
    ['authorization=Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
    ['got bearer 0123456789abcdef from upstream', '0123456789abcdef'],
    ['GET /x?token=q1w2e3&y=1 failed', 'q1w2e3'],
    ['curl --token q1w2e3r4 failed', 'q1w2e3r4'],
    ['key sk-0123456789abcdef0123456789abcdef0123456789abcdef', '0123456789abcdef'],
    ['ghp_abcdefghijklmnopqrstuvwxyz0123456789', 'ghp_abcdef'],
    ['github_pat_11ABCDEFG0abcdefghijkl', '11ABCDEFG0'],
    ['AKIAIOSFODNN7EXAMPLE is wrong', 'AKIAIOSFODNN7EXAMPLE'],
    ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln', 'eyJzdWIi'],
    ['digest 0123456789abcdef0123456789abcdef', '0123456789abcdef'],
    ['what is aB3dE5gH7jK9mN1pQ3sT5vW7xY9z0', 'aB3dE5gH7jK9'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----', 'MIIB'],
    ['npm_abcdefghijklmnop0123', 'abcdefghijklmnop'],
    ['Set-Cookie: sid=abc123def', 'abc123def'],
  ])('%s', (text, secret) => {
    const masked = mask(text);
    expect(masked).not.toContain(secret);
    expect(masked).toContain('***');
  });

  it.each([
    'Error: ENOENT: no such file or directory, open /workspace/repos/app/config.json',
    'TypeError: tokenize is not a function (src/parser.ts:41:7)',
    'fatal: port 8080 is in use by pid 1234',
    'request 6f1b1a2e-0d1c-4a8e-9e56-0242ac120002 failed after 12 ms',
    'panic: runtime error: index out of range [5] with length 3',
    'http://127.0.0.1:8080/health answered 503',
  ])('leaves %s', (text) => expect(mask(text)).toBe(text));
});

describe('what env and env files hold', () => {
  it('is masked by its letters, but not what is no secret', () => {
    const folder = mkdtempSync(join(tmpdir(), 'skillbox-mask-'));
    try {
      const file = join(folder, '.env');
      writeFileSync(
        file,
        'APP_TOKEN=quiet-words\nexport OTHER="p4ssw0rd-like"\nPORT=8080\nLEVEL=debug\nURL=http://127.0.0.1:3000/x\nDIR=/srv/app1/data\nDB=mysql://u:p@h/d\n',
      );
      const place = { path: file, hostPath: file, inside: false };
      const known = knownSecrets({
        services: [{ env: { SESSION_SECRET: 'blue moon', MODE: 'development' } } as unknown as Service],
        tasks: [],
        bridges: [],
        envFiles: [{ place } as EnvFile],
      });
      expect([...known].sort()).toEqual(['blue moon', 'mysql://u:p@h/d', 'p4ssw0rd-like', 'quiet-words']);
      expect(createMask(known)('error: blue moon and quiet-words at 8080')).toBe('error: *** and *** at 8080');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

it('makes one plain line of anything', () => {
  expect(plainLine('\x1b[31merror\x1b[0m:\tone\r\ntwo\x07 \x1b]0;title\x07end\u202e')).toBe('error: one two end');
  expect(plainLine('x'.repeat(400))).toHaveLength(300);
});
