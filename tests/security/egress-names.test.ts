/** Names and addresses: no spelling, no answer of a name server and no header leads anywhere that the rules do not. */

import type { Sandbox } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EgressBox, startEgressBox, startTarget, type Target } from '../support/egress.ts';

let egress: EgressBox;
/** At 127.0.0.2, which ok.test and no other name may reach. */
let good: Target;
/** At 127.0.0.1, on the same port. */
let bad: Target;
/** Its list is as wide as one can be: what holds is the spelling and the address. */
let wide: Sandbox;

beforeAll(async () => {
  good = await startTarget(undefined, '127.0.0.2');
  bad = await startTarget(undefined, '127.0.0.1', good.port);
  egress = await startEgressBox(`127.0.0.2,ok.test`);
  egress.dns.set('ok.test', ['127.0.0.2']);
  wide = await egress.sandbox([
    { host: '*', ports: [80, good.port] },
    { host: 'only.example', ports: [80] },
    { host: 'ok.test', ports: [Number(new URL(egress.box.url).port)] },
  ]);
});
afterAll(async () => {
  await egress.stop();
  await good.stop();
  await bad.stop();
});

/** Status of an absolute request and of a CONNECT, for each host; with the Host header the same. */
const ask = (hosts: readonly string[], port = good.port, id = wide.id): Promise<[number, number][]> =>
  egress.python(
    id,
    `
answer([[status(get("http://%s:${port}/" % host, "%s:${port}" % host)), status(get("%s:${port}" % host, "%s:${port}" % host, method="CONNECT"))]
        for host in json.loads(${JSON.stringify(JSON.stringify(hosts))})])`,
  );

it('reaches what it may, in upper case too', async () => {
  const before = good.reached;
  expect(await ask(['ok.test', 'OK.Test'])).toEqual([
    [200, 200],
    [200, 200],
  ]);
  expect(good.reached).toBe(before + 4);
});

it('reads no odd spelling of an address, and takes none that is not listed', async () => {
  const odd = [
    '2130706433',
    '0177.0.0.1',
    '017700000001',
    '0x7f.0.0.1',
    '0x7f000001',
    '127.1',
    '127.0.1',
    '127.0.0.01',
    '127.0.0.1.',
    '[::1%25lo]',
  ];
  const plain = ['127.0.0.1', '127.0.0.2', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '0.0.0.0', '[::]'];
  const before = [good.reached, bad.reached];
  expect(await ask(odd)).toEqual(odd.map(() => [400, 400]));
  expect(await ask(plain)).toEqual(plain.map(() => [403, 403]));
  expect([good.reached, bad.reached]).toEqual(before);
});

it('takes no name with a dot at its end, a null byte, a user, a line end, or letters that only look right', async () => {
  const tricks = [
    ...[
      'ok.test.',
      'ok.test..',
      '.ok.test',
      'user@ok.test',
      'ok.test:80@evil.test',
      'ok.test%00.evil.test',
      'ok.test%2eevil.test',
      'ok.test%0d%0a',
    ],
    ...[
      'ok.test\\evil.test',
      'ok.test#evil.test',
      'ok.test?',
      'ok test',
      'ok.te\u017ft',
      '\u043ek.test',
      'ok\u3002test',
      '\uff4fk.test',
      'ok.test\u0000',
    ],
  ];
  const before = [good.reached, bad.reached];
  const answers = await egress.python<number[]>(
    wide.id,
    `
hosts = json.loads(${JSON.stringify(JSON.stringify(tricks))})
answer([status(talk(b"GET http://" + host.encode() + b":${good.port}/ HTTP/1.1\\r\\nHost: ok.test:${good.port}\\r\\nConnection: close\\r\\n\\r\\n")) for host in hosts] +
       [status(talk(b"CONNECT " + host.encode() + b":${good.port} HTTP/1.1\\r\\nHost: ok.test:${good.port}\\r\\n\\r\\n")) for host in hosts])`,
  );
  expect(answers).toEqual(answers.map(() => 400));
  expect([good.reached, bad.reached]).toEqual(before);
});

