/** The box's own secret: signs links, seals what waits in the queue and what tenants keep in the vault. It never enters a sandbox or an answer. */

import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import { writePrivateFile } from './private-file.ts';

export interface Secrets {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
  encrypt(text: string): string;
  decrypt(sealed: string): string;
  /** Seals for one purpose, with a key of its own. */
  sealer(purpose: string): Sealer;
  /** Tells whether two hosts have the same key, without telling the key. */
  readonly fingerprint: string;
}

export interface Sealer {
  /** `place` says where the sealed text belongs: it opens there only, so that nobody can move one into the place of another. */
  seal(text: string, place: readonly string[]): string;
  open(sealed: string, place: readonly string[]): string;
}

export function openSecrets(file: string, configured: string | undefined): Secrets {
  const key = configured ?? readOrMake(file);
  const signing = derive(key, 'links');
  const queue = createSealer(derive(key, 'queue'));
  const sign = (text: string): string => createHmac('sha256', signing).update(text).digest('base64url');
  return {
    sign,
    verify(text, signature) {
      const expected = Buffer.from(sign(text));
      const given = Buffer.from(signature);
      return expected.length === given.length && timingSafeEqual(expected, given);
    },
    encrypt: (text) => queue.seal(text, []),
    decrypt: (sealed) => queue.open(sealed, []),
    sealer: (purpose) => createSealer(derive(key, `seal/${purpose}`)),
    fingerprint: createHash('sha256').update(derive(key, 'fingerprint')).digest('hex').slice(0, 16),
  };
}

function createSealer(key: Buffer): Sealer {
  return {
    seal(text, place) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(placeBytes(place));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64');
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 }).setAAD(placeBytes(place));
        decipher.setAuthTag(bytes.subarray(12, 28));
        return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new BoxError('internal', 'What was sealed with another key, or for another place, cannot be opened.', {
          cause,
          hint: 'Give all hosts the same SKILLBOX_SECRET_KEY.',
        });
      }
    },
  };
}

/** As JSON, so that ['a', 'bc'] and ['ab', 'c'] are two places; none is no bytes, which is what the queue was sealed with. */
const placeBytes = (place: readonly string[]): Buffer => Buffer.from(place.length === 0 ? '' : JSON.stringify(place));

function readOrMake(file: string): string {
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  const key = randomBytes(32).toString('hex');
  writePrivateFile(file, `${key}\n`);
  return key;
}

const derive = (key: string, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', key, 'skillbox', purpose, 32));
