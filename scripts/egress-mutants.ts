/** The layers of the egress proxy, and the tests that must notice when one is gone. */

import type { Edit, Mutant } from './mutants.ts';

const edit =
  (file: string) =>
  (find: string, replace: string): Edit => ({ file: `packages/box/src/sandbox/${file}`, find, replace });
const proxy = edit('egress/proxy.ts');
const heads = edit('egress/heads.ts');
const rules = edit('egress/rules.ts');
const hosts = edit('egress/hosts.ts');
const addresses = edit('egress/addresses.ts');
const exchanges = edit('egress/exchanges.ts');
const audit = edit('egress/audit.ts');
const network = edit('network.ts');
const command = edit('providers/bubblewrap/command.ts');
const unshared = command("'--unshare-net', ", '');

const mutant = (layer: string, file: string, title: string, ...edits: Edit[]): Mutant => ({
  layer: `egress: ${layer}`,
  edits,
  test: { file: `egress-${file}.test.ts`, title },
});

export const egressMutants: readonly Mutant[] = [
  mutant('network namespace, routes', 'bypass', 'has a loopback of its own and no route to anywhere', unshared),
  mutant('network namespace, loopback', 'bypass', 'reaches no server on the loopback of the host, by TCP or UDP', unshared),
  mutant('network namespace, abstract sockets', 'bypass', 'reaches no unix or abstract socket of the host', unshared),
  mutant(
    'channel bound read-only',
    'bypass',
    'comes through its own channel only, and cannot change it',
    command("=> [\n  '--ro-bind',", "=> [\n  '--bind',"),
  ),
  mutant(
    'the policy, at the start and after connecting',
    'requests',
    'decides each request on a connection by itself',
    exchanges('const rule = decide(policy, ask);', 'const rule = policy.rules[0] as Rule;'),
    exchanges('          decide(policy, ask);\n          if (ended)', '          if (ended)'),
  ),
  mutant(
    'addresses checked',
    'names',
    'is refused when one of its addresses is',
    proxy('for (const address of addresses) parts.guard.check(host, address, port);', ''),
  ),
  mutant(
    'every address checked',
    'names',
    'is refused when one of its addresses is',
    proxy('for (const address of addresses) parts', 'for (const address of addresses.slice(0, 1)) parts'),
  ),
  mutant(
    'one lookup',
    'names',
    'leads where it was checked, and is asked for once',
    proxy('await connectTo(address, port, left)', 'await connectTo((await parts.resolve(host.text))[0] ?? address, port, left)'),
  ),
  mutant(
    "the box's own ports",
    'names',
    'does not reach the box itself, whose loopback an entry without a port would open',
    addresses('!ownPorts().has(port) ||', '!ownPorts().has(port) || true ||'),
  ),
  mutant(
    'odd spellings of addresses',
    'names',
    'reads no odd spelling of an address, and takes none that is not listed',
    hosts("if (numeric.test(labels.at(-1) ?? ''))", 'if (false)'),
  ),
  mutant(
    'addresses only when listed',
    'names',
    'reads no odd spelling of an address, and takes none that is not listed',
    rules('  if (host.isAddress) return false;\n', ''),
  ),
  mutant('the Host header', 'requests', 'takes one host for one request', heads('agree(hosts[0], { host, port }, 80);', '')),
  mutant('one Host header', 'requests', 'takes one host for one request', heads('if (hosts.length > 1)', 'if (false)')),
  mutant(
    'strict parsing, twice',
    'requests',
    'lets no second request through behind the first',
    proxy('insecureHTTPParser: false', 'insecureHTTPParser: true'),
    heads('  checkFraming(request);\n', ''),
  ),
  mutant(
    'plain paths',
    'requests',
    'holds a rule to its method and path, whatever the path is made to look like',
    rules('return isPlainPath(path) && rule', 'return rule'),
  ),
  mutant(
    'no tunnel for a rule on paths',
    'requests',
    'holds a rule to its method and path, whatever the path is made to look like',
    rules('return rule.methods === undefined && rule.paths === undefined;', 'return true;'),
  ),
  mutant(
    'one request at a time',
    'requests',
    'serves one request of a connection at a time, and few that wait',
    proxy('turn.last = turn.last.then(', 'turn.last = Promise.resolve().then('),
  ),
  mutant(
    'headers of one hop',
    'requests',
    'passes on what is for the server, and nothing that is for one hop',
    heads('if (hopByHop.has(key) || ', 'if ('),
  ),
  mutant(
    'length of heads',
    'requests',
    'reads no head without end, and waits for none for ever',
    proxy('headBytes: 32 * 1024', 'headBytes: 32 * 2 ** 20'),
  ),
  mutant(
    'number of connections',
    'requests',
    'holds a bounded number of connections, and leaves other sandboxes theirs',
    proxy('connections: 256', 'connections: 25600'),
  ),
  mutant('bounded record', 'requests', 'writes a bounded record of a flood, and counts the rest', audit('account.left >= 1 && ', '')),
  mutant(
    'tunnels cut',
    'life',
    'holds for the next request at once, and cuts what is no longer allowed',
    exchanges('          entry.cut();\n', ''),
  ),
  mutant(
    'the template as the bound',
    'life',
    'goes no further than the template for those who are no administrators, and leaves no more open when refused',
    network("if (beyond && !caller.scopes.includes('admin'))", 'if (false)'),
  ),
  mutant(
    'the policy of a fork',
    'life',
    'when it is paused and resumed, restored, recreated and forked',
    edit('create-sandboxes.ts')('network: row.network,', 'network: null,'),
  ),
  mutant(
    'the policy after a restart',
    'life',
    'leaves no way out, and the next one knows the policy as it was changed last',
    edit('recovery.ts')('policyOf(row));', 'policyOf({ ...row, network: null }));'),
  ),
  mutant(
    'the end of a channel',
    'life',
    'and what has ended leaves no channel',
    edit('lifecycle.ts')('      await egress.close(row.id);\n      activity.forget', '      activity.forget'),
  ),
];
