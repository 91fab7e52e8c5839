import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { composeIsInstalled } from '../../../../../../tests/support/compose-host.ts';
import { refuse } from './findings.ts';
import { asMap, inspectConfig, type Json } from './policy.ts';

const web = (more: Json): Json => ({ services: { web: { image: 'x', ...more } } });
const needs = (config: Json): string[] => [...new Set(inspectConfig(config, '/project').map((finding) => finding.needs))];

/** As a compose file says it; what it needs in options.allow. */
const refused: readonly [string, Json, string][] = [
  ['privileged', web({ privileged: true }), 'privileged'],
  ['cap_add', web({ cap_add: ['SYS_ADMIN'] }), 'capabilities'],
  ['devices', web({ devices: ['/dev/kvm:/dev/kvm'] }), 'devices'],
  ['device_cgroup_rules', web({ device_cgroup_rules: ['a *:* rwm'] }), 'devices'],
  ['seccomp off', web({ security_opt: ['seccomp:unconfined'] }), 'security_opt'],
  ['apparmor off', web({ security_opt: ['apparmor=unconfined', 'no-new-privileges:true'] }), 'security_opt'],
  ['runtime', web({ runtime: 'nvidia' }), 'runtime'],
  ['sysctls', web({ sysctls: { 'net.core.somaxconn': '1024' } }), 'sysctls'],
  ['pid host', web({ pid: 'host' }), 'host_namespaces'],
  ['ipc host', web({ ipc: 'host' }), 'host_namespaces'],
  ['ipc of a stranger', web({ ipc: 'container:other' }), 'host_namespaces'],
  ['userns host', web({ userns_mode: 'host' }), 'host_namespaces'],
  ['network host', web({ network_mode: 'host' }), 'host_network'],
  ['network of a stranger', web({ network_mode: 'container:other' }), 'host_network'],
  ['a file of the host', web({ volumes: ['/etc:/host:ro'] }), 'host_mounts'],
  ['a file of the host, long', web({ volumes: [{ type: 'bind', source: '/etc', target: '/host', read_only: true }] }), 'host_mounts'],
  ['the engine’s socket', web({ volumes: ['/var/run/docker.sock:/var/run/docker.sock'] }), 'host_mounts'],
  ['a way out of the project', web({ volumes: ['../../x:/x:ro'] }), 'host_mounts'],
  ['the account’s home', web({ volumes: ['~/.ssh:/x:ro'] }), 'host_mounts'],
  ['mounts that spread', web({ volumes: ['./data:/x:ro,rshared'] }), 'host_mounts'],
  ['writing the project', web({ volumes: ['./data:/x'] }), 'writable_mounts'],
  [
    'a volume that is a folder of the host',
    { ...web({ volumes: ['thing:/x'] }), volumes: { thing: { driver_opts: { type: 'none', o: 'bind', device: '/etc' } } } },
    'host_mounts',
  ],
  ['a volume of another driver', { ...web({ volumes: ['thing:/x'] }), volumes: { thing: { driver: 'other' } } }, 'host_mounts'],
  ['a volume that others made', { ...web({ volumes: ['thing:/x'] }), volumes: { thing: { external: true } } }, 'external'],
  ['a network that others made', { ...web({ networks: ['thing'] }), networks: { thing: { external: true } } }, 'external'],
  ['a network on the host’s card', { ...web({ networks: ['thing'] }), networks: { thing: { driver: 'macvlan' } } }, 'host_network'],
  [
    'addresses of its own choice',
    { ...web({ networks: ['thing'] }), networks: { thing: { ipam: { config: [{ subnet: '10.0.0.0/8' }] } } } },
    'host_network',
  ],
  ['files of a stranger', web({ volumes_from: ['container:other'] }), 'external'],
  ['external_links', web({ external_links: ['other'] }), 'external'],
  ['a name for the host', web({ extra_hosts: ['host:host-gateway'] }), 'host_gateway'],
  ['cgroup_parent', web({ cgroup_parent: '/' }), 'key:cgroup_parent'],
  ['oom_kill_disable', web({ oom_kill_disable: true }), 'key:oom_kill_disable'],
  ['logs to elsewhere', web({ logging: { driver: 'syslog' } }), 'external'],
  ['a build outside', web({ build: '/etc' }), 'host_mounts'],
  ['a build from an address', web({ build: 'https://example.com/x.git' }), 'remote_builds'],
  ['a Dockerfile outside', web({ build: { context: '.', dockerfile: '../../x' } }), 'host_mounts'],
  ['a build in the host’s network', web({ build: { context: '.', network: 'host' } }), 'host_network'],
  ['a secret of the host', { ...web({ secrets: ['thing'] }), secrets: { thing: { file: '/etc/shadow' } } }, 'host_mounts'],
  ['labels of compose', web({ labels: { 'com.docker.compose.project': 'other' } }), 'key:labels'],
];

