/** From declared items to those of the graph: placeholders filled in, paths mapped, defaults worked out. */

import { join } from 'node:path';
import { type StartMode, startModes } from '@skillbox/protocol';
import type { FindingCode, Path } from '../manifest/finding.ts';
import type { Entries, Entry, Report, Source } from './declared.ts';
import { originOf } from './declared.ts';
import type {
  Artifact,
  Bridge,
  Check,
  EnvFile,
  Healthcheck,
  Item,
  Log,
  Place,
  Program,
  Repo,
  Service,
  SkillSet,
  Success,
  Task,
} from './graph.ts';
import type { PathMap } from './paths.ts';
import { graphFolder } from './runtime.ts';
import type { Declared, DeclaredSections } from './schema.ts';
import { holdsWrittenPassword } from './secret-looks.ts';
import { type Filled, type FillOptions, looksSecret, type Reader, type Variables } from './variables.ts';

export interface ResolveContext {
  readonly variables: Variables;
  readonly paths: PathMap;
  readonly stateRoot: string;
  /** Selected; what is declared for another is left out. */
  readonly client: string | undefined;
  /** How env may be shown, by the env it is of. */
  readonly shownEnv: WeakMap<object, Readonly<Record<string, string>>>;
  readonly report: Report;
}

export function resolveEntries(sources: readonly Source[], context: ResolveContext): Entries {
  const every = <S extends Exclude<keyof DeclaredSections, 'parity_ledger'>, T extends Item>(
    section: S,
    make: (declared: Declared<S>, at: ItemReader) => T,
  ): Entry<T>[] =>
    sources.flatMap((source) =>
      source.sections[section].flatMap((declared, index) => {
        if (!isFor(declared, source, context)) return [];
        const at = new ItemReader(source, [source.key, section, index], context);
        return [{ item: make(declared as Declared<S>, at), source, path: at.path }];
      }),
    );

  const repos = every('repos', toRepo);
  const places = new Map(repos.map(({ item }) => [item.id, item.place]));
  return {
    repos,
    artifacts: every('artifacts', toArtifact),
    envFiles: every('env_files', toEnvFile),
    skills: every('skills', (declared, at) => toSkillSet(declared, at, context)),
    tasks: every('tasks', (declared, at) => toTask(declared, at, places)),
    services: every('services', (declared, at) => toService(declared, at, places)),
    logs: every('logs', toLog),
    checks: every('checks', toCheck),
    bridges: every('bridges', (declared, at) => toBridge(declared, at, places)),
  };
}

/** What is declared for a client is there with that client only. */
export function isFor({ client }: { client?: string | undefined }, source: Source, selected: { client: string | undefined }): boolean {
  return source.client !== undefined || client === undefined || client === selected.client;
}

type CommonFields = { id: string; required: boolean; profiles: string[]; notes?: string | undefined; client?: string | undefined };

/** Reads the fields of one item, and reports what is wrong with them. One for each of thousands. */
class ItemReader {
  constructor(
    readonly source: Source,
    readonly path: Path,
    private readonly context: ResolveContext,
  ) {}

  item({ id, required, profiles, notes, client }: CommonFields): Item {
    const { source } = this;
    if (source.client !== undefined && client !== undefined && client !== source.client)
      this.fault(
        'graph.client_mismatch',
        ['client'],
        `the overlay of ${source.client} declares an item for ${client}`,
        'Remove the line, or move the item to the other overlay.',
      );
    return {
      id,
      required,
      profiles,
      client: source.client ?? client,
      notes: notes === undefined ? undefined : this.text(['notes'], notes),
      origin: originOf(source, this.path),
    };
  }

  text(field: Path, value: string, options?: Partial<FillOptions>): string {
    if (holdsWrittenPassword(value))
      this.fault(
        'graph.secret_written',
        field,
        'an address with a password in it',
        'Keep the password elsewhere, such as in the credential helper of git.',
      );
    return this.#filled(field, value, { reader: 'workspace', ...options }).text;
  }

