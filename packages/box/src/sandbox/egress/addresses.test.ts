import { describe, expect, it } from 'vitest';
import { createGuard, kindOf, parsePrivateHosts } from './addresses.ts';
import { parseHost } from './hosts.ts';

describe('addresses', () => {
  it.each([
    ['8.8.8.8', 'public'],
    ['192.0.2.1', 'public'],
    ['198.51.100.1', 'public'],
    ['203.0.113.80', 'public'],
    ['2606:4700::1', 'public'],
    ['2001:db8::1', 'public'],
    ['11.0.0.0', 'public'],
    ['172.15.255.255', 'public'],
    ['172.32.0.0', 'public'],
    ['100.63.255.255', 'public'],
    ['100.128.0.0', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['::1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['::', 'unspecified'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['100.127.255.255', 'private'],
    ['198.18.0.1', 'private'],
    ['fc00::1', 'private'],
    ['fd00::2', 'private'],
    ['fec0::1', 'private'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['169.254.169.254', 'metadata'],
    ['169.254.170.2', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['192.0.0.192', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['ff02::1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'reserved'],
    ['2001:0:1::1', 'reserved'],
    // IPv4 in other clothes: mapped, compatible, translated, NAT64, 6to4.
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:10.0.0.1', 'private'],
    ['::ffff:169.254.169.254', 'metadata'],
    ['::ffff:8.8.8.8', 'public'],
    ['::127.0.0.1', 'loopback'],
    ['::a00:1', 'private'],
    ['::ffff:0:127.0.0.1', 'loopback'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['64:ff9b::a9fe:a9fe', 'metadata'],
    ['64:ff9b::808:808', 'public'],
    ['64:ff9b:1::1', 'private'],
    ['2002:7f00:1::', 'loopback'],
    ['2002:a00:1::1', 'private'],
    ['2002:a9fe:a9fe::1', 'metadata'],
    ['2002:808:808::1', 'public'],
  ])('%s is %s', (address, kind) => {
    expect(kindOf(address)).toBe(kind);
  });
});

describe('the guard', () => {
  const guard = (listed: string, ownAddresses: string[] = ['192.0.2.2', 'fe80::5']) =>
    createGuard({
      privateHosts: parsePrivateHosts(listed),
      ownPorts: () => new Set([8080, 5432]),
      ownAddresses: () => ownAddresses,
    });
  const passes = (listed: string, host: string, address: string, port = 80): boolean => {
    try {
      guard(listed).check(parseHost(host), address, port);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ reason: 'private_address' });
      return false;
    }
  };

  it.each<[string, string, string, number, boolean]>([
    ['', 'a.test', '203.0.113.80', 443, true],
    ['', 'a.test', '10.0.0.1', 443, false],
    ['', 'a.test', '192.0.2.2', 22, false],
    ['10.0.0.0/8', 'a.test', '10.1.2.3', 443, true],
    ['10.0.0.0/8', 'a.test', '::ffff:10.1.2.3', 443, true],
    ['10.0.0.0/8', 'a.test', '192.168.1.1', 443, false],
    ['fd00::/8', 'a.test', 'fd00::2', 443, true],
    ['db.corp', 'db.corp', '10.1.2.3', 443, true],
    ['db.corp', 'other.corp', '10.1.2.3', 443, false],
    ['db.corp:5000', 'db.corp', '10.1.2.3', 443, false],
    ['db.corp:5000', 'db.corp', '10.1.2.3', 5000, true],
    ['10.1.2.3:5000', 'a.test', '10.1.2.3', 5000, true],
    ['192.0.2.2', 'a.test', '192.0.2.2', 22, true],
    // The box's own ports on this machine want their own entry.
    ['127.0.0.0/8', 'a.test', '127.0.0.1', 9000, true],
    ['127.0.0.0/8', 'a.test', '127.0.0.1', 8080, false],
    ['127.0.0.0/8', 'a.test', '127.1.2.3', 5432, false],
    ['a.test', 'a.test', '127.0.0.1', 8080, false],
    ['a.test', 'a.test', '192.0.2.2', 8080, false],
    ['a.test:8080', 'a.test', '127.0.0.1', 8080, true],
    ['127.0.0.1:8080', 'a.test', '127.0.0.1', 8080, true],
    ['127.0.0.1:8080', 'a.test', '127.0.0.2', 8080, false],
    ['a.test:9000,127.0.0.0/8', 'a.test', '127.0.0.1', 8080, false],
    ['10.0.0.0/8', 'a.test', '10.0.0.9', 8080, true],
    // Nothing opens these.
    ['169.254.0.0/16', 'a.test', '169.254.169.254', 80, false],
    ['169.254.169.254:80', 'a.test', '169.254.169.254', 80, false],
    ['169.254.0.0/16', 'a.test', '169.254.1.1', 80, true],
    ['0.0.0.0/0', 'a.test', '0.0.0.0', 80, false],
    ['224.0.0.0/4', 'a.test', '224.0.0.1', 80, false],
  ])('with %j lets %s at %s:%i through: %s', (listed, host, address, port, expected) => {
    expect(passes(listed, host, address, port)).toBe(expected);
  });

  it('knows the addresses of this machine', () => {
    const own = createGuard({ privateHosts: [], ownPorts: () => new Set() });
    expect(() => own.check(parseHost('a.test'), '127.0.0.1', 80)).toThrow(/loopback/);
  });

  it.each(['10.0.0.0/33', '10.0.0.0/x', '10.0/8', 'a b', 'a.test:0', '::1'])('says what is wrong with %j', (listed) => {
    expect(() => parsePrivateHosts(listed)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});
