/** E2B's own SDK against a box: commands and terminals. */

import { CommandExitError, InvalidArgumentError, Sandbox, SandboxNotFoundError, TimeoutError } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useE2bBox } from './e2b-box.ts';

useE2bBox();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.create();
});
afterAll(async () => {
  await sandbox?.kill();
});

describe('a command in the foreground', () => {
  it('streams both outputs while it runs, and returns them', async () => {
    const heard: [string, number][] = [];
    const note = (text: string): void => void heard.push([text, Date.now()]);
    const result = await sandbox.commands.run('echo first; sleep 0.4; echo second >&2; sleep 0.1; echo $WHO in $PWD', {
      ...{ envs: { WHO: 'me' }, cwd: '/tmp', onStdout: note, onStderr: (text) => note(`error ${text}`) },
    });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'first\nme in /tmp\n', stderr: 'second\n' });
    expect(heard.map(([text]) => text)).toEqual(['first\n', 'error second\n', 'me in /tmp\n']);
    expect((heard[1]?.[1] ?? 0) - (heard[0]?.[1] ?? 0)).toBeGreaterThan(250);
  });

  it('fails with its exit code, or the signal that ended it', async () => {
    const failed = await sandbox.commands.run('echo out; echo why >&2; exit 7').catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(CommandExitError);
    expect(failed).toMatchObject({ exitCode: 7, stdout: 'out\n', stderr: 'why\n' });
    await expect(sandbox.commands.run('kill -9 $$')).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' });
  });

  it('may say megabytes, and none is lost', async () => {
    const { stdout } = await sandbox.commands.run('head -c 20000000 /dev/zero | tr "\\0" x');
    expect(stdout).toHaveLength(20_000_000);
  });

  it('has an empty stdin unless asked', async () => {
    expect((await sandbox.commands.run('cat; echo done', { timeoutMs: 5000 })).stdout).toBe('done\n');
  });

  it('is ended when its time is over', async () => {
    await expect(sandbox.commands.run('exec sleep 4321', { timeoutMs: 500 })).rejects.toThrow(TimeoutError);
    await expect.poll(async () => (await sandbox.commands.list()).length, { timeout: 3000 }).toBe(0);
  });

  it('cannot start in a folder that is not there', async () => {
    await expect(sandbox.commands.run('true', { cwd: '/nowhere' })).rejects.toThrow(InvalidArgumentError);
  });
});

describe('a command in the background', () => {
  it('is listed, fed, and ends when its input does', async () => {
    const command = await sandbox.commands.run('cat; echo over', { background: true, stdin: true });
    expect(await sandbox.commands.list()).toMatchObject([{ pid: command.pid, cmd: '/bin/bash', args: ['-l', '-c', 'cat; echo over'] }]);
    await sandbox.commands.sendStdin(command.pid, 'one\n');
    await command.sendStdin('two\n');
    await sandbox.commands.closeStdin(command.pid);
    expect((await command.wait()).stdout).toBe('one\ntwo\nover\n');
    const another = await sandbox.commands.run('cat', { background: true, stdin: true });
    await another.closeStdin();
    expect((await another.wait()).exitCode).toBe(0);
    expect(await sandbox.commands.list()).toEqual([]);
    await expect(sandbox.commands.sendStdin(command.pid, 'x')).rejects.toThrow(/not_found/);
  });

  it('is killed by handle and by pid', async () => {
    const one = await sandbox.commands.run('sleep 100', { background: true });
    expect(await one.kill()).toBe(true);
    await expect(one.wait()).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' });
    const two = await sandbox.commands.run('sleep 100', { background: true });
    expect(await sandbox.commands.kill(two.pid)).toBe(true);
    await expect(two.wait()).rejects.toThrow(CommandExitError);
    expect(await sandbox.commands.kill(two.pid)).toBe(false);
  });

  it('goes on when its caller leaves, and others connect to it', async () => {
    const command = await sandbox.commands.run('for i in $(seq 100); do echo $i; sleep 0.05; done', { background: true, timeoutMs: 0 });
    await command.disconnect();
    const seen: string[] = [];
    const again = await sandbox.commands.connect(command.pid, { onStdout: (text) => void seen.push(text) });
    expect(again.pid).toBe(command.pid);
    const { exitCode } = await again.wait();
    expect(exitCode).toBe(0);
    expect(seen.join('')).toMatch(/99\n100\n$/);
    await expect(sandbox.commands.connect(command.pid)).rejects.toThrow(/not_found/);
  });

  it('ends with its sandbox', async () => {
    const other = await Sandbox.create();
    const command = await other.commands.run('sleep 100', { background: true });
    const ended = command.wait().catch((error: unknown) => error);
    await other.kill();
    expect(await ended).toBeInstanceOf(Error);
    await expect(other.commands.run('true')).rejects.toThrow(SandboxNotFoundError);
  });
});

