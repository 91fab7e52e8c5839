/** The schema of skillbox.yaml as JSON Schema, which editors and the docs understand. */

import { z } from 'zod';
import { overlaySchema } from '../graph/schema.ts';
import type { Path } from './finding.ts';
import { manifestSchema } from './schema.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Draft 7 and without $id: what editors resolve without asking the network. */
export function manifestJsonSchema(): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(manifestSchema, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'skillbox.yaml', description: 'Manifest of a Skillbox', ...schema } as JsonSchema;
}

/** Of clients/<id>/overlay.yaml. */
export function overlayJsonSchema(): JsonSchema {
  const { $schema, ...schema } = z.toJSONSchema(overlaySchema, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'overlay.yaml', description: 'Overlay of a client of a Skillbox', ...schema } as JsonSchema;
}

/** Made once: it takes a while, and a file may have many unknown keys. */
const known = new Map<z.ZodType, JsonSchema>();

/** Names of the keys that the mapping at the path may have. */
export function keysAt(schema: z.ZodType, path: Path): string[] {
  let root = known.get(schema);
  if (!root) {
    root = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonSchema;
    known.set(schema, root);
  }
  let at: JsonSchema | undefined = root;
  for (const part of path) at = asSchema(at?.properties?.[String(part)]) ?? asSchema(at?.additionalProperties) ?? asSchema(at?.items);
  return Object.keys(at?.properties ?? {});
}

function asSchema(schema: unknown): JsonSchema | undefined {
  return typeof schema === 'object' && schema !== null ? (schema as JsonSchema) : undefined;
}
