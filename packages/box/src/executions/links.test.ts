import { expect, it } from 'vitest';
import { openSecrets } from '../secrets.ts';
import { artifactsLink, checkLink } from './links.ts';

const secrets = openSecrets('unused', 's'.repeat(40));
const id = '7d4e1c1e-2a6b-4a7a-9f0e-3f5f3a0c9b11';
const now = Date.parse('2026-01-01T00:00:00Z');
const hour = 3600_000;
const parts = () => {
  const { searchParams } = new URL(artifactsLink(secrets, 'http://box', id, now));
  return { expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' };
};
const expired = expect.objectContaining({ code: 'link_expired' });

it('is good for an hour and not a millisecond more', () => {
  const { expires, signature } = parts();
  expect(() => checkLink(secrets, id, expires, signature, now)).not.toThrow();
  expect(() => checkLink(secrets, id, expires, signature, now + hour - 1)).not.toThrow();
  expect(() => checkLink(secrets, id, expires, signature, now + hour)).toThrowError(expired);
});

it('is good for its execution, its time and its box only', () => {
  const { expires, signature } = parts();
  const later = String(Number(expires) + 1);
  expect(() => checkLink(secrets, id.replace('7', '8'), expires, signature, now)).toThrowError(expired);
  expect(() => checkLink(secrets, id, later, signature, now)).toThrowError(expired);
  expect(() => checkLink(openSecrets('unused', 't'.repeat(40)), id, expires, signature, now)).toThrowError(expired);
  for (const odd of ['', '-1', '1e15', ` ${expires}`, `${expires}.0`, `0x${expires}`, '9'.repeat(30)])
    expect(() => checkLink(secrets, id, odd, signature, now)).toThrowError(expired);
});
