/** Skills with dependencies, and how far their installing is. */

import type { SkillDependencies, SkillDetail } from '@skillbox/protocol';
import type { RequestOptions } from './box.ts';

interface Client {
  json<T>(path: string, options?: RequestOptions): Promise<{ status: number; body: T }>;
}

export function skillFiles(name: string, lang: 'python' | 'node', files: Record<string, string>, more = ''): Record<string, string> {
  const head = `---\nname: ${name}\ndescription: For tests.\nlang: ${lang}\n${more}\n---\nRun it.\n`;
  return { 'SKILL.md': head, ...files };
}

/** A Python program that answers with `value`. */
export const pythonAnswer = (code: string): string =>
  `import json, os, sys\n${code}\njson.dump(value, open(os.environ["SANDBOX_OUTPUT"], "w"))\n`;

export async function dependenciesOf(box: Client, name: string, options: RequestOptions = {}): Promise<SkillDependencies> {
  const { status, body } = await box.json<SkillDetail>(`/v1/skills/${name}/latest`, options);
  if (!body.dependencies) throw new Error(`${name} has no dependencies (${status})`);
  return body.dependencies;
}

/** Polls until they are there, or cannot be. */
export async function builtDependencies(
  box: Client,
  name: string,
  options: RequestOptions = {},
  withinMs = 100_000,
): Promise<SkillDependencies> {
  for (const end = Date.now() + withinMs; ; ) {
    const dependencies = await dependenciesOf(box, name, options);
    if (dependencies.state !== 'building') return dependencies;
    if (Date.now() > end) throw new Error(`the dependencies of ${name} are still being installed`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
