import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Place } from './graph.ts';
import { insideOwner } from './inside-owner.ts';
import { draftFolderAt, existsAt, makeFolderAt, namesAt, readAt, removeAt, statAt, wayTo, writeAt } from './place.ts';

let root: string;
let state: string;
let outside: string;
const inside = (path: string): Place => ({ path: `/workspace/${path}`, hostPath: join(state, 'workspace', path), inside: true });
const onHost = (path: string): Place => ({ path: join(root, path), hostPath: join(root, path), inside: false });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'place-'));
  state = join(root, 'state');
  outside = join(root, 'outside');
  mkdirSync(join(state, 'workspace', 'a', 'b'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'of the host');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe.each([
  ['inside', (path: string) => inside(path)],
  ['on the host', (path: string) => onHost(path)],
])('a place %s', (_, at) => {
  it('is written whole, with its mode, and the folders above are made', () => {
    const place = at('new/deep/file.env');
    expect(readAt(place)).toBeUndefined();
    writeAt(place, 'A=1\n', { mode: 0o600 });
    writeAt(place, 'A=2\n', { mode: 0o640 });
    expect(readAt(place)?.toString()).toBe('A=2\n');
    expect(statSync(place.hostPath).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(place.hostPath, '..'))).toEqual(['file.env']);
  });

  it('is listed and removed', () => {
    makeFolderAt(at('box/in/it'));
    writeAt(at('box/x'), 'x', { mode: 0o644 });
    expect(namesAt(at('box'))?.sort()).toEqual(['in', 'x']);
    expect(existsAt(at('box'))).toBe(true);
    expect(removeAt(at('box'))).toBe(true);
    expect(removeAt(at('box'))).toBe(false);
    expect(existsAt(at('box'))).toBe(false);
    expect(namesAt(at('box'))).toBeUndefined();
  });

  it('takes a folder in one step, in the place of what was there', () => {
    writeAt(at('skill/old'), 'old', { mode: 0o644 });
    const draft = draftFolderAt(at('skill'));
    writeFileSync(`/proc/self/fd/${draft.fd}/new`, 'new');
    expect(namesAt(at('skill'))).toEqual(['old']);
    draft.commit();
    expect(namesAt(at('skill'))).toEqual(['new']);
  });

  it('sweeps away what a killed process began, and leaves what one that lives began', () => {
    const { pid = 0 } = spawn('true');
    const dead = execFileSync('sh', ['-c', 'echo $$']).toString().trim();
    expect(pid).toBeGreaterThan(0);
    writeAt(at('file'), '1', { mode: 0o644 });
    writeAt(at(`.file.${dead}.skillbox-new`), 'half', { mode: 0o644 });
    writeAt(at('.file.1.skillbox-new'), 'of one that lives', { mode: 0o644 });
    writeAt(at('file'), '2', { mode: 0o644 });
    expect(namesAt(at(''))?.filter((name) => name.startsWith('.file'))).toEqual(['.file.1.skillbox-new']);
  });

  it('reads no FIFO and waits for none, and no folder', () => {
    execFileSync('mkfifo', [at('pipe').hostPath]);
    expect(readAt(at('pipe'))).toBeUndefined();
    makeFolderAt(at('folder'));
    expect(readAt(at('folder'))).toBeUndefined();
    writeAt(at('pipe'), 'a file now', { mode: 0o644 });
    expect(readAt(at('pipe'))?.toString()).toBe('a file now');
  });

  it('does not take a huge file into memory', () => {
    writeAt(at('huge'), '', { mode: 0o644 });
    truncateSync(at('huge').hostPath, 2 ** 40);
    expect(() => readAt(at('huge'))).toThrow(/more than/);
  });

  it('refuses a file where a folder is, and leaves nothing behind', () => {
    makeFolderAt(at('taken/sub'));
    expect(() => writeAt(at('taken'), 'x', { mode: 0o644 })).toThrow(/folder/);
    expect(namesAt(at(''))?.filter((name) => name.includes('skillbox-'))).toEqual([]);
  });
});

