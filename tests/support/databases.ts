/** The databases that a test of the whole box runs on, each with what makes a server use it. */

import { postgresFolder, startPostgres } from './postgres.ts';

export interface TestDatabase {
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

const programs = postgresFolder();

export const databases: readonly ('sqlite' | 'postgres')[] = programs ? ['sqlite', 'postgres'] : ['sqlite'];

export async function databaseOf(kind: 'sqlite' | 'postgres'): Promise<TestDatabase> {
  if (kind === 'sqlite' || !programs) return { env: {}, stop: async () => undefined };
  const server = await startPostgres(programs);
  return { env: { SKILLBOX_DB_DSN: await server.createDatabase() }, stop: () => server.stop() };
}