/** What only a newer compose resolves, or writes in another way. */
const refusedByNewer: readonly [string, Json, string][] = [
  ['uts host', web({ uts: 'host' }), 'host_namespaces'],
  ['cgroup host', web({ cgroup: 'host' }), 'host_namespaces'],
  ['gpus', web({ gpus: 'all' }), 'devices'],
  ['reserved devices', web({ deploy: { resources: { reservations: { devices: [{ capabilities: ['gpu'] }] } } } }), 'devices'],
  ['use_api_socket', web({ use_api_socket: true }), 'key:use_api_socket'],
  ['a program of the host', web({ provider: { type: 'model' } }), 'key:provider'],
  ['hooks', web({ post_start: [{ command: 'x', privileged: true }] }), 'key:post_start'],
  ['build with the host’s keys', web({ build: { context: '/project', ssh: ['default'] } }), 'remote_builds'],
  ['build with secrets', web({ build: { context: '/project', secrets: ['s'] } }), 'remote_builds'],
  ['build with rights', web({ build: { context: '/project', entitlements: ['security.insecure'] } }), 'remote_builds'],
  ['privileged build', web({ build: { context: '/project', privileged: true } }), 'remote_builds'],
  ['other contexts', web({ build: { context: '/project', additional_contexts: { x: '/etc' } } }), 'remote_builds'],
  ['a pipe', web({ volumes: [{ type: 'npipe', source: 'x', target: 'y' }] }), 'host_mounts'],
  [
    'spreading, long',
    web({ volumes: [{ type: 'bind', source: '/project/a', target: '/x', read_only: true, bind: { propagation: 'rshared' } }] }),
    'host_mounts',
  ],
  ['env_file outside', web({ env_file: [{ path: '/etc/environment' }] }), 'host_mounts'],
  ['a range of ports', web({ ports: ['8000-8010:8000-8010'] }), 'public_ports'],
  ['a new top key', { ...web({}), models: { m: { model: 'x' } } }, 'key:models'],
  ['a name that hides a key', web({ constructor: 'x' }), 'key:constructor'],
  ['a project beside it', web({ volumes: [{ type: 'bind', source: '/project-2/a', target: '/x', read_only: true }] }), 'host_mounts'],
];

const harmless = {
  services: {
    site: {
      image: 'x',
      build: { context: '.', args: { A: 'b' } },
      command: ['serve'],
      environment: { A: 'b' },
      ports: ['8080:80', '127.0.0.1:9000:9000', '53:53/udp'],
      expose: ['3000'],
      volumes: ['data:/data', './conf:/conf:ro', '/anonymous', { type: 'tmpfs', target: '/t' }],
      depends_on: { db: { condition: 'service_healthy' } },
      networks: { front: { aliases: ['site'] } },
      security_opt: ['no-new-privileges:true'],
      extra_hosts: ['example:10.0.0.1'],
      cap_drop: ['ALL'],
      logging: { driver: 'json-file', options: { 'max-size': '1m' } },
      labels: { any: 'thing' },
      restart: 'always',
      privileged: false,
    },
    db: { image: 'y', healthcheck: { test: ['CMD', 'true'] }, network_mode: 'none', ipc: 'private' },
  },
  volumes: { data: {} },
  networks: { front: { internal: true } },
} satisfies Json;

describe('a configuration', () => {
  it.each([...refused.filter(([, config]) => !/\.\/|"\."/.test(JSON.stringify(config))), ...refusedByNewer])(
    'with %s is refused',
    (_name, config, allowance) => {
      expect(needs(config)).toEqual([allowance]);
      const findings = inspectConfig(config, '/project');
      expect(() => refuse(findings, [])).toThrow(allowance);
      expect(() => refuse(findings, [allowance])).not.toThrow();
    },
  );
});

describe.skipIf(!composeIsInstalled())('a project as docker-compose resolves it', () => {
  let folder: string;
  let findings: readonly { readonly where: string; readonly needs: string }[];
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'sb-policy-')));
    mkdirSync(join(folder, 'conf'));
    findings = inspectConfig(resolved(together()), folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const resolved = (config: Json): Json => {
    const file = join(folder, 'compose.yaml');
    writeFileSync(file, JSON.stringify(config));
    return asMap(parse(execFileSync('docker-compose', ['-f', file, '--project-directory', folder, 'config'], { encoding: 'utf8' })));
  };

  /** All in one project, each with names of its own: compose takes its time for each start. */
  const together = (): Json => {
    const all = [harmless, ...refused.map(([, config], index) => numbered(config, index))];
    const merged = (key: string): Json => Object.assign({}, ...all.map((config) => asMap(config)[key] ?? {}));
    return { services: merged('services'), volumes: merged('volumes'), networks: merged('networks'), secrets: merged('secrets') };
  };
  const numbered = (config: Json, index: number): Json =>
    JSON.parse(JSON.stringify(config).replace(/"(web|thing)(?=[":])/g, `"$1${index}`)) as Json;

  it.each(refused.map(([name, , allowance], index) => ({ name, allowance, index })))('with $name is refused', ({ allowance, index }) => {
    const ofCase = findings.filter(({ where }) => new RegExp(`\\.(web|thing)${index}(\\.|$)`).test(where));
    expect(ofCase.map((finding) => finding.needs)).toContain(allowance);
  });

  it('that keeps to itself is not', () => {
    expect(findings.filter(({ where }) => !/\.(web|thing)\d+(\.|$)/.test(where))).toEqual([]);
  });
});