describe('links inside', () => {
  it.each(['a', 'a/b', 'a/b/c'])('at %s lead nowhere', (level) => {
    const planted = join(state, 'workspace', level);
    rmSync(planted, { recursive: true, force: true });
    symlinkSync(outside, planted);
    const place = level === 'a/b/c' ? inside('a/b/c/secret') : inside(`${level}/c/secret`.replace('a/c', 'a'));
    const target = inside(`${level}/secret`);
    for (const at of [place, target]) {
      expect(readAt(at)).toBeUndefined();
      expect(existsAt(at)).toBe(false);
      expect(removeAt(at)).toBe(false);
      expect(() => writeAt(at, 'evil', { mode: 0o644 })).toThrow(/not followed/);
      expect(() => makeFolderAt(inside(`${level}/made`))).toThrow(/not followed/);
    }
    expect(namesAt(inside(level))).toBeUndefined();
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });

  it('in the place of the file are replaced, not followed', () => {
    symlinkSync(join(outside, 'secret'), join(state, 'workspace', 'a', 'env'));
    expect(readAt(inside('a/env'))).toBeUndefined();
    writeAt(inside('a/env'), 'mine', { mode: 0o600 });
    expect(lstatSync(join(state, 'workspace', 'a', 'env')).isSymbolicLink()).toBe(false);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });

  it('in a tree that is removed are removed themselves', () => {
    symlinkSync(outside, join(state, 'workspace', 'a', 'b', 'way-out'));
    expect(removeAt(inside('a'))).toBe(true);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });

  it('in the place of the root of the workspace lead nowhere either', () => {
    rmSync(join(state, 'workspace'), { recursive: true });
    symlinkSync(outside, join(state, 'workspace'));
    expect(readAt(inside('secret'))).toBeUndefined();
    expect(() => writeAt(inside('x'), 'x', { mode: 0o644 })).toThrow(/not followed/);
  });

  it('swapped for folders again and again while the host writes, reads and removes never let anything out', async () => {
    const swapper = spawn(
      'python3',
      [
        '-c',
        `import os,shutil,sys
base,out=sys.argv[1:]
a,l,x=(base+'/'+name for name in 'alx')
def again():
    for path in (a,x):
        if os.path.islink(path): os.unlink(path)
    shutil.rmtree(x,ignore_errors=True)
    if not os.path.islink(l): os.symlink(out,l)
    os.makedirs(a,exist_ok=True)
again()
print('on',flush=True)
while True:
    try:
        os.rename(a,x); os.rename(l,a); os.rename(a,l); os.rename(x,a)
    except OSError:
        try: again()
        except OSError: pass
`,
        join(state, 'workspace'),
        outside,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = new Promise((resolve) => swapper.once('exit', resolve));
    try {
      await new Promise((resolve) => swapper.stdout.once('data', resolve));
      const until = performance.now() + 1500;
      let written = 0;
      let refused = 0;
      // On a busy machine the other may not get its turn at once.
      const latest = until + 15_000;
      const isTried = (): boolean => performance.now() > until && written > 0 && refused > 0;
      for (let turn = 0; !isTried() && performance.now() < latest; turn += 1) {
        try {
          writeAt(inside('a/b/file'), `turn ${turn}`, { mode: 0o644 });
          writeAt(inside('a/file'), `turn ${turn}`, { mode: 0o644 });
          written += 1;
        } catch {
          // Refused, or the ground moved under it: both are fine as long as nothing gets out.
          refused += 1;
        }
        expect(readAt(inside('a/secret'))).toBeUndefined();
        try {
          removeAt(inside('a'));
        } catch {
          refused += 1;
        }
      }
      expect(written).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
    } finally {
      swapper.kill('SIGKILL');
      await ended;
    }
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('of the host');
  });
});

it.runIf(process.getuid?.() === 0)(
  'what root writes inside belongs to those inside, and a file that is linked elsewhere keeps its owner',
  () => {
    const owner = insideOwner();
    linkSync(join(outside, 'secret'), join(state, 'workspace', 'a', 'hard'));
    writeAt(inside('new/file'), 'x', { mode: 0o600 });
    writeAt(inside('a/hard'), 'mine', { mode: 0o600 });
    for (const path of ['new', 'new/file', 'a/hard']) expect(statSync(join(state, 'workspace', path)).uid).toBe(owner?.uid);
    expect(statSync(join(outside, 'secret')).uid).toBe(0);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('of the host');
    writeAt(onHost('own'), 'x', { mode: 0o600 });
    expect(statSync(join(root, 'own')).uid).toBe(0);
  },
);

it('a root in another root is part of the way, since those inside can move it', () => {
  symlinkSync(outside, join(state, 'workspace', 'repos'));
  const nested = { path: '/work/repos/secret', hostPath: join(state, 'workspace/repos/secret'), inside: true };
  expect(wayTo(nested)).toEqual({ root: join(state, 'workspace'), names: ['repos', 'secret'] });
  expect(readAt(nested)).toBeUndefined();
  expect(() => writeAt(nested, 'x', { mode: 0o644 })).toThrow(/not followed/);
});

it('names that lead elsewhere are refused', () => {
  expect(statAt(inside('a'))?.isDirectory()).toBe(true);
  // resolve() leaves no dots; what is left of them lies where the host path says.
  expect(wayTo({ path: '/home/sandbox/.claude/x', hostPath: '/s/home/.claude/x', inside: true })).toEqual({
    root: '/s/home',
    names: ['.claude', 'x'],
  });
  expect(wayTo({ path: '/workspace/x', hostPath: '/s/workspace/x', inside: true })).toEqual({ root: '/s', names: ['workspace', 'x'] });
  expect(wayTo({ path: '/monoserver', hostPath: '/srv/code', inside: true })).toEqual({ root: '/srv/code', names: [] });
  expect(existsSync(join(state, 'workspace', 'a'))).toBe(true);
});
