/** skillbox secret set: the value comes from stdin or a prompt, never from an argument, which other users of the machine could read. */

import { BoxError, type Secret, secretName, secretValue } from '@skillbox/protocol';
import { z } from 'zod';
import { commandNamed } from './call.ts';
import type { CliContext, Outcome } from './leaf.ts';

const input = z.object({ name: secretName });
/** More than any value: what is longer is the wrong file. */
const mostBytes = 64 * 1024;

export const setSecretPolish = {
  description: 'Reads the value from stdin, or asks for it without showing it. It is kept sealed, and nothing ever shows it again.',
  input,
  async run({ client, io }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { name } = input.parse(given);
    const value = process.stdin.isTTY ? await askHidden(`Value of ${name} (not shown): `) : await readStdin();
    const problem = secretValue.safeParse(value).error?.issues[0];
    if (problem)
      throw new BoxError('usage', `The value of ${name} cannot be kept: ${problem.message}.`, { hint: 'Give one line of text on stdin.' });
    const { body, text } = await (await client()).call(commandNamed('secret.set'), { name, value });
    const { created_at, updated_at } = body as Secret;
    return { value: body, raw: text, text: `${io.paint('green', '✓')} ${created_at === updated_at ? 'Kept' : 'Changed'} ${name}.` };
  },
};

/** Without the end of line that echo and editors add. */
async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes)
      throw new BoxError('too_large', 'A secret has at most 8192 characters.', { hint: 'Give one line of text on stdin.' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

/** Typed text is not echoed; Ctrl-C and Ctrl-D give up. */
function askHidden(prompt: string): Promise<string> {
  const { stdin, stderr } = process;
  // First quiet, then the question: what is typed at once must not show either.
  stdin.setRawMode(true);
  stderr.write(prompt);
  stdin.setEncoding('utf8');
  stdin.resume();
  return new Promise((resolve, reject) => {
    let typed = '';
    const end = (finish: () => void): void => {
      stdin.setRawMode(false);
      stdin.pause();
      stdin.off('data', take);
      stderr.write('\n');
      finish();
    };
    const take = (text: string): void => {
      for (const character of text) {
        const done = character === '\r' || character === '\n';
        const givenUp = character === '\x03' || character === '\x04';
        if (done || givenUp) {
          end(() => (done ? resolve(typed) : reject(new BoxError('usage', 'No value was given.'))));
          return;
        }
        typed = character === '\x7f' || character === '\b' ? typed.slice(0, -1) : typed + character;
      }
    };
    stdin.on('data', take);
  });
}
