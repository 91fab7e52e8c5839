/** Skills that are instructions only, as prompts: the text to follow, and what to do with it. */

import type { SkillSummary } from '@skillbox/protocol';
import { toolNameOfSkill } from '../../skills/tool-name.ts';
import { type Ask, may } from './ask.ts';
import { findSkill } from './find-skill.ts';
import { invalidParams, isObject, type Params } from './rpc.ts';

export const describePrompt = ({ name, description }: SkillSummary) => ({
  name: toolNameOfSkill(name),
  title: name,
  description,
  arguments: [{ name: 'task', description: 'What to do, following these instructions', required: false }],
});

export async function getPrompt(ask: Ask, { name, arguments: args = {} }: Params) {
  if (typeof name !== 'string') throw invalidParams('name must be a text.');
  if (!isObject(args)) throw invalidParams('arguments must be an object.');
  const { task = '' } = args;
  if (typeof task !== 'string') throw invalidParams('task must be a text.');
  const skill = may(ask.caller, 'skills:read') ? await findSkill(ask, name) : undefined;
  if (skill?.definition.mode !== 'cognitive') throw invalidParams(`There is no prompt ${name}.`, { name });
  const { definition, instructions } = skill;
  const text = task === '' ? instructions : `${instructions}\n\n${task}`;
  return { description: definition.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}
