/** Whether a run may be served by a sandbox that was made ready before its job was known, and what that is made from. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { WarmRecipe } from '../sandbox/provider.ts';
import { baseEnv, type Plan, startEnv } from './plan.ts';

/** Variables that are read when an interpreter or its libraries start: one that has started could not obey them any more. */
const startVariables =
  /^(PYTHON|NODE_|LD_|MALLOC_|GLIBC_|LC_|BASH|UV_|OPENSSL_|SSL_)|^(LANG|LANGUAGE|TZ|IFS|SHELLOPTS|POSIXLY_CORRECT|ENV)$/;

/** Modules of the standard library whose import leaves no trace but themselves. */
const plainModules = new Set(
  `abc argparse array ast base64 bisect calendar codecs collections collections.abc contextlib copy csv dataclasses datetime decimal
  difflib enum errno fnmatch fractions functools glob gzip hashlib heapq hmac html io itertools json keyword math mimetypes numbers
  operator os os.path pathlib pprint queue random re secrets shutil sqlite3 stat statistics string struct subprocess sys tempfile
  textwrap threading time traceback types typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zipfile zlib`.split(
    /\s+/,
  ),
);

const importLine = /^(?:import[ \t]+([\w., \t]+)|from[ \t]+([\w.]+)[ \t]+import\b)/gm;

/** `dependencies` is the folder of its packages, if it has some. */
export function warmRecipe(plan: Plan, skillFolder: string, dependencies?: string): WarmRecipe | undefined {
  const { argv, env, lang, limits, skill } = plan;
  if (Object.keys(env).some((name) => startVariables.test(name))) return undefined;
  // The time limit counts from the job, so that it is no part of what stands ready.
  const shape = [skill.tenant, skill.name, skill.version, skill.digest, dependencies ?? null, argv, { ...limits, timeoutMs: 0 }];
  return {
    key: createHash('sha256').update(JSON.stringify(shape)).digest('base64url'),
    lang,
    env: { ...baseEnv, ...startEnv(skill) },
    // Absent in what was pushed before there was such a field.
    modules: skill.definition.preload ?? [],
    preload: lang === 'python' ? firstImports(skillFolder, skill.definition.entrypoint ?? '', dependencies) : [],
  };
}

const known = new Map<string, readonly string[]>();
const mostKnown = 1000;

/** Plain modules that the entrypoint imports at its outermost level. A module of the skill's own with the same name hides them. */
function firstImports(skillFolder: string, entrypoint: string, dependencies: string | undefined): readonly string[] {
  const path = join(skillFolder, entrypoint);
  const key = `${path} ${dependencies ?? ''}`;
  const found = known.get(key);
  if (found) return found;
  const text = readFileSync(path, 'utf8');
  const folders = [dirname(path), ...(dependencies === undefined ? [] : [dependencies])];
  const names = [...text.matchAll(importLine)]
    .flatMap(([, list, from]) => from ?? (list ?? '').split(','))
    .map((name) => name.trim().split(/\s/)[0] ?? '')
    .filter((name) => plainModules.has(name) && !folders.some((folder) => hides(folder, name.split('.')[0] ?? '')));
  const imports = [...new Set(names)];
  if (known.size >= mostKnown) known.clear();
  known.set(key, imports);
  return imports;
}

const hides = (folder: string, module: string): boolean => existsSync(join(folder, module)) || existsSync(join(folder, `${module}.py`));
