/** From the flags of `run` to the request: JSON from anywhere, files, variables. */

import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { BoxError, inputFilePath } from '@skillbox/protocol';
import { parseJson } from '../json.ts';

export interface RunFlags {
  readonly skill: string;
  readonly version: string;
  readonly input?: string | undefined;
  readonly file: readonly string[];
  readonly env: readonly string[];
  readonly timeout?: string | undefined;
}

export async function requestFrom({ skill, version, input, file, env, timeout }: RunFlags): Promise<Record<string, unknown>> {
  return {
    skill,
    version,
    ...(input !== undefined && { input: await readInput(input) }),
    ...(env.length > 0 && { env: variables(env) }),
    ...(file.length > 0 && { files: inputFiles(file) }),
    ...(timeout !== undefined && { timeout: /^[\d.]+$/.test(timeout) ? Number(timeout) : timeout }),
  };
}

async function readInput(text: string): Promise<unknown> {
  if (text === '-') return parsed(await readStdin(), 'stdin');
  if (text.startsWith('@')) return parsed(readInputFile(text.slice(1)).toString('utf8'), text.slice(1));
  return parsed(text, '--input');
}

function parsed(text: string, from: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new BoxError('usage', `${from} is not JSON: ${(cause as Error).message}`, {
      cause,
      hint: `Write --input '{"key":"value"}' in single quotes, or name a file: --input @FILE.`,
    });
  }
}

async function readStdin(): Promise<string> {
  if (process.stdin.isTTY)
    throw new BoxError('usage', '--input - reads stdin, and nothing is piped into it.', {
      hint: 'Pipe JSON into it, or use --input @FILE.',
    });
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function variables(pairs: readonly string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new BoxError('usage', `--env: expected K=V, not ${JSON.stringify(pair)}.`, { hint: 'Write --env NAME=value.' });
    env[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return env;
}

function inputFiles(items: readonly string[]): Record<string, string> {
  const files: Record<string, string> = {};
  for (const item of items) {
    const [name, path] = nameAndPath(item);
    if (!inputFilePath.safeParse(name).success) {
      throw new BoxError('usage', `--file: ${JSON.stringify(name)} is not a name a skill can have.`, {
        hint: 'Use a relative path without . and .. parts, as NAME=PATH.',
      });
    }
    if (Object.hasOwn(files, name)) {
      throw new BoxError('usage', `--file: two files are called ${name}.`, { hint: 'Give one another name: --file NAME=PATH.' });
    }
    files[name] = readInputFile(path).toString('base64');
  }
  return files;
}

/** A path may have = in it: what exists as a whole is a path. */
function nameAndPath(item: string): readonly [name: string, path: string] {
  const at = item.indexOf('=');
  const whole = at < 1 || statSync(item, { throwIfNoEntry: false }) !== undefined;
  return whole ? [basename(item), item] : [item.slice(0, at), item.slice(at + 1)];
}

function readInputFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new BoxError('usage', `${path} cannot be read: ${reasonOf(cause as NodeJS.ErrnoException)}.`, { cause, hint: 'Check the path.' });
  }
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  const reasons: Record<string, string> = {
    ENOENT: 'there is no such file',
    EISDIR: 'it is a folder',
    EACCES: 'it may not be read by this user',
  };
  return reasons[code ?? ''] ?? message;
}
