/** A command done for a caller, whatever face it came by: run, and told in the audit if it is an administrative act. */

import type { Command, CommandContext } from '../commands/command.ts';

export async function perform(command: Command, context: CommandContext, input: unknown): Promise<unknown> {
  const result = await command.run(context, input as never);
  if (command.audited) await audit(context, command, input as Record<string, unknown>, result);
  return result;
}

async function audit(
  { box, caller, requestId }: CommandContext,
  command: Command,
  input: Record<string, unknown>,
  result: unknown,
): Promise<void> {
  const id = (result as { id?: string } | undefined)?.id ?? String(input.id ?? input.name ?? '');
  await box.events.append({
    tenant: caller.tenant,
    actor: caller.actor,
    subject: { type: command.name.split('.')[0] ?? '', id },
    type: `audit.${command.name}`,
    data: { request_id: requestId, input: recordable(command, input) },
  });
}

function recordable({ unrecorded = [] }: Command, input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([field]) => !unrecorded.includes(field)));
}
