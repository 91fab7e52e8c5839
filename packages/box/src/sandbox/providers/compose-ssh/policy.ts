/**
 * Reads the resolved configuration of a project, and finds what reaches for the host. Keys are on a list of what is known to
 * be harmless: what a later compose adds is refused until somebody has looked at it.
 */

import { posix } from 'node:path';
import type { Allowance, Finding } from './findings.ts';
import { mountOf } from './mounts.ts';
import { publicationOf } from './ports.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Absolute path of the project on the host. Links in it lead nowhere else: that was checked before. */
export function inspectConfig(config: Json, project: string): Finding[] {
  const isInside = (path: unknown): boolean => typeof path === 'string' && isWithin(project, path);
  const findings = unknownKeys(config, topKeys, '');
  for (const [name, service] of entries(config.services)) findings.push(...inspectService(`services.${name}`, service, isInside));
  for (const [name, volume] of entries(config.volumes)) findings.push(...inspectVolume(`volumes.${name}`, volume));
  for (const [name, network] of entries(config.networks)) findings.push(...inspectNetwork(`networks.${name}`, network));
  for (const kind of ['configs', 'secrets'] as const)
    for (const [name, source] of entries(config[kind])) findings.push(...inspectSource(`${kind}.${name}`, source, isInside));
  return findings;
}

export function isWithin(folder: string, path: string): boolean {
  const normal = posix.normalize(path);
  return normal === folder || normal.startsWith(`${folder}/`);
}

const topKeys = new Set(['version', 'name', 'services', 'volumes', 'networks', 'configs', 'secrets']);

/** Whatever they say, they concern the container alone. */
const harmless = new Set([
  ...['image', 'command', 'entrypoint', 'environment', 'working_dir', 'user', 'group_add', 'hostname', 'domainname', 'init', 'tty'],
  ...['stdin_open', 'read_only', 'tmpfs', 'expose', 'depends_on', 'healthcheck', 'restart', 'scale', 'profiles', 'platform'],
  ...['pull_policy', 'stop_signal', 'stop_grace_period', 'dns', 'dns_search', 'dns_opt', 'links', 'mac_address', 'cap_drop'],
  ...['container_name', 'attach', 'cpus', 'cpu_count', 'cpu_percent', 'cpu_period', 'cpu_quota', 'cpu_shares'],
  ...['cpuset', 'mem_limit', 'mem_reservation', 'mem_swappiness', 'memswap_limit', 'pids_limit', 'shm_size', 'ulimits', 'blkio_config'],
]);

type Look = (value: unknown, where: string, isInside: (path: unknown) => boolean) => Finding[];

const when = (is: boolean, where: string, needs: Allowance): Finding[] => (is ? [{ where, needs }] : []);
const whenGiven =
  (needs: Allowance): Look =>
  (value, where) =>
    when(!isEmpty(value), where, needs);
const shared: Look = (value, where) =>
  when(!isEmpty(value) && !['private', 'shareable', 'none'].includes(String(value)), where, 'host_namespaces');
const insideOnly: Look = (value, where, isInside) =>
  listOf(value).flatMap((file) => when(!isInside(typeof file === 'string' ? file : asMap(file).path), where, 'host_mounts'));

const looks: Readonly<Record<string, Look>> = {
  privileged: (value, where) => when(value !== false && !isEmpty(value), where, 'privileged'),
  cap_add: whenGiven('capabilities'),
  devices: whenGiven('devices'),
  device_cgroup_rules: whenGiven('devices'),
  gpus: whenGiven('devices'),
  runtime: whenGiven('runtime'),
  sysctls: whenGiven('sysctls'),
  external_links: whenGiven('external'),
  env_file: insideOnly,
  label_file: insideOnly,
  security_opt: (value, where) => listOf(value).flatMap((option) => when(!tightens.test(String(option)), where, 'security_opt')),
  pid: (value, where) => when(!isEmpty(value) && !isOfProject(value), where, 'host_namespaces'),
  ipc: (value, where, isInside) => (isOfProject(value) ? [] : shared(value, where, isInside)),
  uts: shared,
  userns_mode: shared,
  cgroup: shared,
  network_mode: (value, where) =>
    when(!isEmpty(value) && !isOfProject(value) && !['none', 'bridge', 'default'].includes(String(value)), where, 'host_network'),
  volumes_from: (value, where) => listOf(value).flatMap((from) => when(String(from).startsWith('container:'), where, 'external')),
  extra_hosts: (value, where) => when(JSON.stringify(value ?? null).includes('host-gateway'), where, 'host_gateway'),
  labels: (value, where) =>
    namesOf(value).flatMap((label) => (label.startsWith('com.docker.compose.') ? [{ where, needs: 'key:labels' as const }] : [])),
  ports: (value, where) => listOf(value).flatMap((port, index) => when(!publicationOf(port), `${where}[${index}]`, 'public_ports')),
  volumes: (value, where, isInside) => listOf(value).flatMap((mount, index) => inspectMount(mount, `${where}[${index}]`, isInside)),
  networks: (value, where) => entries(value).flatMap(([name, network]) => unknownKeys(network, serviceNetworkKeys, `${where}.${name}`)),
  configs: () => [],
  secrets: () => [],
  logging: (value, where) => {
    const { driver } = asMap(value);
    return when(!isEmpty(driver) && !['json-file', 'local', 'none'].includes(String(driver)), where, 'external');
  },
  deploy: (value, where) => {
    const { reservations } = asMap(asMap(value).resources);
    return [
      ...unknownKeys(asMap(value), deployKeys, where),
      ...when(!isEmpty(asMap(reservations).devices) || !isEmpty(asMap(reservations).generic_resources), where, 'devices'),
    ];
  },
  build: inspectBuild,
};

