/** A server that starts: opens the database, migrates it, says what it did. Run as a process of its own by database.contract.test.ts. */

import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../packages/box/src/store/database.ts';
import { migrate } from '../../packages/box/src/store/migrations.ts';

const [options = '{}', startAt = '0'] = process.argv.slice(2);
await delay(Math.max(0, Number(startAt) - Date.now()));
const database = await openDatabase(JSON.parse(options));
const applied = await migrate(database);
await database.kysely
  .insertInto('box_facts')
  .values({ name: `process-${process.pid}`, value: 'here' })
  .execute();
await database.close();
console.log(JSON.stringify(applied));
