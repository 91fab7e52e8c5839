import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Place } from '../graph.ts';
import { errorsIn, newestLog } from './log-errors.ts';
import { createMask } from './mask.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-log-errors-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string, inside = false): Place => ({ path: join('/workspace/logs', name), hostPath: join(folder, name), inside });
const found = (text: string, mask = createMask()) => {
  writeFileSync(join(folder, 'a.log'), text);
  return errorsIn([{ name: 'service a', place: at('a.log') }], mask).map(({ line }) => line);
};

it('finds the words of trouble, as words, and not the good news', () => {
  const lines = [
    'ERROR one',
    'Unhandled exception two',
    'Traceback (most recent call last):',
    'fatal: three',
    'thread panicked at four',
    'build failed',
    'terrors of the deep',
    'failsafe is on',
    'mirrored',
    '0 errors, 0 failures',
    'done without errors; failed=0',
    'all well',
  ];
  expect(found(lines.slice(0, 5).join('\n'))).toEqual(lines.slice(0, 5));
  expect(found(lines.slice(5).join('\n'))).toEqual(['build failed']);
});

it('looks at the last hundred lines and keeps the last five', () => {
  const many = Array.from({ length: 300 }, (_, line) => `error ${line}`).join('\n');
  expect(found(`${many}\n`)).toEqual(['error 295', 'error 296', 'error 297', 'error 298', 'error 299']);
  expect(found(`error of old\n${'fine\n'.repeat(150)}`)).toEqual([]);
  expect(found(`error of late\n${'fine\n'.repeat(50)}`)).toEqual(['error of late']);
});

it('shows each as one short plain line without secrets', () => {
  const [line = ''] = found(`\x1b[31merror\x1b[0m password=hunter2 for moon-landing \x07${'x'.repeat(5000)}`, createMask(['moon-landing']));
  expect(line).toMatch(/^error password=\*\*\* for \*\*\* x+…$/);
  expect(line).toHaveLength(300);
});

it('leaves what nobody wrote to for a day', () => {
  writeFileSync(join(folder, 'a.log'), 'error\n');
  const old = new Date(Date.now() - 25 * 3_600_000);
  utimesSync(join(folder, 'a.log'), old, old);
  expect(errorsIn([{ name: 'a', place: at('a.log') }], createMask())).toEqual([]);
});

it('reads only the end of a file of any size, and no link from inside', () => {
  writeFileSync(join(folder, 'big.log'), Buffer.alloc(30 * 1024 * 1024, 'x'));
  appendFileSync(join(folder, 'big.log'), '\nerror at the end\n');
  expect(errorsIn([{ name: 'big', place: at('big.log', true) }], createMask())).toEqual([{ log: 'big', line: 'error at the end' }]);
  writeFileSync(join(folder, 'secret'), 'error: of the host\n');
  symlinkSync(join(folder, 'secret'), join(folder, 'link.log'));
  expect(errorsIn([{ name: 'link', place: at('link.log', true) }], createMask())).toEqual([]);
});

it('takes the newest file of a folder, and neither folders nor what is packed nor a link', () => {
  const put = (name: string, seconds: number): void => {
    writeFileSync(join(folder, name), name);
    utimesSync(join(folder, name), 1_700_000_000 + seconds, 1_700_000_000 + seconds);
  };
  put('old.log', 1);
  put('new.log', 2);
  put('newer.log.gz', 3);
  put('.hidden', 4);
  mkdirSync(join(folder, 'sub'));
  symlinkSync('/etc/hostname', join(folder, 'link.log'));
  expect(newestLog({ path: '/workspace/logs', hostPath: folder, inside: true })?.path).toBe('/workspace/logs/new.log');
  expect(newestLog({ path: '/workspace/none', hostPath: join(folder, 'none'), inside: true })).toBeUndefined();
});
