/** The composition: everything the box consists of, in the order in which it needs each other. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type Artifact, BoxError } from '@skillbox/protocol';
import { createKeys, type Keys } from './access/keys.ts';
import { createRateLimiter, type RateLimiter } from './access/rate.ts';
import { createSignIns, type SignIns } from './access/sign-ins.ts';
import { createTenants, type Tenants } from './access/tenants.ts';
import type { Config } from './config.ts';
import { createLedger, type Ledger } from './credits/ledger.ts';
import { createMeter } from './credits/meter.ts';
import { createEvents, type Events } from './events/events.ts';
import { declaredHooks } from './events/webhooks/declared.ts';
import { createWebhooks, type Webhooks } from './events/webhooks/webhooks.ts';
import { cancelChannel, createExecutions, type Executions } from './executions/executions.ts';
import { createFigures, type Figures } from './executions/figures.ts';
import { createRecords, type Records } from './executions/records.ts';
import { clearSpool, recoverExecutions } from './executions/recovery.ts';
import { createSlots } from './executions/slots.ts';
import { packArtifacts } from './executions/tarball.ts';
import { graphFigures } from './graph/figures.ts';
import { type Ingestion, startIngestion } from './graph/journal/ingest.ts';
import { createPathMap } from './graph/paths.ts';
import { guardPulse, type PulseGuard } from './graph/pulse/guard.ts';
import { followOutput, type OutputWriter } from './graph/sandboxed-output.ts';
import { type Heartbeat, hostId, startHeartbeat } from './host.ts';
import { createHosts, type Hosts } from './hosts.ts';
import { loadManifest } from './manifest/load.ts';
import type { Manifest } from './manifest/schema.ts';
import type { Logger } from './observe/log.ts';
import { createMetrics, type Metrics } from './observe/metrics.ts';
import { writePrivateFile } from './private-file.ts';
import { checkReadiness } from './readiness.ts';
import { type Ahead, createAhead, type Standing } from './sandbox/ahead.ts';
import { createCapacity } from './sandbox/capacity.ts';
import { createSandboxes } from './sandbox/create-sandboxes.ts';
import { createAuthority } from './sandbox/egress/authority.ts';
import { createEgress } from './sandbox/egress/egress.ts';
import { createInjection } from './sandbox/egress/injection.ts';
import { type InternalService, internalServices } from './sandbox/egress/internal.ts';
import { createSecure } from './sandbox/egress/trust.ts';
import type { Provider } from './sandbox/provider.ts';
import { bubblewrapFolder } from './sandbox/providers/bubblewrap/folders.ts';
import { openBubblewrap } from './sandbox/providers/bubblewrap/provider.ts';
import { configuredImages, configuredProviders } from './sandbox/providers/configured.ts';
import { createRouter, parsePrices } from './sandbox/routing.ts';
import type { Sandboxes } from './sandbox/sandboxes.ts';
import { createStock } from './sandbox/stock.ts';
import { toTemplate } from './sandbox/template-definition.ts';
import { createTemplates, type Templates } from './sandbox/templates.ts';
import { openProgram } from './sandbox/workspace/program.ts';
import { workspaceTemplate } from './sandbox/workspace/template.ts';
import { openSecrets, type Secrets } from './secrets.ts';
import { createSkillCache, type SkillCache } from './skills/cache.ts';
import { type Catalog, createCatalog } from './skills/catalog.ts';
import { createDependencies, type Dependencies, type HostedDependencies } from './skills/dependencies/dependencies.ts';
import { adminKeyFile, clearTemporary, lockState, makeStateRoot } from './state.ts';
import { sweepBlobs } from './store/blob-sweep.ts';
import { openStore, type Store } from './store/store.ts';
import { createVault, type Vault } from './vault/vault.ts';
import { version } from './version.ts';
import { startWatch, type Watch } from './watch.ts';

export interface Box {
  readonly config: Config;
  readonly manifest: Manifest;
  readonly host: string;
  /** The others, and where they are. */
  readonly hosts: Hosts;
  readonly version: string;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly store: Store;
  readonly events: Events;
  readonly keys: Keys;
  readonly signIns: SignIns;
  readonly tenants: Tenants;
  readonly rate: RateLimiter;
  readonly secrets: Secrets;
  readonly catalog: Catalog;
  readonly dependencies: Dependencies;
  readonly provider: Provider;
  readonly records: Records;
  readonly executions: Executions;
  readonly figures: Figures;
  readonly templates: Templates;
  readonly credits: Ledger;
  readonly sandboxes: Sandboxes;
  /** Living sandboxes that stand ready for a create. */
  readonly ahead: Pick<Ahead, 'state'>;
  readonly vault: Vault;
  readonly webhooks: Webhooks;
  /** What sandboxes with the grant find at box.internal, by the first part of the path; the server adds its own before it starts. */
  readonly internal: Map<string, InternalService>;
  /** All artifacts of an execution as tar.gz. Here, and not in the command, so that the CLI does not load what only servers need. */
  packArtifacts(files: readonly Artifact[]): Readable;
  /** Closes what a crash left, then beats; `url` is where other hosts reach this one, `port` where it listens. */
  start(url: string, port: number): Promise<void>;
  /** Drains, then lets go of everything. */
  stop(): Promise<void>;
}

