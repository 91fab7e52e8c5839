import { expect, it } from 'vitest';
import { parseListening } from './listening.ts';

const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';

it('finds what listens, once for each port, and nothing that is only connected', () => {
  const four = `${head}
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F40 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 100 0 0 10 0
   2: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 100 0 0 10 0`;
  const six = `${head}
   0: 00000000000000000000000001000000:1F41 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4
   1: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 5`;
  expect(parseListening(four, six)).toEqual([
    { port: 3000, address: 'every address' },
    { port: 8000, address: '127.0.0.1' },
    { port: 8001, address: '::1' },
  ]);
});

it('is not led astray by what is no such table', () => {
  expect(parseListening('', 'nonsense', `${head}\n0: zz:zz 0 0A`)).toEqual([]);
});