describe('a terminal', () => {
  it('is made, typed into, resized, joined and killed', async () => {
    let screen = '';
    const decoder = new TextDecoder();
    const onData = (bytes: Uint8Array): void => {
      screen += decoder.decode(bytes);
    };
    const type = (text: string): Promise<void> => sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode(text));
    const terminal = await sandbox.pty.create({ cols: 90, rows: 20, onData });
    await type('stty size; echo $TERM\n');
    await expect.poll(() => screen).toMatch(/20 90\r\nxterm-256color/);
    await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 40 });
    await type('stty size\n');
    await expect.poll(() => screen).toContain('40 120');
    let second = '';
    const joined = await sandbox.pty.connect(terminal.pid, {
      onData(bytes) {
        second += decoder.decode(bytes);
      },
    });
    await type('echo for $((40 + 2)) both\n');
    await expect.poll(() => second).toContain('for 42 both');
    await joined.disconnect();
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true);
    await expect(terminal.wait()).rejects.toThrow(CommandExitError);
    expect(await sandbox.pty.kill(terminal.pid)).toBe(false);
  });
});

describe('git', () => {
  const path = '/home/user/repository';

  it('keeps a history', async () => {
    await sandbox.git.init(path, { initialBranch: 'main' });
    await sandbox.git.configureUser('Agent', 'agent@example.com', { scope: 'local', path });
    await sandbox.git.setConfig('pull.rebase', 'false', { scope: 'local', path });
    expect(await sandbox.git.getConfig('user.name', { scope: 'local', path })).toBe('Agent');
    await sandbox.files.write('repository/a.txt', 'a');
    await sandbox.git.add(path);
    await sandbox.git.commit(path, 'first');
    expect(await sandbox.git.status(path)).toMatchObject({ currentBranch: 'main', isClean: true });
    await sandbox.files.write('repository/a.txt', 'changed');
    await sandbox.git.restore(path, { paths: ['a.txt'] });
    expect(await sandbox.files.read('repository/a.txt')).toBe('a');
    await sandbox.files.write('repository/a.txt', 'changed again');
    await sandbox.git.reset(path, { mode: 'hard' });
    expect(await sandbox.files.read('repository/a.txt')).toBe('a');
  });

  it('has branches and remotes', async () => {
    await sandbox.git.createBranch(path, 'feature');
    await sandbox.git.checkoutBranch(path, 'main');
    expect((await sandbox.git.branches(path)).branches).toEqual(['feature', 'main']);
    await sandbox.git.deleteBranch(path, 'feature');
    await sandbox.commands.run('git init --bare --initial-branch=main /home/user/bare.git');
    await sandbox.git.remoteAdd(path, 'origin', '/home/user/bare.git');
    expect(await sandbox.git.remoteGet(path, 'origin')).toBe('/home/user/bare.git');
    await sandbox.git.push(path, { remote: 'origin', branch: 'main' });
    await sandbox.git.clone('/home/user/bare.git', { path: '/home/user/clone' });
    await sandbox.git.pull('/home/user/clone');
    expect(await sandbox.files.read('clone/a.txt')).toBe('a');
  });
});