const hourMs = 3600_000;
const skillsUnusedForMs = 7 * 24 * hourMs;
const buildsUnusedForMs = 30 * 24 * hourMs;
const idempotencyForMs = 24 * hourMs;

export async function openBox(config: Config, log: Logger): Promise<Box> {
  const manifest = loadManifest(config, (warning) => log.warn({ manifest: config.manifest }, warning));
  const hooks = declaredHooks(manifest.webhooks, config);
  const { mounts } = createPathMap(config, manifest.workspace);
  makeStateRoot(config.stateRoot);
  const lock = await lockState(config.stateRoot);
  clearTemporary(config.stateRoot);
  const host = hostId(config.stateRoot);
  const folder = (...parts: string[]): string => join(config.stateRoot, ...parts);
  const secrets = openSecrets(folder('box.key'), config.secretKey);
  const store = await openStore(config);
  const { blobs, database, leases } = store;
  await agreeOnSecret(store, secrets).catch(async (error: Error) => {
    await store.close();
    lock.release();
    throw error;
  });
  const events = createEvents({ database, host });
  const keys = createKeys(database);
  const tenants = await createTenants(database, config, manifest);
  const rate = createRateLimiter((tenant) => tenants.limits(tenant).requests_per_second);
  const archiveLimits = { maxBytes: config.maxSkillSize };
  const cache = createSkillCache(folder('sandboxes', 'skills'), blobs, archiveLimits);
  const channelRoot = folder('run', 'channels');
  const shown = openProgram(folder('run', 'inside'));
  const workspace = { mounts, shown, stateRoot: config.stateRoot, user: manifest.workspace.agent_user };
  const provider = await openBubblewrap({
    runFolder: bubblewrapFolder(config.stateRoot),
    diskFolder: folder('sandboxes'),
    owner: host,
    standby: config.standby,
    warmMemory: config.warmMemory,
    warmCopies: config.warmCopies,
    warmIdleMs: config.warmIdle,
    interpreters: manifest.sandbox.interpreters,
    acceptMissing: manifest.sandbox.accept_missing,
    paths: manifest.sandbox.paths,
    channelRoot,
    diskReserve: config.diskReserve,
    workspace,
    onWarning: (message) => log.warn(message),
  });
  const slots = createSlots({
    total: config.maxConcurrentExecs,
    queue: config.queueSize,
    tenantQueue: config.tenantQueueSize,
    young: Math.max(2, availableParallelism()),
    tenantSlots: (tenant) => tenants.limits(tenant).slots,
  });
  const metrics = createMetrics({
    running: () => slots.running,
    queued: () => slots.queued,
    launchersReady: () => provider.standby,
    warm: () => provider.warm,
    ahead: () => ahead.state,
    egressConnections: () => egress.connections(),
    webhooksPending: () => webhooks.pending(),
    graph: () => graphFigures(config.stateRoot),
  });
  const webhooks = createWebhooks({
    ...{ database, events, host, leases, log, secrets },
    onAttempt: (outcome) => metrics.webhookAttempts.inc({ outcome }),
    declared: hooks,
    leaseTtlMs: config.leaseTtl,
    privateAddresses: config.webhookPrivateAddresses === 'allow',
  });
  const records = createRecords(database, blobs, events);
  const spoolFolder = folder('run', 'spool');
  mkdirSync(spoolFolder, { recursive: true, mode: 0o700 });
  const images = configuredImages(config, host, log);
  // An engine that is away now is asked again before the first run in it.
  await images?.sweep().catch((error: Error) => log.warn({ err: error }, 'what runs in images left behind could not be looked for'));
  const templates = createTemplates(
    database,
    Object.entries(manifest.templates).map(([name, { version: number, ...definition }]) =>
      toTemplate(name, number, 'manifest', definition),
    ),
    workspaceTemplate(manifest.workspace),
  );
  const hosts = createHosts(leases);
  const configured = configuredProviders(config, host, channelRoot, workspace);
  const ownPorts = new Set(portsOf([config.dbDsn, config.s3Endpoint, config.dockerHost]));
  const vault = createVault(database, secrets);
  const injection = createInjection({ vault, authority: createAuthority(database, secrets), secure: createSecure(config.egressCa) });
  const internal = new Map(internalServices);
  const egress = createEgress({
    ...{
      events,
      injection,
      log,
      services: internal,
      folder: channelRoot,
      privateHosts: config.egressPrivate,
      dnsServers: config.egressDns,
    },
    ownPorts: () => ownPorts,
    counters: {
      allowed: () => metrics.egressDecisions.inc({ decision: 'allowed', reason: '' }),
      refused: (reason) => metrics.egressDecisions.inc({ decision: 'refused', reason }),
      bytes(sent, received) {
        metrics.egressBytes.inc({ direction: 'sent' }, sent);
        metrics.egressBytes.inc({ direction: 'received' }, received);
      },
    },
  });
  const providers = new Map([provider.living, ...configured].map((one) => [one.name, one]));
  const capacity = createCapacity({
    ...{ database, host, most: config.maxSandboxes, leastFreeBytes: config.minFreeMemory },
    providers: [...providers.values()].filter(({ location }) => location === 'here').map(({ name }) => name),
  });
  const stock = createStock<Standing>({
    // What is left by those for runs of skills, which come first.
    budgetBytes: () => config.warmMemory - provider.warm.memoryBytes,
    idleMs: config.warmIdle,
    busy: () => slots.running + ahead.ordinary,
    onTrouble: (message) => log.warn(message),
  });
  const ahead = createAhead({ log, providers, stock, room: () => capacity.look() });
  const sandboxes = createSandboxes({
    ...{ ahead, database, egress, events, host, hosts, log, providers, secrets, templates, vault },
    meter: createMeter(database),
    router: createRouter({ providers, capacity, prices: parsePrices(config.providerPrices) }),
    tenantLimit: config.tenantSandboxes,
  });
  const dependencies = createDependencies({
    ...{ database, blobs, events, tenants, config, host, log, provider, sandboxes, archiveLimits },
    folder: folder('sandboxes', 'dependencies'),
  });
  const catalog = createCatalog({ database, blobs, dependencies, events, tenants, limits: archiveLimits });
  const executions = createExecutions({
    ...{ blobs, cache, catalog, config, database, dependencies, host, images, log, metrics, provider },
    ...{ records, secrets, slots, spoolFolder, tenants },
  });
  const credits = createLedger(database);
  await ensureAdminKey(keys, adminKeyFile(config.stateRoot));

  let heartbeat: Heartbeat | undefined;
  let stopListening: (() => void) | undefined;
  let upkeep: NodeJS.Timeout | undefined;
  let watch: Watch | undefined;
  let output: OutputWriter | undefined;
  let ingestion: Ingestion | undefined;
  let guard: PulseGuard | undefined;

  return {
    ...{
      ahead,
      catalog,
      config,
      credits,
      dependencies,
      events,
      executions,
      figures: createFigures(database),
      host,
      hosts,
      internal,
      keys,
      signIns: createSignIns(database, keys),
      log,
      manifest,
      metrics,
      provider,
      rate,
      records,
      sandboxes,
      secrets,
      store,
      templates,
      tenants,
      vault,
      version,
      webhooks,
    },

    packArtifacts: (files) => packArtifacts(files, (digest) => blobs.get(digest)),

    async start(url, port) {
      ownPorts.add(port);
      const recovery = { records, executions, host, spoolFolder, log };
      heartbeat = await startHeartbeat({
        ...{ host, url, leases, log, ttlMs: config.leaseTtl },
        async onLeaseHeld() {
          await recoverExecutions(recovery, host);
          await sandboxes.recover();
          await dependencies.recover();
        },
        onServing: () => executions.accept(),
        async onHostGone(gone) {
          await recoverExecutions(recovery, gone);
          await sandboxes.hostGone(gone);
          await dependencies.hostGone(gone);
        },
        onLeaseLost() {
          executions.abandon();
          dependencies.abandon();
        },
        async onBeat() {
          await executions.checkCancels();
          await tenants.refresh();
          await sandboxes.beat();
          await webhooks.beat();
          await dependencies.recover();
          // What an outage of the database left half-written.
          await recoverExecutions(recovery, host);
          clearSpool(spoolFolder, (id) => executions.owns(id));
        },
        leavesWork: async () => (await records.unfinished(host)).length > 0 || (await dependencies.leavesWork()),
      });
      await webhooks.start();
      output = followOutput({
        ...{ stateRoot: config.stateRoot, sandboxes, log },
        inside: mounts.filter(({ writable }) => writable).map(({ hostPath }) => hostPath),
      });
      ingestion = startIngestion({ stateRoot: config.stateRoot, host, database, events, log });
      guard = guardPulse({ config, log });
      clearSpool(spoolFolder, (id) => executions.owns(id));
      stopListening = database.listen(
        cancelChannel,
        () => void executions.checkCancels().catch((error: Error) => log.warn({ err: error }, 'could not look for cancels')),
      );
      upkeep = scheduleUpkeep({ cache, dependencies, host, log, store });
      watch = startWatch({ log, check: () => checkReadiness({ config, provider, store }) });
    },

    async stop() {
      if (upkeep) clearInterval(upkeep);
      watch?.stop();
      guard?.stop();
      // Who waits for packages must not hold up the others.
      await dependencies.stop();
      await executions.drain(config.drainTimeout);
      stopListening?.();
      await output?.stop();
      await ingestion?.stop();
      await sandboxes.stop();
      await stock.close();
      await egress.stop();
      await webhooks.stop();
      await heartbeat?.stop();
      for (const one of configured) await one.close();
      await images?.close();
      await provider.close();
      await store.close();
      lock.release();
    },
  };
}

