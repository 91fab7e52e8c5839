/**
 * The certificate authority of the box, for requests in TLS that the proxy must see (docs/secrets.md). Made when it is first needed,
 * the same on all hosts of the box: its key lies sealed in the database and is in the clear only in the memory of servers.
 * Only sandboxes whose template asks for it trust it, so it needs no name constraints: whoever has its key is the server already.
 */

import type { Secrets } from '../../secrets.ts';
import type { Database } from '../../store/database.ts';
import type { CertifiedKey } from './certificate.ts';

export interface Authority {
  /** PEM, public. */
  certificate(): Promise<string>;
  /** For a server of this name, good for hours to come. */
  leaf(host: string): Promise<CertifiedKey>;
}

interface Leaf {
  readonly pair: Promise<CertifiedKey>;
  readonly renewAt: number;
}

const fact = 'egress_authority';
const hourMs = 3600_000;
const yearsOfAuthority = 10;
const leafHours = 24;
/** Clocks inside and outside are one, but those of other hosts may differ. */
const backMs = hourMs;
const mostLeaves = 1000;

export function createAuthority(database: Database, secrets: Secrets): Authority {
  const sealer = secrets.sealer('authority');
  let own: Promise<CertifiedKey> | undefined;
  const leaves = new Map<string, Leaf>();

  const load = async (): Promise<CertifiedKey> => {
    const kept = await readFact(database);
    if (kept !== undefined) return JSON.parse(sealer.open(kept, [fact])) as CertifiedKey;
    // Loaded late: most boxes never need it.
    const { makeAuthority } = await import('./certificate.ts');
    const now = Date.now();
    const to = new Date(now);
    to.setUTCFullYear(to.getUTCFullYear() + yearsOfAuthority);
    const made = makeAuthority(`Skillbox egress ${secrets.fingerprint}`, { from: new Date(now - backMs), to });
    await database.kysely
      .insertInto('box_facts')
      .values({ name: fact, value: sealer.seal(JSON.stringify(made), [fact]) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    // Another host may have been first: then its authority is the box's.
    return JSON.parse(sealer.open((await readFact(database)) ?? '', [fact])) as CertifiedKey;
  };

  const authority = (): Promise<CertifiedKey> => {
    own ??= load().catch((error: Error) => {
      own = undefined;
      throw error;
    });
    return own;
  };

  const mint = async (host: string, now: number): Promise<CertifiedKey> => {
    const [{ makeLeaf }, signer] = await Promise.all([import('./certificate.ts'), authority()]);
    return makeLeaf(host, signer, { from: new Date(now - backMs), to: new Date(now + leafHours * hourMs) });
  };

  return {
    certificate: async () => (await authority()).certificate,
    leaf(host) {
      const now = Date.now();
      const kept = leaves.get(host);
      if (kept && kept.renewAt > now) return kept.pair;
      if (leaves.size >= mostLeaves) leaves.clear();
      const pair = mint(host, now).catch((error: Error) => {
        leaves.delete(host);
        throw error;
      });
      leaves.set(host, { pair, renewAt: now + (leafHours * hourMs) / 2 });
      return pair;
    },
  };
}

async function readFact({ kysely }: Database): Promise<string | undefined> {
  return (await kysely.selectFrom('box_facts').select('value').where('name', '=', fact).executeTakeFirst())?.value;
}
