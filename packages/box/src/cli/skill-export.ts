/** skillbox skill export: skills as tools in the words of other libraries, ready to be handed to a model. */

import { BoxError, type Page, type SkillDetail, type SkillSummary } from '@skillbox/protocol';
import { z } from 'zod';
import { toolNameOfSkill } from '../skills/tool-name.ts';
import { toolInput } from '../skills/tool-schema.ts';
import { commandNamed } from './call.ts';
import type { Client } from './client.ts';
import type { CliContext, Leaf, Outcome } from './leaf.ts';

const formats = ['openai', 'openai-chat', 'anthropic', 'langchain', 'mcp'] as const;
type Format = (typeof formats)[number];

const input = z.object({
  name: z.string().optional().describe('One skill; without it all that have a program'),
  format: z.enum(formats).describe('openai: for Responses; openai-chat: for Chat Completions'),
});

export const exportLeaf: Leaf = {
  name: 'skill.export',
  words: 'skill export',
  summary: 'Write skills as tools for another library',
  description:
    'A list of tools as JSON, each made from the name, description and input schema of a skill in its latest version. Whoever gets a call of one runs the skill with its arguments.',
  examples: ['skillbox skill export --format openai', 'skillbox skill export data-analysis --format anthropic'],
  input,
  args: ['name?'],
  remote: true,
  async run({ client }: CliContext, given: Record<string, unknown>): Promise<Outcome> {
    const { name, format } = input.parse(given);
    const box = await client();
    const names = name === undefined ? await runnable(box) : [name];
    const tools: unknown[] = [];
    for (const one of names) {
      const { body } = await box.call(commandNamed('skill.show'), { name: one, version: 'latest' });
      const skill = body as SkillDetail;
      if (skill.mode !== 'executable') throw new BoxError('usage', `${one} has no program: it is instructions to read.`);
      tools.push(asTool(skill, format));
    }
    return { value: tools, text: JSON.stringify(tools, undefined, 2) };
  },
};

async function runnable(box: Client): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const { body } = await box.call(commandNamed('skill.list'), { limit: 500, ...(cursor !== undefined && { cursor }) });
    const { items, next_cursor } = body as Page<SkillSummary>;
    names.push(...items.filter(({ mode }) => mode === 'executable').map(({ name }) => name));
    cursor = next_cursor ?? undefined;
  }
  return names;
}

export function asTool({ name: skill, version, description, input_schema, output_schema }: SkillDetail, format: Format): unknown {
  const { schema } = toolInput(input_schema);
  const name = toolNameOfSkill(skill);
  // Not strict: that would allow only some of what a schema can say.
  const plain = { name, description, parameters: schema, strict: false };
  switch (format) {
    case 'openai':
      return { type: 'function', ...plain };
    case 'openai-chat':
      return { type: 'function', function: plain };
    case 'anthropic':
      return { name, description, input_schema: schema };
    case 'langchain':
      return {
        name: `skillbox_${name.slice('skill_'.length).replaceAll('-', '_')}`,
        description,
        args_schema: schema,
        metadata: { skill, version },
      };
    case 'mcp':
      return { name, title: skill, description, inputSchema: schema, ...(output_schema && { outputSchema: output_schema }) };
  }
}