/** Of the parts of the box that may be on this machine. */
function portsOf(addresses: readonly (string | undefined)[]): number[] {
  const usual: Record<string, number> = { 'http:': 80, 'https:': 443, 'postgres:': 5432, 'postgresql:': 5432 };
  return addresses.flatMap((address) => {
    if (address === undefined || !URL.canParse(address)) return [];
    const { port, protocol } = new URL(address);
    const number = port === '' ? usual[protocol] : Number(port);
    return number === undefined ? [] : [number];
  });
}

interface UpkeepParts {
  readonly cache: SkillCache;
  readonly dependencies: HostedDependencies;
  readonly host: string;
  readonly log: Logger;
  readonly store: Store;
}

/** Hourly; with several hosts one of them sweeps the blobs they share. */
function scheduleUpkeep({ cache, dependencies, host, log, store }: UpkeepParts): NodeJS.Timeout {
  const { blobs, database, leases } = store;
  const run = async (): Promise<void> => {
    cache.sweep(skillsUnusedForMs);
    dependencies.sweep(skillsUnusedForMs);
    if (!(await leases.acquire('upkeep', host, hourMs / 2))) return;
    await dependencies.removeOutdated(new Date(Date.now() - buildsUnusedForMs).toISOString());
    const removed = await sweepBlobs(database, blobs);
    const before = new Date(Date.now() - idempotencyForMs).toISOString();
    await database.kysely.deleteFrom('idempotency_keys').where('created_at', '<', before).execute();
    if (removed > 0) log.info({ removed }, 'removed blobs that nothing refers to');
  };
  const timer = setInterval(() => void run().catch((error: Error) => log.error({ err: error }, 'upkeep failed')), hourMs);
  timer.unref();
  return timer;
}

/** Hosts with different secrets could not read each other's queue or links; better to say so at start. */
async function agreeOnSecret({ database }: Store, secrets: Secrets): Promise<void> {
  const row = { name: 'secret_fingerprint', value: secrets.fingerprint };
  await database.kysely
    .insertInto('box_facts')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const known = await database.kysely.selectFrom('box_facts').select('value').where('name', '=', row.name).executeTakeFirstOrThrow();
  if (known.value === secrets.fingerprint) return;
  throw new BoxError('start_failed', 'This host has another secret key than the box whose database it uses.', {
    hint: 'Give all hosts the same SKILLBOX_SECRET_KEY (the first one keeps it in box.key of its state root).',
  });
}

/** The first start makes the administrator's key; later ones keep it. */
async function ensureAdminKey(keys: Keys, file: string): Promise<void> {
  const known = existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
  if (known && (await keys.identify(known))) return;
  const created = await keys.create({ name: 'local administrator', tenant: 'default', actor: 'adm', scopes: ['admin'] });
  writePrivateFile(file, `${created.key}\n`);
}
