/**
 * Names of tools: valid for every client (letters, digits, _ and -, at most 64), stable, and never the same for two things. A skill is
 * skill_<name>. One whose name has a dot or is too long for that has each dot as _, is cut, and ends with _ and twelve digits of the hash
 * of its whole name; a name that looks like that already gets such an end too, so that no name can be made to meet another.
 */

import { createHash } from 'node:crypto';

const prefix = 'skill_';
const longest = 64;
const plain = /^[a-zA-Z0-9_-]+$/;
const hashed = /_[0-9a-f]{12}$/;

export function toolNameOfSkill(name: string): string {
  if (plain.test(name) && prefix.length + name.length <= longest && !hashed.test(name)) return prefix + name;
  const end = `_${createHash('sha256').update(name).digest('hex').slice(0, 12)}`;
  return (prefix + name.replaceAll('.', '_')).slice(0, longest - end.length) + end;
}

/** undefined for what is no skill's; `name` is missing where only the hash of it is known. */
export function skillOfToolName(tool: string): { readonly name: string | undefined } | undefined {
  if (!tool.startsWith(prefix) || tool.length > longest || !plain.test(tool)) return undefined;
  const name = tool.slice(prefix.length);
  if (name === '') return undefined;
  return { name: hashed.test(name) ? undefined : name };
}
