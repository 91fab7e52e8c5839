/** The schema of skillbox.yaml as JSON Schema, which editors and the docs understand. */

import { z } from 'zod';
import type { Path } from './finding.ts';
import { manifestSchema } from './schema.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Draft 7 and without $id: what editors resolve without asking the network. */
export function manifestJsonSchema(): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(manifestSchema, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'skillbox.yaml', description: 'Manifest of a Skillbox', ...schema } as JsonSchema;
}

/** Names of the keys that the mapping at the path may have. */
export function keysAt(path: Path): string[] {
  let at: JsonSchema | undefined = manifestJsonSchema();
  for (const part of path) at = asSchema(at?.properties?.[String(part)]) ?? asSchema(at?.additionalProperties) ?? asSchema(at?.items);
  return Object.keys(at?.properties ?? {});
}

function asSchema(schema: unknown): JsonSchema | undefined {
  return typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : undefined;
}
