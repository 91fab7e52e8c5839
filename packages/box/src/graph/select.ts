/** The items of the active profiles, with whatever they need. */

import type { Entries, Entry } from './declared.ts';
import type { EnvFile, Item, Service } from './graph.ts';
import { isSelected } from './profiles.ts';

export function selectEntries(all: Entries, profiles: readonly string[], api: Entry<Service>): Entries {
  const active = new Set(profiles);
  const services = closure(all.services, active, ({ dependsOn }) => dependsOn, []);
  const tasks = closure(
    all.tasks,
    active,
    ({ dependsOn }) => dependsOn,
    services.flatMap(({ item }) => item.bootstrapTasks),
  );
  const envFiles = pick(
    all.envFiles,
    active,
    services.flatMap(({ item }) => item.envFiles),
  );
  const requiredOf = requiredByRepo(envFiles);
  const users = [...services, ...tasks].map(({ item }) => item);
  const repoOf = ({ repo }: { repo: string | undefined }): string[] => (repo === undefined ? [] : [repo]);
  return {
    repos: pick(all.repos, active, [...users, ...envFiles.map(({ item }) => item)].flatMap(repoOf)),
    artifacts: pick(
      all.artifacts,
      active,
      services.flatMap(({ item: { artifact } }) => (artifact === undefined ? [] : [artifact])),
    ),
    envFiles,
    skills: pick(all.skills, active, []),
    tasks,
    services: [api, ...services.map((entry) => ({ ...entry, item: withEnvFiles(entry.item, requiredOf) }))],
    logs: pick(
      all.logs,
      active,
      users.flatMap(({ log }) => (log === undefined ? [] : [log])),
    ),
    checks: pick(all.checks, active, []),
    bridges: pick(all.bridges, active, []),
  };
}

/** Ids of the env files that each repo requires. */
function requiredByRepo(envFiles: readonly Entry<EnvFile>[]): ReadonlyMap<string | undefined, readonly string[]> {
  const required = new Map<string | undefined, string[]>();
  for (const { item } of envFiles) {
    if (!item.required || item.repo === undefined) continue;
    const ids = required.get(item.repo);
    if (ids) ids.push(item.id);
    else required.set(item.repo, [item.id]);
  }
  return required;
}

/** A service waits for those it names, and for those that its repo requires. */
function withEnvFiles(service: Service, requiredOf: ReadonlyMap<string | undefined, readonly string[]>): Service {
  return { ...service, envFiles: [...new Set([...service.envFiles, ...(requiredOf.get(service.repo) ?? [])])] };
}

function pick<T extends Item>(entries: readonly Entry<T>[], active: ReadonlySet<string>, needed: readonly string[]): Entry<T>[] {
  const named = new Set(needed);
  return entries.filter(({ item }) => isSelected(item, active) || named.has(item.id));
}

function closure<T extends Item>(
  entries: readonly Entry<T>[],
  active: ReadonlySet<string>,
  needs: (item: T) => readonly string[],
  also: readonly string[],
): Entry<T>[] {
  const byId = new Map(entries.map((entry) => [entry.item.id, entry]));
  const wanted = new Set([...also, ...entries.filter(({ item }) => isSelected(item, active)).map(({ item }) => item.id)]);
  // What is added while walking is walked too.
  for (const id of wanted) for (const needed of needsOf(byId.get(id), needs)) wanted.add(needed);
  return entries.filter(({ item }) => wanted.has(item.id));
}

const needsOf = <T extends Item>(entry: Entry<T> | undefined, needs: (item: T) => readonly string[]): readonly string[] =>
  entry ? needs(entry.item) : [];
