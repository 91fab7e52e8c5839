import { describe, expect, it } from 'vitest';
import { isTrouble, LogLines } from './log-lines.ts';

const all = (log: LogLines) => Array.from({ length: log.count }, (_, at) => log.line(at));

describe('a log as lines', () => {
  it('joins what came in pieces', () => {
    const log = new LogLines();
    for (const piece of ['a', 'b\nc', '', '\n', '\nd']) log.append(piece, 'stdout');
    expect(all(log)).toEqual(['ab', 'c', '', 'd']);
    log.append('\n', 'stdout');
    log.append('e\n', 'stdout');
    expect(all(log)).toEqual(['ab', 'c', '', 'd', 'e']);
  });

  it('keeps the two streams apart', () => {
    const log = new LogLines();
    log.append('half', 'stdout');
    log.append('oops\n', 'stderr');
    log.append('rest\n', 'stdout');
    expect(all(log)).toEqual(['half', 'oops', 'rest']);
    expect([0, 1, 2].map((at) => log.source(at))).toEqual(['stdout', 'stderr', 'stdout']);
  });

  it('knows the look with which a line begins', () => {
    const log = new LogLines();
    log.append('\x1b[31mred\nstill\nend\x1b[0m\nplain\n', 'stdout');
    expect([0, 1, 2, 3].map((at) => log.look(at).colour)).toEqual([undefined, 'ansi-red', 'ansi-red', undefined]);
  });

  it('finds round the end, both ways', () => {
    const log = new LogLines();
    log.append('a\nError: x\nb\nTraceback (most recent call last)\nc\n', 'stdout');
    expect(log.find(isTrouble, -1)).toBe(1);
    expect(log.find(isTrouble, 1)).toBe(3);
    expect(log.find(isTrouble, 3)).toBe(1);
    expect(log.find(isTrouble, 1, -1)).toBe(3);
    expect(log.find((line) => line === 'nowhere', 0)).toBeUndefined();
  });

  it('takes a million lines in a moment', () => {
    const log = new LogLines();
    const piece = Array.from({ length: 1000 }, (_, at) => `line ${at} of many`).join('\n');
    const begun = performance.now();
    for (let at = 0; at < 1000; at += 1) log.append(`${piece}\n`, 'stdout');
    expect(log.count).toBe(1_000_000);
    // Some 150 ms on the machine it was written on.
    expect(performance.now() - begun).toBeLessThan(3000);
  });
});
