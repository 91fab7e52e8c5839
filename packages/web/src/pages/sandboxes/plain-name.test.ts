import { expect, it } from 'vitest';
import { plainName } from './plain-name.ts';

it('shows what would hide or turn the text around, and leaves the rest as it is', () => {
  expect(plainName('ein Name, ü 漢.txt')).toBe('ein Name, ü 漢.txt');
  expect(plainName('photo\u202egpj.exe')).toBe('photo\\u{202e}gpj.exe');
  expect(plainName('two\nlines\x1b[31m')).toBe('two\\u{a}lines\\u{1b}[31m');
  expect(plainName('a\u200bb')).toBe('a\\u{200b}b');
});