  place(field: Path, value: string): Place {
    const name = this.text(field, value);
    if (name === '') this.fault('graph.bad_value', field, 'the path is empty once its placeholders are filled in');
    return this.context.paths.place(name, this.source.folder);
  }

  /** On the host's own ground: the host follows it. */
  ownPath(field: Path, value: string): string {
    const { hostPath, inside } = this.place(field, value);
    if (inside)
      this.fault(
        'graph.bad_value',
        field,
        `${value} lies where the workspace may write, and the host follows no path there`,
        'Name a path on the host, such as one beside this file.',
      );
    return hostPath;
  }

  port(field: Path, value: number | string): number {
    const number = Number(typeof value === 'number' ? value : this.text(field, value));
    if (Number.isInteger(number) && number >= 1 && number <= 65_535) return number;
    // An unknown placeholder has been reported.
    if (!Number.isNaN(number)) this.fault('graph.bad_value', field, `${value} is not a port`);
    return 0;
  }

  env(declared: Readonly<Record<string, string>>, reader: Reader): Record<string, string> {
    const values: Record<string, string> = {};
    const shown: Record<string, string> = {};
    for (const [name, value] of Object.entries(declared)) {
      const result = this.#filled(['env', name], value, { reader, secrets: true });
      values[name] = result.text;
      const written = looksSecret(name) && result.text !== '' && result.text === value && !/^(true|false|\d{1,5})$/.test(value);
      if (written)
        this.fault(
          'graph.secret_written',
          ['env', name],
          `${name} looks like a secret and stands here as it is`,
          `Write ${name}: \${${name}} and put the value into .env.`,
        );
      shown[name] = written ? '********' : result.shown;
    }
    this.context.shownEnv.set(values, shown);
    return values;
  }

  workspaceRoot(): Place {
    return this.context.paths.place(this.#root('SKILLBOX_WORKSPACE_ROOT'), this.source.folder);
  }

  folder(): Place {
    return this.context.paths.fromHost(this.source.folder);
  }

  homePlace(below: string): Place {
    return this.context.paths.place(join(this.#root('SKILLBOX_HOME_ROOT'), below), this.source.folder);
  }

  fault(code: FindingCode, field: Path, message: string, fix?: string): void {
    this.context.report(this.source, { code, path: [...this.path, ...field], message, ...(fix && { fix }) });
  }

  #filled(field: Path, value: string, options: FillOptions): Filled {
    const result = this.context.variables.fill(value, options);
    for (const { code, message, fix } of result.faults) this.fault(code, field, message, fix);
    return result;
  }

  #root(variable: string): string {
    return this.context.paths.mounts.find((mount) => mount.variable === variable)?.path ?? '/';
  }
}

function toRepo(declared: Declared<'repos'>, at: ItemReader): Repo {
  const { source, sync } = declared;
  const kind = source.kind ?? (source.url ? 'git' : 'directory');
  if (kind === 'git' && !source.url) at.fault('graph.field_missing', ['source'], 'a git repo needs source.url');
  const branch = source.branch === undefined ? undefined : at.text(['source', 'branch'], source.branch);
  const modes = { git: 'clone-if-missing', directory: 'ensure-directory', bind: 'external', manual: 'manual' } as const;
  const sources = {
    git: () => ({ kind: 'git' as const, url: at.text(['source', 'url'], source.url ?? ''), branch: branch || undefined }),
    bind: () => ({
      kind: 'bind' as const,
      path: source.path === undefined ? undefined : at.place(['source', 'path'], source.path).hostPath,
    }),
    directory: () => ({ kind: 'directory' as const }),
    manual: () => ({ kind: 'manual' as const }),
  };
  const mode = sync.mode ?? modes[kind];
  if (mode === 'clone-if-missing' && kind !== 'git')
    at.fault('graph.contradiction', ['sync', 'mode'], `clone-if-missing needs a git source, this one is ${kind}`);
  return { ...at.item(declared), place: at.place(['path'], declared.path), kind: declared.kind, source: sources[kind](), sync: mode };
}

function toArtifact(declared: Declared<'artifacts'>, at: ItemReader): Artifact {
  const { source, sync } = declared;
  const url = source.url === undefined ? undefined : at.text(['source', 'url'], source.url);
  const sha256 = source.sha256 === undefined ? undefined : at.text(['source', 'sha256'], source.sha256).toLowerCase() || undefined;
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256))
    at.fault('graph.bad_value', ['source', 'sha256'], 'source.sha256 is not a SHA-256');
  const wanted = source.kind ?? (source.url !== undefined ? 'url' : source.path !== undefined ? 'file' : 'manual');
  if (wanted === 'url' && url === undefined) at.fault('graph.field_missing', ['source'], 'an artifact from an address needs source.url');
  if (wanted === 'file' && source.path === undefined)
    at.fault('graph.field_missing', ['source'], 'an artifact from a file needs source.path');
  // A variable that is left blank means that nobody downloads it here.
  const kind = wanted === 'url' && url === '' ? 'manual' : wanted;
  if (kind === 'url' && sha256 === undefined)
    at.fault('graph.sha256_missing', ['source'], `${declared.id} comes from an address and has no source.sha256`);
  const modes = { url: 'download-if-missing', file: 'copy-if-missing', manual: 'manual' } as const;
  const mode = kind === 'manual' ? 'manual' : (sync.mode ?? modes[kind]);
  if (mode !== 'manual' && mode !== modes[kind])
    at.fault('graph.contradiction', ['sync', 'mode'], `${mode} does not fit a source of kind ${kind}`);
  const sources = {
    url: () => ({ kind: 'url' as const, url: url ?? '', sha256: sha256 ?? '' }),
    file: () => ({ kind: 'file' as const, path: at.ownPath(['source', 'path'], source.path ?? ''), sha256 }),
    manual: () => ({ kind: 'manual' as const, sha256 }),
  };
  return {
    ...at.item(declared),
    place: at.place(['path'], declared.path),
    source: sources[kind](),
    executable: source.executable,
    sync: mode,
  };
}

