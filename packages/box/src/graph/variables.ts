/** `${NAME}`: what it stands for, and where it may stand. Secrets are values of env only, and are never shown. */

import { type Config, settings } from '../config.ts';
import { nearestName } from '../suggest.ts';
import type { Origin } from './graph.ts';
import { hostVariable, type PathMap } from './paths.ts';
import { holdsPassword, secretWords } from './secret-looks.ts';

/** Who reads the text: a person or the box (workspace paths), a program on the host, or one in a sandbox. */
export type Reader = 'workspace' | 'host';

export interface Filled {
  readonly text: string;
  /** The same with secrets left as placeholders. */
  readonly shown: string;
  readonly faults: readonly PlaceholderFault[];
}

export interface PlaceholderFault {
  readonly code: 'graph.unknown_placeholder' | 'graph.secret_misplaced';
  readonly message: string;
  readonly fix: string | undefined;
}

export interface FillOptions {
  readonly reader: Reader;
  /** Whether secrets may stand here. */
  readonly secrets?: boolean;
  /** Names that are left to the shell which reads the text. */
  readonly shell?: Readonly<Record<string, unknown>>;
}

export interface Variables {
  fill(text: string, options: FillOptions): Filled;
  /** Those that were used, and those of paths; without secrets. */
  shown(): Record<string, string>;
  origins(): [name: string, Origin][];
}

/** Escaped with one more $: $${NAME} stays ${NAME}. Other forms, such as ${name} and ${NAME:-x}, belong to the shell. */
const placeholder = /(\$?)\$\{([A-Z][A-Z0-9_]*)\}/g;

/** With any KEY, unlike elsewhere: one that is taken for a secret must only move to env, one that is not is shown to everybody. */
const secretName = new RegExp(`${secretWords}|key`, 'i');
export const looksSecret = (name: string): boolean => secretName.test(name);

/** What a shell knows better than the box: where the program runs they mean something else. */
const ofTheShell = new Set(['HOME', 'PATH', 'PWD', 'OLDPWD', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'HOSTNAME', 'UID', 'RANDOM']);

/** Of the box itself; no program of the graph gets them. */
const ofTheBox: ReadonlySet<string> = new Set(
  Object.values(settings)
    .filter(({ secret }) => secret)
    .map(({ env }) => env),
);

interface Known {
  /** By who reads it. */
  readonly values: Readonly<Record<Reader, string>>;
  readonly origin: Origin;
  readonly secret: boolean;
}

export interface VariableFacts {
  readonly name: string;
  readonly ports: Readonly<Record<string, number>>;
  readonly client?: string | undefined;
  /** Where a value of the manifest stands; undefined when it is not there. */
  origin(path: readonly string[]): Origin | undefined;
}

export function createVariables(config: Config, paths: PathMap, facts: VariableFacts): Variables {
  const known = ownVariables(config, paths, facts);
  const used = new Set(known.keys());
  const find = (name: string): Known | undefined => {
    const own = known.get(name);
    if (own) return own;
    const found = config.placeholder(name);
    if (!found) return undefined;
    const { value, file, line } = found;
    const made = {
      values: { workspace: value, host: value },
      origin: { file: file ?? 'environment', line },
      secret: looksSecret(name) || holdsPassword(value),
    };
    known.set(name, made);
    return made;
  };

  const fill: Variables['fill'] = (text, { reader, secrets = false, shell }) => {
    if (!text.includes('${')) return { text, shown: text, faults: [] };
    const faults: PlaceholderFault[] = [];
    const replaced = (show: boolean): string =>
      text.replace(placeholder, (whole, escaped: string, name: string) => {
        if (escaped) return whole.slice(1);
        if (shell && (ofTheShell.has(name) || Object.hasOwn(shell, name))) return whole;
        const fault = show ? undefined : faultOf(name, secrets);
        if (fault) faults.push(fault);
        const variable = ofTheBox.has(name) ? undefined : find(name);
        if (!variable) return whole;
        used.add(name);
        return show && variable.secret ? whole : variable.values[reader];
      });
    return { text: replaced(false), shown: replaced(true), faults };
  };

  const faultOf = (name: string, secrets: boolean): PlaceholderFault | undefined => {
    if (ofTheBox.has(name))
      return {
        code: 'graph.secret_misplaced',
        message: `\${${name}} is a secret of the box itself`,
        fix: 'Remove it: no program of the graph gets it.',
      };
    const variable = find(name);
    if (variable?.secret && !secrets)
      return { code: 'graph.secret_misplaced', message: `\${${name}} is a secret and stands outside of env`, fix: undefined };
    if (variable) return undefined;
    const meant = nearestName(name, [...known.keys(), ...config.placeholderNames()]);
    return {
      code: 'graph.unknown_placeholder',
      message: `nobody says what \${${name}} stands for`,
      fix: meant ? `Did you mean \${${meant}}?` : `Write a line ${name}=… into .env beside the manifest.`,
    };
  };

  const listed = () =>
    [...used].sort().flatMap((name) => {
      const variable = known.get(name);
      return variable && !variable.secret ? [[name, variable] as const] : [];
    });
  return {
    fill,
    shown: () => Object.fromEntries(listed().map(([name, { values }]) => [name, values.workspace])),
    origins: () => listed().map(([name, { origin }]) => [name, origin]),
  };
}

function ownVariables(config: Config, paths: PathMap, { name, ports, client, origin }: VariableFacts): Map<string, Known> {
  const known = new Map<string, Known>();
  const add = (variable: string, workspace: string, host = workspace, declared: readonly string[] = []): void => {
    const given = config.placeholder(variable);
    const from: Origin | undefined = given?.value ? { file: given.file ?? 'environment', line: given.line } : origin(declared);
    known.set(variable, { values: { workspace, host }, origin: from ?? { file: 'default', line: 0 }, secret: false });
  };
  add('SKILLBOX_NAME', name, name, ['name']);
  add('SKILLBOX_STATE_ROOT', config.stateRoot);
  add('SKILLBOX_API_PORT', String(config.port));
  for (const [port, number] of Object.entries(ports)) {
    const variable = `SKILLBOX_${port.replaceAll('-', '_').toUpperCase()}_PORT`;
    const value = config.placeholder(variable)?.value || String(number);
    add(variable, value, value, ['workspace', 'ports', port]);
  }
  for (const { variable, path, hostPath } of paths.mounts) {
    if (variable === undefined) continue;
    // A program on the host finds the folder where it lies on the host.
    add(variable, path, hostPath, ['workspace', 'paths', variable.replace(/^SKILLBOX_/, '').toLowerCase()]);
    add(hostVariable(variable), hostPath);
  }
  if (client !== undefined) add('CLIENT_ID', client);
  return known;
}
