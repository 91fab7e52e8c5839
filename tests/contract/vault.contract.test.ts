/** Named secrets on both databases: sealed, bound to their place, one tenant's never another's. */

import { expect, it } from 'vitest';
import type { Caller } from '../../packages/box/src/access/caller.ts';
import { openSecrets } from '../../packages/box/src/secrets.ts';
import type { Database } from '../../packages/box/src/store/database.ts';
import { createVault } from '../../packages/box/src/vault/vault.ts';
import { describeDatabases } from './databases.ts';

const secrets = openSecrets('unused', 'k'.repeat(40));
const caller = (tenant: string): Caller => ({ tenant, actor: { kind: 'agt', id: 'key_1' }, scopes: ['secrets:manage'] });
const sealedOf = async (database: Database, tenant: string, name: string): Promise<string> =>
  (
    await database.kysely
      .selectFrom('secrets')
      .select('sealed')
      .where('tenant', '=', tenant)
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
  ).sealed;

describeDatabases('the vault', (fixture) => {
  it('gives back what was set last, to its own tenant only', async () => {
    const vault = createVault(await fixture.server(), secrets);
    const made = await vault.set(caller('a'), 'TOKEN', 'first');
    const changed = await vault.set(caller('a'), 'TOKEN', 'second');
    await vault.set(caller('b'), 'TOKEN', 'of b');
    expect(made).toEqual({ name: 'TOKEN', created_at: made.updated_at, updated_at: made.updated_at, updated_by: 'agt:key_1' });
    expect(changed.created_at).toBe(made.created_at);
    expect([await vault.reveal('a', 'TOKEN'), await vault.reveal('b', 'TOKEN')]).toEqual(['second', 'of b']);
    expect([await vault.reveal('c', 'TOKEN'), await vault.reveal('a', 'token')]).toEqual([undefined, undefined]);
    expect([await vault.has('a', 'TOKEN'), await vault.has('c', 'TOKEN')]).toEqual([true, false]);
    await vault.remove('a', 'TOKEN');
    expect([await vault.reveal('a', 'TOKEN'), await vault.reveal('b', 'TOKEN')]).toEqual([undefined, 'of b']);
    await expect(vault.remove('a', 'TOKEN')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('keeps no value in the clear, and never the same text twice', async () => {
    const database = await fixture.server();
    const vault = createVault(database, secrets);
    await vault.set(caller('a'), 'ONE', 'the-value-itself');
    await vault.set(caller('a'), 'TWO', 'the-value-itself');
    const dump = JSON.stringify(await database.kysely.selectFrom('secrets').selectAll().execute());
    expect(dump).not.toContain('the-value-itself');
    expect(dump).not.toContain(Buffer.from('the-value-itself').toString('base64').slice(0, 12));
    expect(await sealedOf(database, 'a', 'ONE')).not.toBe(await sealedOf(database, 'a', 'TWO'));
  });

  it('does not open in the row of another tenant or name, nor with the key of another box', async () => {
    const database = await fixture.server();
    const vault = createVault(database, secrets);
    await vault.set(caller('a'), 'TOKEN', 'of a');
    await vault.set(caller('b'), 'TOKEN', 'of b');
    await vault.set(caller('b'), 'OTHER', 'other of b');
    const stolen = await sealedOf(database, 'a', 'TOKEN');
    await database.kysely.updateTable('secrets').set({ sealed: stolen }).where('tenant', '=', 'b').execute();
    for (const name of ['TOKEN', 'OTHER']) await expect(vault.reveal('b', name)).rejects.toMatchObject({ code: 'internal' });
    expect(await vault.reveal('a', 'TOKEN')).toBe('of a');
    const elsewhere = createVault(database, openSecrets('unused', 'o'.repeat(40)));
    await expect(elsewhere.reveal('a', 'TOKEN')).rejects.toMatchObject({ code: 'internal' });
  });

  it('lists names by pages, without values', async () => {
    const vault = createVault(await fixture.server(), secrets);
    for (const name of ['c', 'a', 'b']) await vault.set(caller('a'), name, 'the-value-itself');
    await vault.set(caller('b'), 'd', 'x');
    const first = await vault.list('a', { limit: 2 });
    const second = await vault.list('a', { limit: 2, cursor: first.next_cursor ?? '' });
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(second.next_cursor).toBeNull();
    expect(JSON.stringify([first, second])).not.toContain('the-value-itself');
    expect(Object.keys(first.items[0] ?? {}).sort()).toEqual(['created_at', 'name', 'updated_at', 'updated_by']);
  });

  it('has an end: a tenant cannot fill the database with secrets', async () => {
    const database = await fixture.server();
    const vault = createVault(database, secrets);
    const row = { tenant: 'a', sealed: 'x', created_at: '', updated_at: '', actor: 'agt:x' };
    const rows = Array.from({ length: 999 }, (_, index) => ({ ...row, name: `n${index}` }));
    for (let from = 0; from < rows.length; from += 100)
      await database.kysely
        .insertInto('secrets')
        .values(rows.slice(from, from + 100))
        .execute();
    await vault.set(caller('a'), 'last', 'x');
    await expect(vault.set(caller('a'), 'more', 'x')).rejects.toMatchObject({ code: 'quota_exceeded' });
    expect(await vault.has('a', 'more')).toBe(false);
    await vault.set(caller('a'), 'last', 'changed');
    expect(await vault.reveal('a', 'last')).toBe('changed');
  });
});
