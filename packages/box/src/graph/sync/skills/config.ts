/** skill-repos.yaml: which skills of which repositories agents get. */

import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { BoxError } from '@skillbox/protocol';
import { z } from 'zod';
import { wholeYaml } from '../../../manifest/yaml.ts';
import type { SkillSet } from '../../graph.ts';
import { readAt } from '../../place.ts';

export type SkillSource = { readonly pick: readonly string[] | undefined } & (
  | { readonly kind: 'git'; readonly repo: string; readonly ref: string; readonly urls: readonly string[] }
  | { readonly kind: 'path'; readonly declared: string; readonly path: string }
);

export interface SkillConfig {
  readonly sources: readonly SkillSource[];
  /** SHA-256 of the file. */
  readonly sha: string;
}

export const skillNamePattern = /^[A-Za-z0-9][\w.-]{0,99}$/;
const maxBytes = 256 * 1024;

const pick = z.array(z.string().regex(skillNamePattern, 'expected names of skills')).min(1).max(500).optional();
const entry = z.union([
  z.strictObject({ repo: z.string().min(1).max(2000), ref: z.string().min(1).max(250), pick }),
  z.strictObject({ path: z.string().min(1).max(2000), pick }),
]);
const schema = z.strictObject({ version: z.literal(2), skill_repos: z.array(z.unknown()).max(500) });

/** Throws SKILL_CONFIG_INVALID. */
export function loadSkillConfig({ config }: SkillSet): SkillConfig {
  const refuse = (why: string, hint?: string): BoxError =>
    new BoxError('SKILL_CONFIG_INVALID', `${config.path}: ${why}`, hint === undefined ? {} : { hint });
  // It says what the host fetches with its keys, and which folders of the host are copied inside.
  if (config.inside)
    throw refuse('it lies where the workspace can write.', 'Keep it beside skillbox.yaml, or beside the overlay of the client.');
  const text = readAt(config, maxBytes);
  if (text === undefined) throw refuse('there is no such file.', `Write it, or correct skill_repos_config: ${config.hostPath}`);
  let value: unknown;
  try {
    value = wholeYaml().parse(text.toString('utf8'), { maxAliasCount: 20 });
  } catch (error) {
    throw refuse(`it is no YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  const whole = schema.safeParse(value);
  if (!whole.success) throw refuse(`expected version: 2 and skill_repos: a list (${told(whole.error)}).`);
  const sources = whole.data.skill_repos.map((given, index) => {
    const named = typeof given === 'object' && given !== null ? ['repo', 'path'].filter((key) => key in given) : [];
    if (named.length !== 1) throw refuse(`entry ${index + 1} needs exactly one of repo and path.`);
    if (named[0] === 'repo' && !('ref' in (given as object)))
      throw refuse(`entry ${index + 1} needs ref: the branch, tag or commit of repo.`);
    const parsed = entry.safeParse(given);
    if (!parsed.success) throw refuse(`entry ${index + 1}: ${told(parsed.error)}.`);
    const { data } = parsed;
    if ('path' in data)
      return { kind: 'path' as const, declared: data.path, path: resolve(dirname(config.hostPath), data.path), pick: data.pick };
    return { kind: 'git' as const, repo: data.repo, ref: data.ref, urls: urlsOf(data.repo), pick: data.pick };
  });
  const picked = sources.flatMap((source) => source.pick ?? []);
  const twice = picked.find((name, index) => picked.indexOf(name) !== index);
  if (twice !== undefined) throw refuse(`two entries pick ${twice}.`);
  return { sources, sha: createHash('sha256').update(text).digest('hex') };
}

/** owner/name is one of GitHub: HTTPS first, since it needs no key for what is public. */
function urlsOf(repo: string): string[] {
  const [, owner, name] = /^([\w-][\w.-]*)\/([\w.-]+?)(?:\.git)?$/.exec(repo) ?? [];
  if (!owner || !name) return [repo];
  return [`https://github.com/${owner}/${name}.git`, `git@github.com:${owner}/${name}.git`];
}

function told(error: z.ZodError): string {
  const found = error.issues.flatMap((issue) => (issue.code === 'invalid_union' ? (issue.errors[0] ?? [issue]) : [issue]));
  return found.map(({ message, path }) => `${path.join('.')}${path.length > 0 ? ': ' : ''}${message}`).join('; ');
}
