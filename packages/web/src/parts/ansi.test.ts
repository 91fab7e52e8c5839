import { describe, expect, it } from 'vitest';
import { parseAnsi, plain, stripAnsi } from './ansi.ts';

describe('colours of a log', () => {
  it('splits a line where its look changes', () => {
    const { pieces, end } = parseAnsi('a \x1b[1;31mred\x1b[0m b');
    expect(pieces).toEqual([
      { text: 'a ', look: {} },
      { text: 'red', look: { bold: true, colour: 'ansi-red' } },
      { text: ' b', look: {} },
    ]);
    expect(end).toEqual(plain);
  });

  it('carries a look over to the next line', () => {
    const { end } = parseAnsi('\x1b[32mgreen');
    expect(parseAnsi('still', end).pieces).toEqual([{ text: 'still', look: { colour: 'ansi-green' } }]);
    expect(parseAnsi('x\x1b[39my', end).pieces[1]).toEqual({ text: 'y', look: {} });
  });

  it('knows palettes and true colours, and makes nothing else of their numbers', () => {
    expect(parseAnsi('\x1b[38;5;196mx').pieces[0]?.look.colour).toBe('rgb(255 0 0)');
    expect(parseAnsi('\x1b[38;5;244mx').pieces[0]?.look.colour).toBe('rgb(128 128 128)');
    expect(parseAnsi('\x1b[48;2;1;2;999mx').pieces[0]?.look.ground).toBe('rgb(1 2 255)');
    expect(parseAnsi('\x1b[38;2;1mx').pieces[0]?.look.colour).toBe('rgb(1 0 0)');
  });

  it('shows nothing of what moves cursors, sets titles or links elsewhere', () => {
    const text = '\x1b[2J\x1b[Ha\x1b]0;title\x07b\x1b]8;;https://evil.example\x1b\\c\x1b[?25ld\x00\x08';
    expect(
      parseAnsi(text)
        .pieces.map((piece) => piece.text)
        .join(''),
    ).toBe('abcd');
    expect(stripAnsi('\x1b[31mx\x1b[0m')).toBe('x');
  });

  it('shows the last state of a line that was drawn over', () => {
    expect(parseAnsi('10 %\r50 %\r100 %\r').pieces[0]?.text).toBe('100 %');
  });
});
