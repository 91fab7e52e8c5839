/** skillbox template apply and validate: a template is written in a file, with its name. */

import { readFileSync } from 'node:fs';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { templateFields, templatePattern, templateProblems } from '../sandbox/template-definition.ts';
import { commandNamed } from './call.ts';
import type { CliContext, Outcome } from './leaf.ts';

const file = z.string().describe('YAML or JSON file with name and what docs/templates.md lists');
const input = z.object({ file, dry_run: z.boolean().default(false).describe('Only check the file') });
const document = z.strictObject({
  name: z.string().regex(templatePattern, 'lower-case letters, digits and dashes, up to 63'),
  ...templateFields,
});

export const applyTemplatePolish = {
  input,
  async run(context: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { file: path, dry_run } = input.parse(given);
    if (dry_run) return validateTemplate(context, path);
    const definition = await readTemplate(path);
    const { body, text } = await (await context.client()).call(commandNamed('template.apply'), definition);
    const { name, version } = body as { name: string; version: number };
    return { value: body, raw: text, text: `Applied ${name}@${version}.` };
  },
};

export async function validateTemplate({ io }: Pick<CliContext, 'io'>, path: string): Promise<Outcome> {
  const { name } = await readTemplate(path);
  return { value: { name, valid: true }, text: `${io.paint('green', '✓')} ${path} is a good template: ${String(name)}` };
}

/** As written: the box parses sizes and times itself. */
async function readTemplate(path: string): Promise<Record<string, unknown>> {
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new BoxError('usage', `${path} cannot be read: ${(cause as Error).message}`, {
      cause,
      hint: 'Name a YAML file with a template in it.',
    });
  }
  const parsed = document.safeParse(value);
  const problems = parsed.success ? templateProblems(withoutName(parsed.data)) : parsed.error.issues;
  if (problems.length === 0) return value as Record<string, unknown>;
  const lines = problems.map((problem) => `${problem.path.join('.') || 'the file'}: ${problem.message}`);
  throw new BoxError('invalid_template', `${path} is not a template:\n${lines.join('\n')}`, { hint: 'docs/templates.md lists every key.' });
}

function withoutName({ name: _name, ...definition }: z.output<typeof document>) {
  return definition;
}
