import { describe, expect, it } from 'vitest';
import { asMap, type Json } from './policy.ts';
import { type Settling, settle } from './settle.ts';

const settling: Settling = {
  limits: { memoryBytes: 512 * 2 ** 20, cpu: 4, processes: 100, openFiles: 1024, diskBytes: 0, tmpBytes: 0 },
  ...{ processors: 2, busyPorts: new Set(), publicPorts: false, order: ['b', 'a'] },
  ...{ guestProgram: '/home/me/.skillbox/guest', socketFolder: '/home/me/run' },
};
const service = (config: Json, name: string): Json => asMap(asMap(config.services)[name]);
const one = (given: Json, more: Partial<Settling> = {}): Json =>
  service(settle({ services: { web: given } }, { ...settling, ...more }).config, 'web');

describe('a project that was read', () => {
  it('has the main service that is named, labelled, or the first in its file', () => {
    const plain = { services: { a: {}, b: {} } };
    expect(settle(plain, settling).service).toBe('b');
    expect(settle({ services: { a: { labels: ['skillbox.main=true'] }, b: {} } }, settling).service).toBe('a');
    expect(settle({ services: { a: { labels: { 'skillbox.main': 'true' } }, b: {} } }, settling).service).toBe('a');
    expect(settle(plain, { ...settling, service: 'a' }).service).toBe('a');
    expect(() => settle(plain, { ...settling, service: 'c' })).toThrow('no service c');
    expect(() => settle({ services: {} }, settling)).toThrow('no service');
  });

  it('gives the guest to the main service alone', () => {
    const { config } = settle({ services: { a: {}, b: { volumes: ['data:/data'] } }, volumes: { data: {} } }, settling);
    expect(service(config, 'b').volumes).toEqual([
      'data:/data',
      { type: 'bind', source: '/home/me/.skillbox/guest', target: '/.skillbox/guest', read_only: true },
      { type: 'bind', source: '/home/me/run', target: '/.skillbox/run' },
      { type: 'volume', source: 'skillbox-home', target: '/.skillbox/home' },
    ]);
    expect(service(config, 'a').volumes).toBeUndefined();
    expect(config.volumes).toEqual({ data: {}, 'skillbox-home': {} });
  });

  it('keeps lower limits and lowers higher ones, in every spelling', () => {
    expect(one({})).toMatchObject({ mem_limit: 512 * 2 ** 20, cpus: 2, pids_limit: 101 });
    expect(one({ mem_limit: '64m', cpus: 0.5, pids_limit: 10 })).toMatchObject({ mem_limit: 64 * 2 ** 20, cpus: 0.5, pids_limit: 10 });
    expect(one({ mem_limit: '8g', cpus: '16', pids_limit: -1 })).toMatchObject({ mem_limit: 512 * 2 ** 20, cpus: 2, pids_limit: 101 });
    expect(one({ mem_limit: 67108864 }).mem_limit).toBe(64 * 2 ** 20);
    const deployed = one({
      deploy: { replicas: 2, resources: { limits: { memory: '32M', cpus: '0.1' }, reservations: { memory: '1M' } } },
    });
    expect(deployed).toMatchObject({ mem_limit: 32 * 2 ** 20, cpus: 0.1 });
    expect(deployed.deploy).toEqual({ replicas: 2, resources: { reservations: { memory: '1M' }, limits: {} } });
  });

  it('is published on loopback, at numbers that are free and differ', () => {
    const busyPorts = new Set(
      Array.from({ length: 12_000 }, (_, index) => 20_000 + index).filter((port) => port !== 20_007 && port !== 31_000),
    );
    const { config, ports } = settle(
      { services: { a: { ports: ['80:8000', { target: 53, published: '53', protocol: 'udp' }] }, b: { expose: ['80', '9000'] } } },
      { ...settling, busyPorts },
    );
    const published = service(config, 'a').ports as string[];
    expect(published.map((port) => port.replace(/:(20007|31000):/, ':N:'))).toEqual(['127.0.0.1:N:8000/tcp', '127.0.0.1:N:53/udp']);
    expect(new Set(published.map((port) => port.split(':')[1])).size).toBe(2);
    expect(ports).toEqual([
      { service: 'a', port: 80, target: 8000, loopback: Number(published[0]?.split(':')[1]) },
      { service: 'b', port: 30_000, target: 80 },
      { service: 'b', port: 9000, target: 9000 },
    ]);
    expect(() => settle({ services: { a: { ports: ['1', '2', '3'] } } }, { ...settling, busyPorts })).toThrow('no free port');
  });

  it('is published as it says where the template allows it', () => {
    const { config, ports } = settle({ services: { b: { ports: ['0.0.0.0:80:8000'] } } }, { ...settling, publicPorts: true });
    expect(service(config, 'b').ports).toEqual(['0.0.0.0:80:8000']);
    expect(ports).toEqual([{ service: 'b', port: 80, target: 8000 }]);
  });

  it('has no name that only one can have, and no time without end', () => {
    const { config } = settle(
      {
        ...{ name: 'mine', version: '3' },
        services: { b: { container_name: 'only', restart: 'always', stop_grace_period: '1h', 'x-note': 1 } },
        volumes: { v: { name: 'mine' }, theirs: { external: true, name: 'theirs' } },
        networks: { n: { name: 'mine', internal: true } },
      },
      settling,
    );
    expect(service(config, 'b')).not.toHaveProperty('container_name');
    expect(service(config, 'b')).not.toHaveProperty('x-note');
    expect(service(config, 'b')).toMatchObject({ restart: 'unless-stopped', stop_grace_period: '30s' });
    expect(config).toMatchObject({ volumes: { v: {}, theirs: { external: true, name: 'theirs' } }, networks: { n: { internal: true } } });
    expect(JSON.stringify(config)).not.toContain('mine');
    expect(one({ stop_grace_period: '2s' }).stop_grace_period).toBe('2s');
  });
});
