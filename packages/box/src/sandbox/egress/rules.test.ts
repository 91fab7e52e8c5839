import type { EgressRule } from '@skillbox/protocol';
import { describe, expect, it } from 'vitest';
import { parseAuthority } from './hosts.ts';
import { type Ask, covers, decide, parsePolicy, parseRule } from './rules.ts';

/** `GET host:port/path`, or `CONNECT host:port`. */
function ask(text: string): Ask {
  const [method = '', target = ''] = text.split(' ');
  const [authority = '', path] = /^([^/]*)(\/.*)?$/.exec(target)?.slice(1) ?? [];
  const { host, port = method === 'CONNECT' ? 443 : 80 } = parseAuthority(authority);
  return { method, host, port, path: method === 'CONNECT' ? undefined : (path ?? '/') };
}

const allows = (rule: EgressRule, text: string): boolean => {
  try {
    decide(parsePolicy('allow', [rule]), ask(text));
    return true;
  } catch (error) {
    expect(error).toMatchObject({ reason: 'not_allowed' });
    return false;
  }
};

describe('a rule', () => {
  it.each<[EgressRule, string, boolean]>([
    ['example.com', 'GET example.com', true],
    ['example.com', 'CONNECT example.com', true],
    ['example.com', 'CONNECT EXAMPLE.COM', true],
    ['EXAMPLE.com', 'CONNECT example.com', true],
    ['example.com', 'CONNECT example.com:8443', false],
    ['example.com', 'CONNECT www.example.com', false],
    ['example.com', 'CONNECT notexample.com', false],
    ['example.com', 'CONNECT example.com.evil.test', false],
    ['example.com:8443', 'CONNECT example.com:8443', true],
    ['example.com:8443', 'CONNECT example.com', false],
    [{ host: 'example.com', ports: [22, 8443] }, 'CONNECT example.com:22', true],
    [{ host: 'example.com', ports: [22, 8443] }, 'CONNECT example.com', false],
    ['*.example.com', 'CONNECT www.example.com', true],
    ['*.example.com', 'CONNECT a.b.example.com', true],
    ['*.example.com', 'CONNECT example.com', false],
    ['*.example.com', 'CONNECT notexample.com', false],
    ['*.example.com:8443', 'CONNECT a.example.com:8443', true],
    ['*', 'CONNECT anything.test', true],
    ['*', 'CONNECT 192.0.2.7', false],
    ['*', 'CONNECT [2001:db8::1]', false],
    ['*.0.2.example', 'CONNECT 192.0.2.7', false],
    ['192.0.2.7', 'CONNECT 192.0.2.7', true],
    ['192.0.2.7', 'CONNECT 192.0.2.8', false],
    ['[2001:db8:0::1]', 'CONNECT [2001:db8::1]', true],
    ['[2001:db8::1]:8443', 'CONNECT [2001:db8::1]:8443', true],
    [{ host: 'example.com', methods: ['get'] }, 'GET example.com/x', true],
    [{ host: 'example.com', methods: ['GET'] }, 'POST example.com/x', false],
    [{ host: 'example.com', methods: ['GET'] }, 'CONNECT example.com', false],
    [{ host: 'example.com', methods: ['CONNECT'] }, 'CONNECT example.com', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1/x', true],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v2', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'CONNECT example.com', false],
    [{ host: 'example.com', paths: ['/v1'] }, 'GET example.com/v1', true],
    [{ host: 'example.com', paths: ['/v1'] }, 'GET example.com/v1x', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1/../admin', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1/%2e%2E/admin', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1/..;/admin', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1/..%2fadmin', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1/..\\admin', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com/v1//admin', false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'GET example.com//v1/x', false],
    ['example.com', 'GET example.com/a/../b', true],
  ])('%j: %s is %s', (rule, text, expected) => {
    expect(allows(rule, text)).toBe(expected);
  });

  it.each<EgressRule>([
    'a*.example.com',
    '*.',
    '*.*',
    '**',
    '*.127.0.0.1',
    'example.com:0',
    'example.com:65536',
    'example.com:x',
    'http://example.com',
    'user@example.com',
    'example.com/path',
    'example.com.',
    '127.1',
    '::1',
    'b\u00fccher.example',
    '',
    { host: 'example.com', paths: ['v1'] },
    { host: 'example.com', paths: ['/a/*/b'] },
    { host: 'example.com', paths: ['/a?b'] },
    { host: 'example.com', paths: ['/a/../b'] },
  ])('cannot be %j', (rule) => {
    expect(() => parseRule(rule)).toThrow();
  });

  it('counts for nothing when the network is off', () => {
    expect(() => decide({ mode: 'none', rules: [parseRule('*')] }, ask('GET example.com'))).toThrow(
      expect.objectContaining({ reason: 'network_off' }),
    );
  });
});

describe('the bound of a rule', () => {
  it.each<[EgressRule, EgressRule, boolean]>([
    ['example.com', 'example.com', true],
    ['example.com', 'other.test', false],
    ['example.com', 'example.com:443', true],
    ['example.com:443', 'example.com', false],
    ['example.com', 'example.com:22', false],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', '*.example.com', true],
    ['*.example.com', '*.a.example.com', true],
    ['*.a.example.com', '*.example.com', false],
    ['*.example.com', 'example.com', false],
    ['example.com', '*.example.com', false],
    ['*', '*.example.com', true],
    ['*', '*', true],
    ['*', '192.0.2.7', false],
    ['*.example.com', '*', false],
    ['192.0.2.7', '192.0.2.7', true],
    ['example.com', { host: 'example.com', methods: ['GET'] }, true],
    [{ host: 'example.com', methods: ['GET'] }, 'example.com', false],
    [{ host: 'example.com', methods: ['GET', 'POST'] }, { host: 'example.com', methods: ['GET'] }, true],
    [{ host: 'example.com', methods: ['GET'] }, { host: 'example.com', methods: ['GET', 'POST'] }, false],
    [{ host: 'example.com', paths: ['/v1/*'] }, { host: 'example.com', paths: ['/v1/x', '/v1/a/*'] }, true],
    [{ host: 'example.com', paths: ['/v1/*'] }, { host: 'example.com', paths: ['/v1*'] }, false],
    [{ host: 'example.com', paths: ['/v1/x'] }, { host: 'example.com', paths: ['/v1/x*'] }, false],
    [{ host: 'example.com', paths: ['/v1/*'] }, 'example.com', false],
  ])('%j covers %j: %s', (bound, wanted, expected) => {
    expect(covers(parseRule(bound), parseRule(wanted))).toBe(expected);
  });
});
