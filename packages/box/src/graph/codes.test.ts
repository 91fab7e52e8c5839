/** Every code that the commands of the graph promise is raised by a real cause, and says what to do. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorKinds } from '@skillbox/protocol';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { type GraphGround, newGround } from '../../../../tests/support/graph.ts';
import { remoteRepo, writeDeep } from '../../../../tests/support/synced.ts';
import { loadConfig } from '../config.ts';
import { doctor } from './doctor.ts';
import { loadGraph } from './load.ts';
import { render } from './render.ts';
import type { Runtime } from './runtime.ts';
import { type UpOptions, up } from './services/up.ts';
import { skillSetStates } from './sync/skills/skill-states.ts';
import { clonePlace } from './sync/skills/sources.ts';
import { sync } from './sync/sync.ts';

// Nothing here comes as far as to need one.
vi.mock('./pulse/control.ts', () => import('../../../../tests/support/still-pulse.ts'));

interface Raised {
  readonly code: string | null | undefined;
  readonly hint: string | null | undefined;
}

let ground: GraphGround;
let runtime: Runtime;
beforeEach(() => {
  ground = newGround();
});
afterEach(() => ground.remove());

function declare(graph: Record<string, unknown[]>): void {
  writeFileSync(join(ground.folder, 'skillbox.yaml'), stringify({ version: 1, graph }));
  const config = loadConfig({ cwd: ground.folder, env: { PATH: process.env.PATH, HOME: ground.folder } });
  runtime = { ...ground.runtime, config, server: true };
}

async function thrown(work: Promise<unknown>): Promise<Raised> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error as Raised;
}

const goUp = (more: Partial<UpOptions> = {}) =>
  up(runtime, { profiles: [] }, { services: [], mode: 'reuse', dryRun: false, waitSeconds: undefined, ...more });
const bridge = (command: string) => ({ id: 'env', command, output_root: 'out', legacy_targets: ['web'] });

const skill = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo it.\n`;
const skillRepos = (text: string): void => writeFileSync(join(ground.folder, 'skill-repos.yaml'), `version: 2\nskill_repos:\n${text}`);
const installed = (...path: string[]): string => join(runtime.config.stateRoot, 'home/.claude/skills', ...path);
const firstSet = () => {
  const [set] = loadGraph(runtime.config, { profiles: [] }).skills;
  if (!set) throw new Error('no set');
  return set;
};

/** A repository with one skill, declared; what sync says of it once the rest is as `more` left it. */
async function skillSync(more: (url: string) => Promise<void> | void): Promise<Raised> {
  declare({ skills: [{ id: 'mine' }] });
  const url = remoteRepo(join(ground.folder, 'remote'), { 'commit/SKILL.md': skill('commit') });
  skillRepos(`  - {repo: "${url}", ref: main, pick: [commit]}\n`);
  await more(url);
  const { actions } = await sync(runtime, { profiles: [] }, { dryRun: false });
  const error = actions.find((action) => action.error)?.error;
  return { code: error?.error, hint: error?.hint };
}

/** What status finds of the set after a sync and `change`. */
async function skillFault(change: () => void): Promise<Raised> {
  await skillSync(() => undefined);
  change();
  const [state] = skillSetStates(runtime.config.stateRoot, [firstSet()]);
  return state?.faults[0] ?? { code: null, hint: null };
}