function toEnvFile(declared: Declared<'env_files'>, at: ItemReader): EnvFile {
  const { source, sync } = declared;
  const kind = source.kind ?? (source.path === undefined ? 'manual' : 'file');
  if (kind === 'file' && source.path === undefined)
    at.fault('graph.field_missing', ['source'], 'an env file from a file needs source.path');
  const mode = kind === 'manual' ? 'manual' : (sync.mode ?? 'write');
  if (sync.mode === 'write' && kind === 'manual') at.fault('graph.contradiction', ['sync', 'mode'], 'write needs source.path');
  return {
    ...at.item(declared),
    kind: declared.kind,
    repo: declared.repo,
    place: at.place(['path'], declared.path),
    mode: modeOf(declared.mode, at),
    source: kind === 'file' ? { kind, path: at.ownPath(['source', 'path'], source.path ?? '') } : { kind },
    sync: mode,
  };
}

/** YAML reads 0600 as six hundred, and 0o600 as what it is. */
function modeOf(given: string | number, at: ItemReader): number {
  const digits = String(given);
  const mode = /^[0-7]{3,4}$/.test(digits) ? Number.parseInt(digits, 8) : Number(given);
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o777)
    at.fault('graph.bad_value', ['mode'], `${digits} is not a mode`, 'Write "0600".');
  else if ((mode & 0o077) !== 0) at.fault('graph.bad_value', ['mode'], `${digits} lets others than the owner read it`, 'Write "0600".');
  return mode;
}

function toSkillSet(declared: Declared<'skills'>, at: ItemReader, { stateRoot }: ResolveContext): SkillSet {
  const targets = declared.install_targets?.map(({ id, path }, index) => ({
    id,
    place: at.place(['install_targets', index, 'path'], path),
  }));
  return {
    ...at.item(declared),
    kind: declared.kind,
    config: at.place(['skill_repos_config'], declared.skill_repos_config),
    lock: at.place(['lock_path'], declared.lock_path),
    cloneRoot:
      declared.clone_root === undefined ? join(graphFolder(stateRoot), 'skill-repos') : at.ownPath(['clone_root'], declared.clone_root),
    targets: targets ?? ['claude', 'codex'].map((id) => ({ id, place: at.homePlace(`.${id}/skills`) })),
  };
}