const tightens = /^no-new-privileges([:=]true)?$/;
const serviceNetworkKeys = new Set(['aliases', 'ipv4_address', 'ipv6_address', 'priority', 'gw_priority', 'interface_name']);
const deployKeys = new Set([
  ...['mode', 'replicas', 'resources', 'restart_policy', 'labels', 'update_config', 'rollback_config', 'placement', 'endpoint_mode'],
]);

function inspectService(where: string, service: Json, isInside: (path: unknown) => boolean): Finding[] {
  return Object.entries(service).flatMap(([key, value]) => {
    if (harmless.has(key) || key.startsWith('x-')) return [];
    const look = Object.hasOwn(looks, key) ? looks[key] : undefined;
    return look ? look(value, `${where}.${key}`, isInside) : [{ where: `${where}.${key}`, needs: `key:${key}` as const }];
  });
}

function inspectMount(given: unknown, where: string, isInside: (path: unknown) => boolean): Finding[] {
  const { kind, source, writable, special } = mountOf(given);
  if (kind === 'volume' || kind === 'tmpfs') return when(special, where, 'host_mounts');
  if (kind !== 'bind' || special || !isInside(source)) return [{ where, needs: 'host_mounts' }];
  return when(writable, where, 'writable_mounts');
}

const buildKeys = new Set([
  ...['context', 'dockerfile', 'dockerfile_inline', 'args', 'labels', 'target', 'cache_from', 'shm_size', 'no_cache', 'pull', 'tags'],
  ...['platforms', 'ulimits', 'isolation'],
]);

function inspectBuild(value: unknown, where: string, isInside: (path: unknown) => boolean): Finding[] {
  if (isEmpty(value)) return [];
  const build: Json = typeof value === 'string' ? { context: value } : asMap(value);
  const { context, dockerfile, network, extra_hosts } = build;
  const found = Object.keys(build).flatMap((key) =>
    buildKeys.has(key) || ['network', 'extra_hosts'].includes(key) ? [] : when(!isEmpty(build[key]), `${where}.${key}`, 'remote_builds'),
  );
  const file = typeof dockerfile === 'string' && typeof context === 'string' ? posix.resolve(context, dockerfile) : undefined;
  return [
    ...found,
    ...when(
      !isInside(context),
      `${where}.context`,
      typeof context === 'string' && context.startsWith('/') ? 'host_mounts' : 'remote_builds',
    ),
    ...when(file !== undefined && !isInside(file), `${where}.dockerfile`, 'host_mounts'),
    ...when(!isEmpty(network) && network !== 'none' && network !== 'default', `${where}.network`, 'host_network'),
    ...when(JSON.stringify(extra_hosts ?? null).includes('host-gateway'), `${where}.extra_hosts`, 'host_gateway'),
  ];
}

function inspectVolume(where: string, volume: Json): Finding[] {
  const { driver, driver_opts, external } = volume;
  return [
    ...when(isExternal(external), where, 'external'),
    // A volume of the local driver may be a folder of the host under another name.
    ...when(!isEmpty(driver_opts) || (!isEmpty(driver) && driver !== 'local'), where, 'host_mounts'),
    ...unknownKeys(volume, new Set(['driver', 'driver_opts', 'external', 'name', 'labels']), where),
  ];
}

function inspectNetwork(where: string, network: Json): Finding[] {
  const { driver, driver_opts, external, ipam } = network;
  const { driver: ipamDriver, config, options } = asMap(ipam);
  return [
    ...when(isExternal(external), where, 'external'),
    ...when(!isEmpty(driver) && driver !== 'bridge' && driver !== 'default', where, 'host_network'),
    ...when(!isEmpty(driver_opts) || !isEmpty(config) || !isEmpty(options), where, 'host_network'),
    ...when(!isEmpty(ipamDriver) && ipamDriver !== 'default', where, 'host_network'),
    ...unknownKeys(
      network,
      new Set(['driver', 'driver_opts', 'external', 'ipam', 'name', 'labels', 'internal', 'attachable', 'enable_ipv6', 'enable_ipv4']),
      where,
    ),
  ];
}

function inspectSource(where: string, source: Json, isInside: (path: unknown) => boolean): Finding[] {
  return [
    ...when(isExternal(source.external), where, 'external'),
    ...when(source.file !== undefined && !isInside(source.file), `${where}.file`, 'host_mounts'),
    ...unknownKeys(source, new Set(['file', 'external', 'name', 'labels', 'content', 'environment']), where),
  ];
}

function unknownKeys(map: Json, known: ReadonlySet<string>, where: string): Finding[] {
  return Object.keys(map)
    .filter((key) => !known.has(key) && !key.startsWith('x-') && !isEmpty(map[key]))
    .map((key) => ({ where: where ? `${where}.${key}` : key, needs: `key:${key}` as const }));
}

const isExternal = (external: unknown): boolean => external !== undefined && external !== false && external !== null;
/** Of another service of the same project, which is looked at as well. */
const isOfProject = (value: unknown): boolean => typeof value === 'string' && value.startsWith('service:');

export function asMap(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function entries(value: unknown): [string, Json][] {
  return Object.entries(asMap(value)).map(([name, inner]) => [name, asMap(inner)]);
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : isEmpty(value) ? [] : [value]);

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Labels are a map, or a list of name=value. */
const namesOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.map((label) => String(label).split('=')[0] ?? '') : Object.keys(asMap(value));
