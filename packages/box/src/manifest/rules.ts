/** What a manifest that fits the schema can still get wrong. Each rule reports under one code. */

import { dirname, isAbsolute, normalize, sep } from 'node:path';
import { languages } from '@skillbox/protocol';
import { templateProblems } from '../sandbox/template-definition.ts';
import { workspaceName } from '../sandbox/workspace/template.ts';
import type { FindingCode, Path, Problem } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import { acceptableLayers } from './layers.ts';
import type { Manifest } from './schema.ts';

export interface RuleContext {
  readonly stateRoot: string;
  readonly maxConcurrentExecs: number;
  readonly files: HostFiles;
}

export interface Rule {
  readonly code: FindingCode;
  check(manifest: Manifest, context: RuleContext): Iterable<Violation>;
}

type Violation = Omit<Problem, 'code'>;

/** Host folders that no sandbox may see any part of, and those that are its own inside. */
const forbidden: Readonly<Record<string, string>> = {
  '/home': 'people keep their files there',
  '/root': 'people keep their files there',
  '/etc': 'it holds settings and secrets of the host',
  '/proc': 'it shows processes of the host',
  '/sys': 'it shows devices of the host',
  '/dev': 'it holds devices of the host',
  '/run': 'it holds sockets of the host',
  '/var': 'it holds data of services of the host',
  '/tmp': 'a sandbox has its own',
  '/sandbox': 'a sandbox has its own',
};

export const rules: readonly Rule[] = [
  {
    code: 'manifest.layer_required',
    *check({ sandbox }) {
      for (const [index, layer] of sandbox.accept_missing.entries()) {
        if (acceptableLayers.some((acceptable) => acceptable === layer)) continue;
        yield { path: ['sandbox', 'accept_missing', index], message: `no sandbox starts without ${layer}` };
      }
    },
  },
  {
    code: 'manifest.bad_path',
    *check(manifest) {
      for (const { path, text } of [...interpreters(manifest), ...extraPaths(manifest)]) {
        if (!isUsable(text)) yield { path, message: `${JSON.stringify(text)} is not an absolute path` };
      }
    },
  },
  {
    code: 'manifest.interpreter_missing',
    *check(manifest, { files }) {
      for (const { path, text } of interpreters(manifest).filter(usable)) {
        if (!files.isProgram(text)) yield { path, message: `${text} is not a program on this host` };
      }
    },
  },
  {
    code: 'manifest.interpreter_private',
    *check(manifest, context) {
      for (const { path, text } of interpreters(manifest).filter(usable)) {
        const reason = reasonToForbid(text, context) ?? reasonToForbid(installation(text, context), context);
        if (reason) yield { path, message: reason };
      }
    },
  },
  {
    code: 'manifest.path_forbidden',
    *check(manifest, context) {
      for (const { path, text } of extraPaths(manifest).filter(usable)) {
        const reason = reasonToForbid(text, context);
        if (reason) yield { path, message: reason };
      }
    },
  },
  {
    code: 'manifest.path_missing',
    *check(manifest, context) {
      for (const { path, text } of extraPaths(manifest).filter(usable)) {
        if (reasonToForbid(text, context) || context.files.realPath(text)) continue;
        yield { path, message: `there is nothing at ${text} on this host` };
      }
    },
  },
  {
    code: 'manifest.repeated_item',
    *check({ sandbox }) {
      for (const list of ['accept_missing', 'paths'] as const) {
        const seen = new Set<string>();
        for (const [index, item] of sandbox[list].entries()) {
          if (seen.has(item)) yield { path: ['sandbox', list, index], message: `${item} is named twice` };
          seen.add(item);
        }
      }
    },
  },
  {
    code: 'manifest.template_contradicts',
    *check({ templates, workspace }) {
      const { network, resources } = workspace;
      for (const { path, message } of templateProblems(
        { ...(network && { network }), ...(resources && { resources }) },
        { workspace: true },
      ))
        yield { path: ['workspace', ...path], message };
      if (Object.hasOwn(templates, workspaceName))
        yield { path: ['templates', workspaceName], message: 'the workspace is not replaced: what it may do is said under workspace' };
      for (const [name, { version: _version, ...definition }] of Object.entries(templates))
        for (const { path, message } of templateProblems(definition)) yield { path: ['templates', name, ...path], message };
    },
  },
  {
    code: 'manifest.image_missing',
    *check({ workspace: { image, provider } }) {
      if (provider === 'docker' && !image) yield { path: ['workspace', 'provider'], message: 'the workspace by docker has no image' };
    },
  },
  {
    code: 'manifest.slots_above_host',
    *check({ tenants }, { maxConcurrentExecs }) {
      for (const [name, { slots }] of Object.entries(tenants)) {
        if (slots === undefined || slots <= maxConcurrentExecs) continue;
        yield {
          path: ['tenants', name, 'slots'],
          message: `${name} has ${slots} slots, this host runs ${maxConcurrentExecs} executions at once`,
        };
      }
    },
  },
];

interface Located {
  readonly path: Path;
  readonly text: string;
}

function interpreters({ sandbox }: Manifest): Located[] {
  return languages.flatMap((language) => {
    const text = sandbox.interpreters[language];
    return text === undefined ? [] : [{ path: ['sandbox', 'interpreters', language], text }];
  });
}

function extraPaths({ sandbox }: Manifest): Located[] {
  return sandbox.paths.map((text, index) => ({ path: ['sandbox', 'paths', index], text }));
}

const usable = ({ text }: Located): boolean => isUsable(text);

function isUsable(text: string): boolean {
  return isAbsolute(text) && !text.includes('\0');
}

/** What a sandbox must see for the program to run: /opt/node of /opt/node/bin/node. */
function installation(program: string, { files }: RuleContext): string {
  const real = files.realPath(program) ?? normalize(program);
  const folder = dirname(dirname(real));
  return folder === '/' ? real : folder;
}

/** Checks the path as written and where its links lead; a folder above a forbidden one shows it as well. */
function reasonToForbid(text: string, { files, stateRoot }: RuleContext): string | undefined {
  const hidden: Record<string, string> = { ...forbidden };
  for (const root of [stateRoot, files.realPath(stateRoot) ?? stateRoot]) hidden[root] = 'the box keeps its state there';
  for (const home of files.homes) hidden[home] ??= 'people keep their files there';
  for (const place of new Set([normalize(text), files.realPath(text) ?? normalize(text)])) {
    const shown = place === normalize(text) ? text : `${text}, which leads to ${place},`;
    for (const [folder, reason] of Object.entries(hidden)) {
      if (isWithin(place, folder)) return `${shown} cannot be shown to sandboxes: ${folder} is closed, ${reason}`;
      if (isWithin(folder, place)) return `${shown} cannot be shown to sandboxes: it contains ${folder}, ${reason}`;
    }
  }
  return undefined;
}

function isWithin(path: string, folder: string): boolean {
  const base = folder.endsWith(sep) ? folder : folder + sep;
  return path === folder || path + sep === base || path.startsWith(base);
}
