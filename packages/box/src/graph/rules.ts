/** What items that are good by themselves can still get wrong together. */

import { nearestName } from '../suggest.ts';
import { type Entries, type Entry, type Report, sectionNames } from './declared.ts';
import type { Item, Place } from './graph.ts';
import { everyLocal, isLocal } from './profiles.ts';

export interface RuleContext {
  readonly templates: ReadonlySet<string>;
  readonly report: Report;
}

/** Of services that the box makes itself. */
export const apiService = 'api';

export function checkEntries(entries: Entries, context: RuleContext): void {
  uniqueIds(entries, context);
  uniquePaths(entries, context);
  references(entries, context);
  cycles(entries.tasks, context);
  cycles(entries.services, context);
  templates(entries, context);
  subsets(entries, context);
}

function uniqueIds(entries: Entries, { report }: RuleContext): void {
  for (const section of Object.keys(sectionNames) as (keyof Entries)[]) {
    const seen = new Map<string, Entry>();
    for (const entry of entries[section]) {
      const { id } = entry.item;
      const path = [...entry.path, 'id'];
      const first = seen.get(id);
      if (first)
        report(entry.source, {
          code: 'graph.duplicate_id',
          path,
          message: `${sectionNames[section]} ${id} is declared twice, first in ${standsIn(first)}`,
        });
      else seen.set(id, entry);
      if (section === 'services' && id === apiService)
        report(entry.source, { code: 'graph.reserved_id', path, message: `${id} is the server of the box itself` });
    }
  }
}

const standsIn = ({ item: { origin } }: Entry): string => `${origin.file}:${origin.line}`;

/** Files among each other, folders of repos, folders of logs. */
function uniquePaths({ repos, artifacts, envFiles, logs }: Entries, { report }: RuleContext): void {
  for (const group of [repos, [...artifacts, ...envFiles], logs] as Entry<Item & { place: Place }>[][]) {
    const seen = new Map<string, Entry>();
    for (const entry of group) {
      const { hostPath, path } = entry.item.place;
      const first = seen.get(hostPath);
      if (first && first.item.id !== entry.item.id)
        report(entry.source, {
          code: 'graph.duplicate_path',
          path: [...entry.path, 'path'],
          message: `${path} is that of ${first.item.id} already, in ${standsIn(first)}`,
        });
      else seen.set(hostPath, entry);
    }
  }
}

function references(entries: Entries, { report }: RuleContext): void {
  const known = Object.fromEntries(
    (Object.keys(sectionNames) as (keyof Entries)[]).map((section) => [section, new Set(entries[section].map(({ item }) => item.id))]),
  ) as Record<keyof Entries, Set<string>>;
  known.services.add(apiService);
  const check = (entry: Entry, field: string, section: keyof Entries, named: string | undefined | readonly string[]): void => {
    const several = typeof named === 'object';
    const names = several ? named : named === undefined ? [] : [named];
    for (const [index, name] of names.entries()) {
      if (known[section].has(name)) continue;
      const meant = nearestName(name, known[section]);
      report(entry.source, {
        code: 'graph.unknown_reference',
        path: [...entry.path, field, ...(several ? [index] : [])],
        message: `${entry.item.id} names ${name}, which is not declared under ${sectionNames[section]}`,
        ...(meant !== undefined && { fix: `Did you mean ${meant}?` }),
      });
    }
  };
  for (const entry of entries.envFiles) check(entry, 'repo', 'repos', entry.item.repo);
  for (const entry of entries.bridges) check(entry, 'repo', 'repos', declaredRepo(entry));
  for (const entry of entries.tasks) {
    check(entry, 'repo', 'repos', entry.item.repo);
    check(entry, 'log', 'logs', entry.item.log);
    check(entry, 'depends_on', 'tasks', entry.item.dependsOn);
  }
  for (const entry of entries.services) {
    check(entry, 'repo', 'repos', entry.item.repo);
    check(entry, 'artifact', 'artifacts', entry.item.artifact);
    check(entry, 'log', 'logs', entry.item.log);
    check(entry, 'depends_on', 'services', entry.item.dependsOn);
    check(entry, 'bootstrap_tasks', 'tasks', entry.item.bootstrapTasks);
    check(entry, 'env_files', 'envFiles', entry.item.envFiles);
  }
}

/** A bridge of the graph has no repo any more: only its cwd. */
function declaredRepo({ source, path }: Entry): string | undefined {
  return source.sections.bridges[Number(path.at(-1))]?.repo;
}

