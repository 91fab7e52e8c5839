import { Credits, Events, Host, Keys, Secrets, SignIn, Templates, Tenants, Webhooks } from './admin.ts';
import { type CallOptions, type ClientOptions, Connection } from './connection.ts';
import { type ExecutionResult, Executions, type RunRequest } from './executions.ts';
import { toArray } from './pages.ts';
import { Runtime, Sessions } from './runtime.ts';
import { SandboxHandle } from './sandbox.ts';
import { Sandboxes } from './sandboxes.ts';
import { Skills } from './skills.ts';
import type { Execution, Health, PushedSkill, Readiness, Skill, SkillSummary } from './types.ts';

/** What run takes beside the name of the skill and its input. */
export type RunOptions = Omit<RunRequest, 'skill' | 'input'> & CallOptions;

/** A box. `new Client('http://localhost:8080', 'sk-…')` */
export class Client {
  readonly skills: Skills;
  readonly executions: Executions;
  readonly sandboxes: Sandboxes;
  readonly templates: Templates;
  readonly keys: Keys;
  readonly signIn: SignIn;
  readonly tenants: Tenants;
  readonly credits: Credits;
  readonly secrets: Secrets;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly host: Host;
  /** The declared environment of the box. */
  readonly runtime: Runtime;
  readonly sessions: Sessions;
  /** For what has no method: any route, typed. */
  readonly connection: Connection;

  /** In a browser that is signed in to the box no key is needed. */
  constructor(url: string, key?: string, options: ClientOptions = {}) {
    const connection = new Connection(url, key, options);
    this.connection = connection;
    this.skills = new Skills(connection);
    this.executions = new Executions(connection);
    this.sandboxes = new Sandboxes(connection);
    this.templates = new Templates(connection);
    this.keys = new Keys(connection);
    this.signIn = new SignIn(connection);
    this.tenants = new Tenants(connection);
    this.credits = new Credits(connection);
    this.secrets = new Secrets(connection);
    this.events = new Events(connection);
    this.webhooks = new Webhooks(connection);
    this.host = new Host(connection);
    this.runtime = new Runtime(connection);
    this.sessions = new Sessions(connection);
  }

  /** The same box, acting for a tenant. */
  withTenant(tenant: string): Client {
    const { url, key, options } = this.connection;
    return new Client(url, key, { ...options, tenant });
  }

  /** One sandbox by its id; nothing is asked of the box yet. */
  sandbox(id: string): SandboxHandle {
    return new SandboxHandle(this.connection, id);
  }

  /** Runs a skill and waits for its end: `await client.run('data-analysis', { data: [1, 2, 3] })`. */
  run<Output = unknown>(skill: string, input?: unknown, options: RunOptions = {}): Promise<ExecutionResult<Output>> {
    const { version, env, files, timeout, ...call } = options;
    return this.executions.run<Output>({ skill, input, version, env, files, timeout }, call);
  }

  getExecution<Output = unknown>(id: string): Promise<ExecutionResult<Output>> {
    return this.executions.get<Output>(id);
  }

  getExecutionLogs(id: string): Promise<string> {
    return this.executions.logs(id);
  }

  /** Writes the artifacts of an execution under a folder, none of them outside. */
  downloadFiles(result: Pick<Execution, 'execution_id' | 'files_list'>, folder: string): Promise<string[]> {
    return this.executions.download(result, folder);
  }

  /** A folder with SKILL.md, the path of a zip, or the bytes of one. */
  registerSkill(skill: string | Uint8Array | Blob): Promise<PushedSkill> {
    return typeof skill === 'string' ? this.skills.pushFolder(skill) : this.skills.push(skill);
  }

  listSkills(): Promise<SkillSummary[]> {
    return toArray(this.skills.all({ limit: 500 }));
  }

  getSkill(name: string, version = 'latest'): Promise<Skill> {
    return this.skills.get(name, version);
  }

  health(options?: CallOptions): Promise<Health> {
    return this.connection.call('GET /health', {}, options);
  }

  /** Whether the box can do its work; what it cannot is an answer, not an error. */
  ready(options?: CallOptions): Promise<Readiness> {
    return this.connection.call('GET /ready', {}, { ...options, accept: [503] });
  }
}