const ways = {
  LOCAL_RUNTIME_PROFILE_UNKNOWN: () => {
    declare({});
    return thrown(render(runtime, { profiles: ['local-nowhere'] }, { why: false }));
  },
  LOCAL_RUNTIME_START_BLOCKED: async () => {
    declare({ env_files: [{ id: 'e', path: 'e.env', required: true }], services: [{ id: 'web', command: 'sleep 60', env_files: ['e'] }] });
    const error = (await goUp()).services.find(({ id }) => id === 'web')?.error;
    return { code: error?.error, hint: error?.hint };
  },
  LOCAL_RUNTIME_SERVICE_DEFERRED: () => {
    declare({ parity_ledger: [{ legacy_surface: 'worker', ownership_state: 'deferred' }] });
    return thrown(goUp({ services: ['worker'] }));
  },
  LOCAL_RUNTIME_MODE_UNSUPPORTED: () => {
    declare({ services: [{ id: 'web', commands: { reuse: 'sleep 60' } }] });
    return thrown(goUp({ mode: 'fresh' }));
  },
  LOCAL_RUNTIME_COVERAGE_GAP: async () => {
    declare({ parity_ledger: [{ legacy_surface: 'worker', ownership_state: 'covered' }] });
    const check = (await doctor(runtime, { profiles: [] })).checks.find(({ name }) => name === 'parity ledger');
    return { code: check?.code, hint: check?.fix };
  },
  LOCAL_RUNTIME_ENV_BRIDGE_FAILED: () => {
    declare({ bridges: [bridge('exit 3')] });
    return thrown(goUp());
  },
  LOCAL_RUNTIME_ENV_OUTPUT_MISSING: () => {
    declare({ bridges: [bridge('true')] });
    return thrown(goUp());
  },
  SKILL_CONFIG_INVALID: () => skillSync(() => skillRepos('  - {pick: [commit]}\n')),
  SKILL_REPO_UNREACHABLE: () => skillSync(() => skillRepos('  - {repo: "http://127.0.0.1:9/x.git", ref: main}\n')),
  SKILL_REPO_CLONE_FAILED: () => skillSync((url) => skillRepos(`  - {repo: "${url}", ref: nowhere}\n`)),
  SKILL_REPO_DIRTY: () =>
    skillSync(async (url) => {
      await sync(runtime, { profiles: [] }, { dryRun: false });
      writeFileSync(join(clonePlace(firstSet(), { repo: url, ref: 'main' }).hostPath, 'commit/SKILL.md'), 'work in progress');
    }),
  SKILL_NOT_FOUND_IN_REPO: () => skillSync((url) => skillRepos(`  - {repo: "${url}", ref: main, pick: [absent]}\n`)),
  SKILL_NOT_INSTALLED: () => skillFault(() => rmSync(installed('commit'), { recursive: true })),
  SKILL_INSTALL_STALE: () => skillFault(() => writeFileSync(installed('commit', 'SKILL.md'), 'changed by hand')),
  SKILL_EXTRA_INSTALLED: () => skillFault(() => writeDeep(installed('other', 'SKILL.md'), skill('other'))),
} satisfies Record<string, () => Promise<Raised>>;

describe('codes of the graph', () => {
  it('are those of the reference, and each has its hint in the registry', () => {
    const registered = Object.keys(errorKinds).filter((code) => /^(LOCAL_RUNTIME|SKILL)_/.test(code));
    expect(registered.sort()).toEqual(Object.keys(ways).sort());
    const local = 'PROFILE_UNKNOWN START_BLOCKED SERVICE_DEFERRED MODE_UNSUPPORTED COVERAGE_GAP ENV_BRIDGE_FAILED ENV_OUTPUT_MISSING';
    const ofSkills =
      'CONFIG_INVALID REPO_UNREACHABLE REPO_CLONE_FAILED REPO_DIRTY NOT_FOUND_IN_REPO NOT_INSTALLED INSTALL_STALE EXTRA_INSTALLED';
    const reference = [...local.split(' ').map((name) => `LOCAL_RUNTIME_${name}`), ...ofSkills.split(' ').map((name) => `SKILL_${name}`)];
    expect(reference.sort()).toEqual(Object.keys(ways).sort());
    for (const code of Object.keys(ways) as (keyof typeof ways)[]) expect(errorKinds[code].hint).toMatch(/^[A-Z].{15,}[.)]$/);
  });

  it.each(Object.keys(ways) as (keyof typeof ways)[])('%s is raised, with a hint', async (code) => {
    const raised = await ways[code]();
    expect(raised.code).toBe(code);
    expect(raised.hint).toMatch(/\S{2,}.*\s\S/);
  });
});
