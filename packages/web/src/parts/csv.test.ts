import { expect, it } from 'vitest';
import { parseCsv } from './csv.ts';

it.each([
  [
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a;b\r\n"x;y";"say ""hi"""\r\n',
    [
      ['a', 'b'],
      ['x;y', 'say "hi"'],
    ],
  ],
  [
    'a\tb\n"line\nend"\t',
    [
      ['a', 'b'],
      ['line\nend', ''],
    ],
  ],
  ['', []],
  ['one', [['one']]],
  ['a,,c', [['a', '', 'c']]],
])('reads %j', (text, rows) => {
  expect(parseCsv(text)).toEqual(rows);
});
