/** Mutants of what keeps credentials to their host and their tenant. */

import type { Edit, Mutant } from './mutants.ts';

const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file: `packages/box/src/${file}`, find, replace });
const injection = edit('sandbox/egress/injection.ts');
const credentials = edit('sandbox/egress/credentials.ts');
const heads = edit('sandbox/egress/heads.ts');
const intercept = edit('sandbox/egress/intercept.ts');
const trust = edit('sandbox/egress/trust.ts');
const egress = edit('sandbox/egress/egress.ts');
const spec = edit('sandbox/spec.ts');
const command = edit('sandbox/providers/bubblewrap/command.ts');
const proxy = edit('sandbox/egress/proxy.ts');
const vault = edit('vault/vault.ts');

const mutant = (layer: string, file: string, title: string, ...edits: Edit[]): Mutant => ({
  layer: `credentials: ${layer}`,
  edits,
  test: { file: `${file}.test.ts`, title },
});
const onlyThere = 'goes to its host and port only: not below it, beside it, at another port, or where the Host header says';
const trusted = 'is trusted by sandboxes whose template asks for it, and by no other';
const sameHost = 'refuses a tunnel whose TLS or Host header names another host, or none';
const chosen = 'rule.scheme === scheme && rule.host === spellHost(host) && rule.port === port';

export const credentialMutants: readonly Mutant[] = [
  mutant('the host of a rule', 'credentials', onlyThere, injection(chosen, 'rule.scheme === scheme && rule.port === port')),
  mutant(
    'names below it',
    'credentials',
    onlyThere,
    injection(chosen, 'rule.scheme === scheme && spellHost(host).endsWith(rule.host) && rule.port === port'),
  ),
  mutant('the port of a rule', 'credentials', onlyThere, injection(chosen, 'rule.scheme === scheme && rule.host === spellHost(host)')),
  mutant(
    'the scheme of a rule, and its port',
    'credentials-tls',
    'sends no credential that is for TLS in the clear, at whatever port',
    injection(chosen, 'rule.host === spellHost(host)'),
  ),
  mutant(
    'the tenant of a secret',
    'credentials',
    'is that of the tenant whose sandbox it is; without one there is no sandbox',
    credentials(
      'return second === undefined ? { tenant, name: first } :',
      'return second === undefined ? { tenant: operatorTenant, name: first } :',
    ),
  ),
  mutant(
    'what the inside sends under that name',
    'credentials',
    'replaces what the inside sends under the name of the header, however it is spelled, and sends it once',
    heads('replacing.has(key)', 'replacing.has(name)'),
    heads('Object.entries(replaced).map((', 'Object.entries(replaced).filter(([name]) => !kept.has(name.toLowerCase())).map(('),
  ),
  mutant('TRACE', 'credentials', 'does not come back by TRACE', injection("if (method === 'TRACE') throw", "if (method === 'NONE') throw")),
  mutant(
    'a value read at each request',
    'credentials',
    'changes from the next request on, and is refused in plain words once it is deleted',
    injection(
      '  const value = await vault.reveal(tenant, name).catch(',
      '  const value = await (kept.get(name) ?? kept.set(name, vault.reveal(tenant, name) as Promise<string>).get(name) as Promise<string>).catch(',
    ),
    injection('const nothing: Added', 'const kept = new Map<string, Promise<string>>();\nconst nothing: Added'),
  ),
  mutant(
    'values in the record',
    'credentials',
    'is in no answer of the API, no event and no row; the record names the rule and the secret',
    injection(
      'facts: { credentials: rules.map(({ header, secret }) => ({ header, secret })) }',
      'facts: { credentials: rules.map(({ header, secret }) => ({ header, secret })), pairs }',
    ),
  ),
  mutant(
    'sealed values',
    'credentials',
    'is in no answer of the API, no event and no row; the record names the rule and the secret',
    vault('sealed: sealer.seal(value, [tenant, name])', 'sealed: value'),
    vault('return row && sealer.open(row.sealed, [tenant, name]);', 'return row?.sealed;'),
  ),
  mutant(
    'values in answers',
    'credentials',
    'is nowhere inside: not in the environment, a process, a file, or an answer of the box',
    proxy('endToEnd(reply.rawHeaders)', "endToEnd([...reply.rawHeaders, 'X-Sent', String(headers.Authorization)])"),
  ),
  mutant(
    'the name in TLS',
    'credentials-tls',
    sameHost,
    intercept('isNamed(tunnel, name) ? done(null, context) : done(', 'name ? done(null, context) : done('),
    intercept('if (!host.isAddress && !isNamed(', 'if (host.isAddress && !isNamed('),
  ),
  mutant('no name in TLS', 'credentials-tls', sameHost, intercept('if (!host.isAddress && !isNamed(', 'if (host.isAddress && !isNamed(')),
  mutant('the Host header in TLS', 'credentials-tls', sameHost, intercept('  agree(hosts[0], { host, port }, 443);\n', '')),
  mutant(
    'the certificate of the host',
    'credentials-tls',
    'sends nothing to a host that cannot prove who it is',
    trust('rejectUnauthorized: true', 'rejectUnauthorized: false'),
  ),
  mutant(
    'tunnels that no rule needs',
    'credentials-tls',
    'looks into no tunnel that no rule needs it for: the inside sees the host’s own certificate',
    injection('  return leading.some((rule) => rule.methods !== undefined || rule.paths !== undefined);', '  return true;'),
  ),
  mutant(
    'trust where the template asks for it',
    'credentials-tls',
    trusted,
    spec('channel && network.tls === true', 'channel'),
    egress('policy.tls && injection', 'injection'),
  ),
  mutant('trust by the bundle', 'credentials-tls', trusted, command('...(trustsBox ? trustMounts() : [])', '')),
  mutant(
    'methods and paths in TLS',
    'credentials-tls',
    'holds requests in TLS to the methods and paths of the list',
    proxy(
      'const target = tunnel ? insideTarget(request, tunnel) : targetOf(request);',
      "const target = tunnel ? { ...insideTarget(request, tunnel), path: '/open/a' } : targetOf(request);",
    ),
  ),
];
