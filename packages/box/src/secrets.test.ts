import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openSecrets } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'skillbox-secrets-'));
afterAll(() => rmSync(folder, { recursive: true }));
const key = 'k'.repeat(40);
const secrets = openSecrets('unused', key);
const others = openSecrets('unused', 'o'.repeat(40));

describe('the key', () => {
  it('is made once, readable by its owner only, and is the same afterwards', () => {
    const file = join(folder, 'box.key');
    const first = openSecrets(file, undefined);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
    const again = openSecrets(file, undefined);
    expect(again.decrypt(first.encrypt('x'))).toBe('x');
    expect(again.fingerprint).toBe(first.fingerprint);
    expect(openSecrets(file, key).fingerprint).not.toBe(first.fingerprint);
  });

  it('is not told by its fingerprint', () => {
    expect(secrets.fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(secrets.fingerprint).not.toBe(others.fingerprint);
    expect(key).not.toContain(secrets.fingerprint);
  });
});

describe('signatures', () => {
  it('fit their text and key, and nothing else', () => {
    const signature = secrets.sign('text');
    expect(secrets.verify('text', signature)).toBe(true);
    for (const wrong of ['', 'x', signature.slice(1), `${signature}A`, signature.toLowerCase(), 'é'.repeat(signature.length)])
      expect(secrets.verify('text', wrong)).toBe(false);
    expect(secrets.verify('other', signature)).toBe(false);
    expect(others.verify('text', signature)).toBe(false);
  });
});

describe('what is sealed', () => {
  it('comes back, and never looks the same twice', () => {
    for (const text of ['', 'plain', 'ünï \u{1F600}', 'x'.repeat(100_000)]) expect(secrets.decrypt(secrets.encrypt(text))).toBe(text);
    expect(secrets.encrypt('same')).not.toBe(secrets.encrypt('same'));
    expect(Buffer.from(secrets.encrypt('visible'), 'base64').toString('latin1')).not.toContain('visible');
  });

  it('does not open when one bit of it is another, with another key, or when it is cut', () => {
    const sealed = Buffer.from(secrets.encrypt('secret'), 'base64');
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => secrets.decrypt(changed.toString('base64'))).toThrowError(expect.objectContaining({ code: 'internal' }));
    }
    for (const cut of [0, 5, 27]) expect(() => secrets.decrypt(sealed.subarray(0, cut).toString('base64'))).toThrow();
    expect(() => others.decrypt(sealed.toString('base64'))).toThrowError(expect.objectContaining({ code: 'internal' }));
  });

  it('for one purpose and place opens for that purpose and in that place only', () => {
    const vault = secrets.sealer('vault');
    const sealed = vault.seal('secret', ['a', 'bc']);
    expect(vault.open(sealed, ['a', 'bc'])).toBe('secret');
    for (const place of [['ab', 'c'], ['a', 'b'], ['a'], [], ['bc', 'a'], ['a","bc']])
      expect(() => vault.open(sealed, place)).toThrowError(expect.objectContaining({ code: 'internal' }));
    expect(() => secrets.sealer('other').open(sealed, ['a', 'bc'])).toThrow();
    expect(() => others.sealer('vault').open(sealed, ['a', 'bc'])).toThrow();
    expect(() => secrets.decrypt(vault.seal('x', []))).toThrow();
  });
});