type Where = Pick<Declared<'tasks'>, 'repo' | 'cwd' | 'env' | 'template'>;

function programOf(declared: Where, at: ItemReader, repos: ReadonlyMap<string, Place>): Omit<Program, 'command'> & { reader: Reader } {
  const cwd = (): Place => {
    if (declared.cwd !== undefined) return at.place(['cwd'], declared.cwd);
    // One that is not declared has its own finding.
    if (declared.repo !== undefined) return repos.get(declared.repo) ?? at.folder();
    return declared.template === undefined ? at.folder() : at.workspaceRoot();
  };
  const folder = cwd();
  const template = declared.template ?? (folder.inside ? 'workspace' : undefined);
  const reader: Reader = template === undefined ? 'host' : 'workspace';
  return { cwd: folder, template, env: at.env(declared.env, reader), reader };
}

function toTask(declared: Declared<'tasks'>, at: ItemReader, repos: ReadonlyMap<string, Place>): Task {
  const { reader, ...program } = programOf(declared, at, repos);
  const outputs = declared.outputs.map((output, index) => at.place(['outputs', index], output));
  return {
    ...at.item(declared),
    ...program,
    kind: declared.kind,
    command: at.text(['command'], declared.command, { reader, shell: declared.env }),
    repo: declared.repo,
    dependsOn: declared.depends_on,
    inputs: declared.inputs.map((input, index) => at.place(['inputs', index], input)),
    outputs,
    log: declared.log,
    success: successOf(declared, at),
    timeoutMs: declared.timeout,
  };
}

function successOf({ success, outputs }: Declared<'tasks'>, at: ItemReader): Success | undefined {
  if (!success) return outputs.length > 0 ? { type: 'all_outputs_exist' } : undefined;
  const { type, path, port } = success;
  if (type === 'path_exists') {
    if (path !== undefined) return { type, place: at.place(['success', 'path'], path) };
    at.fault('graph.field_missing', ['success'], 'path_exists needs path');
    return undefined;
  }
  if (type === 'port_listening') {
    if (port !== undefined) return { type, port: at.port(['success', 'port'], port) };
    at.fault('graph.field_missing', ['success'], 'port_listening needs port');
    return undefined;
  }
  if (outputs.length === 0) at.fault('graph.field_missing', ['success'], 'all_outputs_exist needs outputs');
  return { type };
}

function toService(declared: Declared<'services'>, at: ItemReader, repos: ReadonlyMap<string, Place>): Service {
  const { reader, ...program } = programOf(declared, at, repos);
  const { command, commands } = declared;
  if (command !== undefined && commands) at.fault('graph.contradiction', ['commands'], 'a service has command or commands, not both');
  const run: Partial<Record<StartMode, string>> = {};
  const shell = { reader, shell: declared.env };
  if (command !== undefined) {
    const filled = at.text(['command'], command, shell);
    for (const mode of startModes) run[mode] = filled;
  }
  for (const mode of startModes) {
    const own = commands?.[mode];
    if (own !== undefined) run[mode] = at.text(['commands', mode], own, shell);
  }
  const healthcheck = healthcheckOf(declared, at, reader);
  return {
    ...at.item(declared),
    ...program,
    kind: declared.kind,
    repo: declared.repo,
    artifact: declared.artifact,
    commands: run,
    dependsOn: declared.depends_on,
    bootstrapTasks: declared.bootstrap_tasks,
    envFiles: declared.env_files,
    log: declared.log,
    healthcheck,
    ports: declared.ports?.map((port, index) => at.port(['ports', index], port)) ?? portsOf(healthcheck),
    startMs: declared.start_timeout,
    stopMs: declared.stop_timeout,
    restart: declared.restart,
    own: undefined,
  };
}

