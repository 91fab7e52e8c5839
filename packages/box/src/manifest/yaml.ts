/** The whole library for YAML takes longer to load than most calls of the CLI take: it is there for who meets a text beyond plain YAML. */

import { createRequire } from 'node:module';

type Yaml = typeof import('yaml');

let loaded: Yaml | undefined;

export function wholeYaml(): Yaml {
  loaded ??= createRequire(import.meta.url)('yaml') as Yaml;
  return loaded;
}