it('reaches no name that leads to loopback, private, link-local or metadata addresses', async () => {
  const forbidden = {
    'loop.test': ['127.0.0.1'],
    'loop6.test': ['::1'],
    'mapped.test': ['::ffff:7f00:1'],
    'nat64.test': ['64:ff9b::7f00:1'],
    'sixtofour.test': ['2002:7f00:1::1'],
    'ten.test': ['10.0.0.1'],
    'cgnat.test': ['100.64.0.1'],
    'link.test': ['169.254.1.1'],
    'meta.test': ['169.254.169.254'],
    'meta6.test': ['fd00:ec2::254'],
    'ula.test': ['fd00::1'],
    'local6.test': ['fe80::1'],
    'zero.test': ['0.0.0.0'],
    'zero6.test': ['::'],
    'multi.test': ['224.0.0.1'],
  };
  for (const [name, addresses] of Object.entries(forbidden)) egress.dns.set(name, addresses);
  const names = [...Object.keys(forbidden), 'localhost'];
  expect(await ask(names, 80)).toEqual(names.map(() => [403, 403]));
  const refused = (await egress.decisions(wide.id)).filter(
    ({ data }) => names.includes(String(data.host)) && data.reason === 'private_address',
  );
  expect(new Set(refused.map(({ data }) => data.host)).size).toBe(names.length);
});

describe('a name that changes its answer', () => {
  it('leads where it was checked, and is asked for once', async () => {
    egress.dns.set('rebind.test', ['127.0.0.2'], ['127.0.0.1']);
    const before = { good: good.reached, bad: bad.reached, asked: egress.dns.asked.length };
    const [[status] = []] = await egress.python<number[][]>(
      wide.id,
      `answer([[status(get("http://rebind.test:${good.port}/", "rebind.test:${good.port}"))]])`,
    );
    expect(status).toBe(200);
    expect([good.reached, bad.reached]).toEqual([before.good + 1, before.bad]);
    expect(egress.dns.asked.slice(before.asked)).toEqual(['rebind.test']);
    // The next request is checked anew.
    expect(await ask(['rebind.test'])).toEqual([[403, 403]]);
    expect(bad.reached).toBe(before.bad);
  });

  it('is refused when one of its addresses is', async () => {
    egress.dns.set('mixed.test', ['127.0.0.2', '127.0.0.1']);
    egress.dns.set('mixed6.test', ['127.0.0.2', '::1']);
    const before = [good.reached, bad.reached];
    expect(await ask(['mixed.test', 'mixed6.test'])).toEqual([
      [403, 403],
      [403, 403],
    ]);
    expect([good.reached, bad.reached]).toEqual(before);
  });
});

it('does not reach the box itself, whose loopback an entry without a port would open', async () => {
  const port = Number(new URL(egress.box.url).port);
  egress.dns.set('ok.test', ['127.0.0.1']);
  try {
    expect(await ask(['ok.test'], port)).toEqual([[403, 403]]);
    const last = (await egress.decisions(wide.id)).at(-1);
    expect(last?.data.message).toContain(`port ${port} is the box's own`);
  } finally {
    egress.dns.set('ok.test', ['127.0.0.2']);
  }
});

it('does not reach a port that no rule names', async () => {
  const before = good.reached;
  expect(await ask(['ok.test'], 22)).toEqual([[403, 403]]);
  const ports = await egress.python<number[]>(
    wide.id,
    `answer([status(get("ok.test:%s" % port, None, method="CONNECT", version="1.0")) for port in ("0", "65536", "${good.port}0", "-1", "+80", "080", "", "80,443", "http")])`,
  );
  expect(ports).toEqual(ports.map(() => 400));
  expect(good.reached).toBe(before);
});
