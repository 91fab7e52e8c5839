import { describe, expect, it } from 'vitest';
import { parseAuthority, parseHost } from './hosts.ts';

describe('hosts', () => {
  it.each([
    ['example.com', 'example.com', false],
    ['EXAMPLE.Com', 'example.com', false],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example', false],
    ['a_b.example', 'a_b.example', false],
    ['localhost', 'localhost', false],
    ['192.0.2.7', '192.0.2.7', true],
    ['[2001:DB8:0:0::1]', '2001:db8::1', true],
    ['[::ffff:127.0.0.1]', '::ffff:127.0.0.1', true],
  ])('%j is %j', (given, text, isAddress) => {
    expect(parseHost(given)).toEqual({ text, isAddress });
  });

  it.each([
    ['a dot at the end', 'example.com.'],
    ['a dot at the end of an address', '127.0.0.1.'],
    ['decimal', '2130706433'],
    ['octal', '0177.0.0.1'],
    ['an octal part', '127.0.0.01'],
    ['hexadecimal', '0x7f000001'],
    ['hexadecimal parts', '0x7f.0.0.0x1'],
    ['a short form', '127.1'],
    ['too large a number', '4294967297'],
    ['a name that ends in a number', 'example.1'],
    ['a null byte', 'example.com\0.evil.test'],
    ['an encoded null byte', 'example.com%00.evil.test'],
    ['a blank', 'example.com .evil.test'],
    ['a line end', 'example.com\r\nHost: evil.test'],
    ['a letter that looks like another', 'ex\u0430mple.com'],
    ['a wide letter', '\uff45xample.com'],
    ['a wide dot', 'example\u3002com'],
    ['a letter whose lower case is ASCII', 'example.\u212aom'],
    ['digits in circles', '\u2460\u2461\u2466.0.0.1'],
    ['an empty label', 'a..b'],
    ['a dot at the start', '.example.com'],
    ['a dash at the start', '-a.example'],
    ['a long label', `${'a'.repeat(64)}.example`],
    ['a long name', `${'a.'.repeat(127)}example`],
    ['nothing', ''],
    ['a star', '*.example.com'],
    ['a slash', 'example.com/x'],
    ['a scope', '[fe80::1%lo]'],
    ['brackets around a name', '[example.com]'],
    ['brackets around IPv4', '[127.0.0.1]'],
    ['no brackets', '::1'],
  ])('refuses %s', (_what, given) => {
    expect(() => parseHost(given)).toThrow(expect.objectContaining({ reason: 'bad_host' }));
  });

  it.each(['user@example.com', 'example.com:80@evil.test', 'user:pw@example.com:80'])('takes no user name: %j', (given) => {
    expect(() => parseAuthority(given)).toThrow(/user name/);
  });

  it.each(['', '0', '65536', '080', '+80', '-1', '8 0', '80a', '0x50', '99999999999'])('takes no port %j', (port) => {
    expect(() => parseAuthority(`example.com:${port}`)).toThrow(/port/);
  });

  it('splits host and port', () => {
    expect(parseAuthority('Example.com:8443')).toEqual({ host: { text: 'example.com', isAddress: false }, port: 8443 });
    expect(parseAuthority('[::1]:80')).toEqual({ host: { text: '::1', isAddress: true }, port: 80 });
    expect(parseAuthority('example.com').port).toBeUndefined();
  });
});
