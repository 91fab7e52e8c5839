import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { leaves } from '../../cli/leaves.ts';
import { completionScript } from './completion-script.ts';

/** What bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const script = `${completionScript('bash', leaves)}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_skillbox
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script, 'bash', 'skillbox', ...words], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean);
}

describe('completion', () => {
  it('for bash is a valid script', () => {
    execFileSync('bash', ['-n', '-c', completionScript('bash', leaves)]);
  });

  it('offers commands, then their own', () => {
    expect(offered('')).toEqual([...new Set(leaves.map((leaf) => leaf.words.split(' ')[0]))]);
    expect(offered('sk')).toEqual(['skill']);
    expect(offered('skill', 's')).toEqual(['search', 'show']);
    expect(offered('-s', 'skill', 'exec', 'l')).toEqual(['list', 'logs']);
  });

  it('offers flags of the command, and the values of those that have a fixed set', () => {
    expect(offered('run', 'x', '--f')).toEqual(['--file', '--follow']);
    expect(offered('run', 'x', '--no')).toEqual(['--no-wait']);
    expect(offered('exec', 'list', '--status', 'f')).toEqual(['failed']);
    expect(offered('skill', 'init', 'x', '--lang', '')).toEqual(['python', 'node', 'bash']);
    expect(offered('-o', '')).toEqual(['json', 'table']);
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  it('leaves files to the shell', () => {
    expect(offered('skill', 'push', 'x')).toEqual([]);
    expect(offered('run', 'x', '--input', '')).toEqual([]);
  });

  it('for zsh and fish has every command and flag', () => {
    for (const shell of ['zsh', 'fish'] as const) {
      const script = completionScript(shell, leaves);
      for (const { words } of leaves) expect(script).toContain(`'${words}'`);
      expect(script).toContain(shell === 'zsh' ? "'--idempotency-key:" : '-l idempotency-key');
    }
  });
});
