/** Which environment variables a skill or a caller may set: the one place that decides. */

import { BoxError } from '@skillbox/protocol';

/** All names and values together; far below what the kernel takes, so that a start never fails for it. */
export const maxEnvBytes = 64 * 1024;

/** Why a name cannot be set, or undefined when it can. */
export function blockedEnvReason(name: string): string | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) {
    return 'is not a variable name (letters, digits and underscores, not starting with a digit, up to 128)';
  }
  const prefix = blockedPrefixes.find((start) => name.startsWith(start));
  if (prefix) return `is reserved: every name that starts with ${prefix} belongs to the sandbox`;
  if (blockedNames.has(name)) return 'is reserved: it changes how the interpreter itself starts';
  return undefined;
}

/** Why a variable cannot be passed on, or undefined when it can. */
export function envProblem(name: string, value: string): string | undefined {
  const reason = blockedEnvReason(name);
  if (reason) return `The environment variable ${JSON.stringify(name)} ${reason}.`;
  if (value.includes('\0')) return `The value of the environment variable ${name} has a NUL byte in it.`;
  return undefined;
}

/** Throws invalid_env for the first variable that cannot be set. Values are never part of the message: they may be secret. */
export function checkEnv(env: Readonly<Record<string, string>>): void {
  let bytes = 0;
  for (const [name, value] of Object.entries(env)) {
    const problem = envProblem(name, value);
    if (problem) throw new BoxError('invalid_env', problem, { details: { name } });
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
  }
  if (bytes > maxEnvBytes) {
    throw new BoxError('invalid_env', `The environment has ${bytes} bytes; at most ${maxEnvBytes} are allowed.`, {
      hint: 'Pass large data as input or as input files.',
    });
  }
}

const blockedPrefixes = ['LD_', 'SANDBOX_', 'SKILL_'];

/** Each of these makes an interpreter or the C library load or run something before the skill's first line. */
const blockedNames = new Set([
  'PATH',
  'HOME',
  'ENV',
  'BASH_ENV',
  'BASHOPTS',
  'SHELLOPTS',
  'IFS',
  'PS4',
  'PYTHONPATH',
  'PYTHONHOME',
  'PYTHONSTARTUP',
  'PYTHONUSERBASE',
  'PYTHONBREAKPOINT',
  'PYTHONINSPECT',
  'PYTHONPLATLIBDIR',
  'NODE_PATH',
  'NODE_OPTIONS',
  'NODE_REPL_EXTERNAL_MODULE',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
]);
