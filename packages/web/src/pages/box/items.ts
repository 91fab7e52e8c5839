/** Everything that is declared, as one list: what it is, how it is, and what it needs. */

import type { Attention, RenderedGraph, RuntimeStatus } from '@skillbox/sdk';
import type { Tone } from '../../parts/badge.tsx';

export type Section = 'repos' | 'artifacts' | 'env_files' | 'skills' | 'tasks' | 'services' | 'logs' | 'checks' | 'bridges';

export interface Item {
  /** Section and id: `services/web`. */
  readonly key: string;
  readonly section: Section;
  readonly id: string;
  readonly state: string;
  readonly tone: Tone;
  /** Why it is not well, or where it lies. */
  readonly detail: string | null;
  readonly client: string | null;
  readonly notes: string | null;
}

export const sections: readonly Section[] = [
  ...(['services', 'tasks', 'repos', 'artifacts', 'env_files', 'skills', 'checks', 'bridges', 'logs'] as const),
];

/** One of them. */
export const titles: Readonly<Record<Section, string>> = {
  repos: 'repo',
  artifacts: 'artifact',
  env_files: 'env file',
  skills: 'skills',
  tasks: 'task',
  services: 'service',
  logs: 'log',
  checks: 'check',
  bridges: 'bridge',
};

const tones: Readonly<Record<string, Tone>> = {
  ...{ running: 'good', ok: 'good', ready: 'good', present: 'good', fresh: 'good' },
  starting: 'busy',
  ...{ down: 'bad', missing: 'bad', fail: 'bad', blocked: 'bad', invalid: 'bad', 'source-missing': 'bad' },
  ...{ stale: 'warn', dirty: 'warn', behind: 'warn', pending: 'warn', unknown: 'warn' },
};
export const toneOfState = (state: string): Tone => tones[state] ?? 'plain';

export function itemsOf(status: RuntimeStatus): Item[] {
  return sections.flatMap((section) =>
    status[section].map((each) => {
      const { id, state, client, notes } = each;
      const { detail, path } = each as { detail?: string | null; path?: string };
      return { key: `${section}/${id}`, section, id, state, tone: toneOfState(state), detail: detail ?? path ?? null, client, notes };
    }),
  );
}

/** What each item needs, by key; only what is there. */
export function needsOf(status: RuntimeStatus, rendered: RenderedGraph | undefined): Map<string, readonly string[]> {
  const known = new Set(itemsOf(status).map(({ key }) => key));
  const needs = new Map<string, Set<string>>();
  const add = (from: string, section: Section, ids: readonly string[]): void => {
    const all = needs.get(from) ?? new Set();
    for (const id of ids) if (known.has(`${section}/${id}`) && `${section}/${id}` !== from) all.add(`${section}/${id}`);
    needs.set(from, all);
  };
  for (const { id, depends_on } of status.services) add(`services/${id}`, 'services', depends_on);
  for (const { id, depends_on } of status.tasks) add(`tasks/${id}`, 'tasks', depends_on);
  for (const { id, repo } of status.env_files) add(`env_files/${id}`, 'repos', namesIn(repo));
  for (const section of ['services', 'tasks'] as const)
    for (const [id, declared] of declaredIn(rendered, section)) {
      if (!known.has(`${section}/${id}`)) continue;
      add(`${section}/${id}`, 'repos', namesIn(declared.repo));
      add(`${section}/${id}`, 'artifacts', namesIn(declared.artifact));
      add(`${section}/${id}`, 'tasks', namesIn(declared.bootstrap_tasks));
      add(`${section}/${id}`, 'env_files', namesIn(declared.env_files));
    }
  return new Map([...needs].map(([key, all]) => [key, [...all]]));
}

/** Items of a section of the rendered graph, by id. */
export function declaredIn(rendered: RenderedGraph | undefined, section: Section): [string, Record<string, unknown>][] {
  const items = rendered?.graph[section];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => {
    const { id } = (item ?? {}) as { id?: unknown };
    return typeof id === 'string' ? [[id, item as Record<string, unknown>] as [string, Record<string, unknown>]] : [];
  });
}

const namesIn = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((name): name is string => typeof name === 'string');

/** What of the attention list is about an item, whether it says service:web or services:web. */
export const attentionTo = (attention: readonly Attention[], { section, id }: Item): Attention[] =>
  attention.filter(({ subject }) => {
    const [kind = '', ...rest] = subject.split(':');
    return rest.join(':') === id && [section, section.replace(/s$/, ''), titles[section]].includes(kind.replaceAll('-', '_'));
  });
