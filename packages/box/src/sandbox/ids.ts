import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz';
/** Bytes from here on would make some letters more likely than others. */
const fair = 256 - (256 % alphabet.length);

export const newSandboxId = (): string => `i${letters(19)}`;
export const newSnapshotId = (): string => `s${letters(19)}`;

function letters(count: number): string {
  let text = '';
  while (text.length < count) {
    for (const byte of randomBytes(count * 2)) if (byte < fair && text.length < count) text += alphabet[byte % alphabet.length];
  }
  return text;
}