function healthcheckOf({ healthcheck, env }: Declared<'services'>, at: ItemReader, reader: Reader): Healthcheck | undefined {
  if (!healthcheck) return undefined;
  const { type, url, status, port, host, path, command, interval, timeout } = healthcheck;
  const times = { intervalMs: interval, timeoutMs: timeout };
  const field = (name: string): Path => ['healthcheck', name];
  if (type === 'process_running') return { ...times, type };
  if (type === 'http' && url !== undefined) {
    const address = at.text(field('url'), url);
    if (!isHttp(address) && !address.includes('${')) at.fault('graph.bad_value', field('url'), `${address} is not an address of http`);
    return { ...times, type, url: address, status };
  }
  if (type === 'port' && port !== undefined)
    return { ...times, type, port: at.port(field('port'), port), host: at.text(field('host'), host) };
  if (type === 'path_exists' && path !== undefined) return { ...times, type, place: at.place(field('path'), path) };
  if (type === 'command' && command !== undefined)
    return { ...times, type, command: at.text(field('command'), command, { reader, shell: env }) };
  at.fault('graph.field_missing', ['healthcheck'], `${type} needs ${needs[type]}`);
  return undefined;
}

const needs = { http: 'url', port: 'port', path_exists: 'path', command: 'command' } as const;

function isHttp(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)$/;

function portsOf(healthcheck: Healthcheck | undefined): number[] {
  if (healthcheck?.type === 'port') return loopback.test(healthcheck.host) ? [healthcheck.port] : [];
  if (healthcheck?.type !== 'http' || !URL.canParse(healthcheck.url)) return [];
  const { hostname, port, protocol } = new URL(healthcheck.url);
  return loopback.test(hostname) ? [Number(port || (protocol === 'https:' ? 443 : 80))] : [];
}

function toLog(declared: Declared<'logs'>, at: ItemReader): Log {
  const { retention_days: retentionDays } = declared;
  if (retentionDays !== undefined && retentionDays <= 0)
    at.fault('graph.bad_retention', ['retention_days'], `retention_days is ${retentionDays}`);
  return { ...at.item(declared), place: at.place(['path'], declared.path), retentionDays };
}

function toCheck(declared: Declared<'checks'>, at: ItemReader): Check {
  return { ...at.item(declared), probe: probeOf(declared, at) };
}

function probeOf({ type, path, command, cwd, url, port }: Declared<'checks'>, at: ItemReader): Check['probe'] {
  if (type === 'command' && command !== undefined) {
    const folder = cwd === undefined ? at.folder() : at.place(['cwd'], cwd);
    return { type, command: at.text(['command'], command, { reader: folder.inside ? 'workspace' : 'host', shell: {} }), cwd: folder };
  }
  if (type === 'http' && url !== undefined) return { type, url: at.text(['url'], url) };
  if (type === 'port' && port !== undefined) return { type, port: at.port(['port'], port) };
  if (path === undefined) at.fault('graph.field_missing', [], `${type} needs ${needs[type]}`);
  return { type: 'path_exists', place: at.place(['path'], path ?? '.') };
}

function toBridge(declared: Declared<'bridges'>, at: ItemReader, repos: ReadonlyMap<string, Place>): Bridge {
  const { reader, ...program } = programOf(declared, at, repos);
  const { env_tier: envTier, legacy_targets: legacyTargets } = declared;
  const outputRoot = at.place(['output_root'], declared.output_root);
  return {
    ...at.item(declared),
    ...program,
    command: at.text(['command'], declared.command, { reader, shell: declared.env }),
    envTier,
    legacyTargets,
    outputRoot,
    outputs: legacyTargets.map((target) => ({
      path: join(outputRoot.path, target, `${envTier}.env`),
      hostPath: join(outputRoot.hostPath, target, `${envTier}.env`),
      inside: outputRoot.inside,
    })),
    inputs: [
      ...(at.source.document ? [at.source.file] : []),
      ...declared.inputs.map((input, index) => at.place(['inputs', index], input).hostPath),
    ],
  };
}