/** Walks without recursion, since a chain may have thousands of links. Each circle is told once. */
function cycles(entries: readonly Entry<Item & { dependsOn: readonly string[] }>[], { report }: RuleContext): void {
  const byId = new Map(entries.map((entry) => [entry.item.id, entry]));
  const done = new Set<string>();
  for (const start of byId.keys()) {
    if (done.has(start)) continue;
    const trail: { id: string; next: number }[] = [{ id: start, next: 0 }];
    const onTrail = new Map([[start, 0]]);
    while (trail.length > 0) {
      const top = trail.at(-1) as { id: string; next: number };
      const entry = byId.get(top.id) as Entry<Item & { dependsOn: readonly string[] }>;
      const index = top.next++;
      const needed = entry.item.dependsOn[index];
      if (needed === undefined) {
        done.add(top.id);
        onTrail.delete(top.id);
        trail.pop();
        continue;
      }
      const back = onTrail.get(needed);
      if (back !== undefined) {
        const circle = [...trail.slice(back).map(({ id }) => id), needed];
        const message = circle.length === 2 ? `${needed} needs itself` : `they need each other in a circle: ${circle.join(' → ')}`;
        report(entry.source, { code: 'graph.cycle', path: [...entry.path, 'depends_on', index], message });
        continue;
      }
      if (done.has(needed) || !byId.has(needed)) continue;
      onTrail.set(needed, trail.length);
      trail.push({ id: needed, next: 0 });
    }
  }
}

function templates({ tasks, services, bridges }: Entries, { templates: known, report }: RuleContext): void {
  for (const entry of [...tasks, ...services, ...bridges]) {
    const { template, id } = entry.item;
    if (template === undefined || known.has(template)) continue;
    const meant = nearestName(template, known);
    report(entry.source, {
      code: 'graph.template_unknown',
      path: [...entry.path, 'template'],
      message: `${id} names the template ${template}, which is neither built in nor declared`,
      ...(meant !== undefined && { fix: `Did you mean ${meant}?` }),
    });
  }
}

const whole = 'local-core';

/** A local-* profile selects less than local-core, and nothing that local-core does not. Its bridges are its own. */
function subsets(entries: Entries, { report }: RuleContext): void {
  const covered = [
    ...entries.repos,
    ...entries.artifacts,
    ...entries.envFiles,
    ...entries.skills,
    ...entries.tasks,
    ...entries.services,
    ...entries.logs,
    ...entries.checks,
  ];
  const selects = ({ item: { profiles } }: Entry, profile: string) => profiles.includes(profile);
  const inWhole = (entry: Entry) => entry.item.profiles.length === 0 || selects(entry, whole) || selects(entry, 'core');
  const partial = new Map<string, Entry>();
  for (const entry of [...covered, ...entries.bridges])
    for (const profile of entry.item.profiles)
      if (isLocal(profile) && profile !== whole && profile !== everyLocal && !partial.has(profile)) partial.set(profile, entry);

  for (const entry of [...covered, ...entries.bridges])
    if (selects(entry, everyLocal))
      report(entry.source, {
        code: 'graph.subset_broken',
        path: [...entry.path, 'profiles'],
        message: `${everyLocal} stands for all local-* profiles, nothing is declared for it`,
        fix: `Write ${whole}.`,
      });

  for (const [profile, first] of partial) {
    const fault = (entry: Entry, message: string, fix?: string) =>
      report(entry.source, { code: 'graph.subset_broken', path: [...entry.path, 'profiles'], message, ...(fix && { fix }) });
    const members = covered.filter((entry) => selects(entry, profile));
    for (const entry of members)
      if (!inWhole(entry)) fault(entry, `${entry.item.id} is in ${profile} and not in ${whole}`, `Add ${whole} to its profiles.`);
    const left = covered.filter((entry) => selects(entry, whole) && !selects(entry, profile));
    if (members.length > 0 && left.length === 0 && members.every(inWhole))
      fault(first, `${profile} selects all that ${whole} does`, `Use ${whole}, or take an item out of ${profile}.`);
    const bridges = entries.bridges.filter((entry) => selects(entry, profile));
    for (const entry of bridges)
      if (selects(entry, whole))
        fault(
          entry,
          `the bridge ${entry.item.id} serves both ${whole} and ${profile}`,
          `Give ${profile} a bridge of its own, with fewer targets.`,
        );
    if (bridges.length === 0 && entries.bridges.some((entry) => selects(entry, whole)))
      fault(first, `${profile} has no bridge of its own, and ${whole} has one`, `Declare a bridge with profiles: [${profile}].`);
  }
}

/** Of those that are selected together: what shares a network must not share a port. */
export function checkSelected({ services }: Entries, { report }: Pick<RuleContext, 'report'>): void {
  const seen = new Map<string, Entry>();
  for (const entry of services) {
    for (const port of entry.item.ports) {
      const key = `${entry.item.template ?? 'host'} ${port}`;
      const first = seen.get(key);
      if (first && first.item.id !== entry.item.id)
        report(entry.source, {
          code: 'graph.port_shared',
          path: [...entry.path, 'ports'],
          message: `${entry.item.id} and ${first.item.id} both want port ${port}`,
        });
      else seen.set(key, entry);
    }
  }
}
