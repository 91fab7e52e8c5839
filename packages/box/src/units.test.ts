import { describe, expect, it } from 'vitest';
import { formatDuration, formatSize, parseDuration, parseSize } from './units.ts';

describe('sizes', () => {
  it.each([
    ['0', 0],
    ['1024', 1024],
    ['256Mi', 256 * 2 ** 20],
    ['1.5Gi', 1.5 * 2 ** 30],
    ['50MB', 50e6],
    ['5k', 5000],
    [' 2 KiB ', 2048],
    ['1Ti', 2 ** 40],
    [4096, 4096],
    [1.9, 1],
  ])('%j is %d bytes', (text, bytes) => expect(parseSize(text)).toBe(bytes));

  it.each(['', 'x', '-1', '1Zi', '1 2', 'Mi', '1e3', '0x10', Number.NaN, -1, Number.POSITIVE_INFINITY])('%j is none', (text) =>
    expect(parseSize(text)).toBeUndefined(),
  );

  it.each([
    [0, '0B'],
    [1023, '1023B'],
    [1024, '1Ki'],
    [1536, '1.5Ki'],
    [2 ** 20, '1Mi'],
    [48 * 2 ** 20, '48Mi'],
    [2.5 * 2 ** 30, '2.5Gi'],
  ])('%d bytes are written %s', (bytes, text) => expect(formatSize(bytes)).toBe(text));
});

describe('times', () => {
  it.each([
    ['90s', 90_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['2h', 7_200_000],
    ['0.5s', 500],
    ['10', 10_000],
    [2, 2000],
    [0.25, 250],
    ['0s', 0],
  ])('%j is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', 's', '-1s', '1d', '1m 30s', 'soon', '1e3s', Number.NaN, -5])('%j is none', (text) =>
    expect(parseDuration(text)).toBeUndefined(),
  );

  it.each([
    [0, '0ms'],
    [400, '400ms'],
    [1500, '1.5s'],
    [60_000, '1m'],
    [59_960, '1m'],
    [90_000, '1m30s'],
    [119_999, '2m'],
    [3_600_000, '60m'],
  ])('%d ms are written %s', (ms, text) => expect(formatDuration(ms)).toBe(text));
});
