/** skillbox doctor works even where the configuration does not: then it says so, and what the machine has and lacks. */

import { BoxError } from '@skillbox/protocol';
import { commandNamed } from './call.ts';
import type { CliContext, Outcome } from './leaf.ts';
import { ownCall } from './own-call.ts';
import { viewOf } from './views.ts';

const command = commandNamed('doctor');

export const doctorPolish = { input: command.input, run };

async function run(context: CliContext, input: Record<string, unknown>): Promise<Outcome> {
  try {
    context.config();
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    const [{ examine }, { examination, ofMachine }] = await Promise.all([import('../doctor.ts'), import('../graph/doctor.ts')]);
    context.io.progress.show('Looking at this machine');
    const found = examination((await examine(context.config)).map(ofMachine));
    context.io.progress.clear();
    return { value: found, text: viewOf('doctor', found, context.io), ...(command.own && { exit: command.own.exit(found) }) };
  }
  return ownCall(context, command, input);
}
