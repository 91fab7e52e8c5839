/** The skill, in its latest version, that a tool or a prompt is named after. */

import { BoxError } from '@skillbox/protocol';
import type { Catalog, Skill } from '../../skills/catalog.ts';
import { skillOfToolName, toolNameOfSkill } from '../../skills/tool-name.ts';
import type { Ask } from './ask.ts';

export async function findSkill({ box: { catalog }, caller: { tenant } }: Ask, tool: string): Promise<Skill | undefined> {
  const named = skillOfToolName(tool);
  const name = named && (named.name ?? (await nameOfHashed(catalog, tenant, tool)));
  if (name === undefined) return undefined;
  try {
    return await catalog.resolve(tenant, name, 'latest');
  } catch (error) {
    if (error instanceof BoxError && error.code === 'skill_not_found') return undefined;
    throw error;
  }
}

async function nameOfHashed(catalog: Catalog, tenant: string, tool: string): Promise<string | undefined> {
  let cursor: string | undefined;
  do {
    const { items, next_cursor } = await catalog.list(tenant, { limit: 500, ...(cursor !== undefined && { cursor }) });
    const found = items.find(({ name }) => toolNameOfSkill(name) === tool);
    if (found) return found.name;
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
  return undefined;
}
