import { z } from 'zod';
import { timestamp } from './ids.ts';

export const secretNamePattern = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;

export const secretName = z
  .string()
  .regex(secretNamePattern, 'a letter, then up to 62 letters, digits, _ and -')
  .describe('Name of the secret');

/** One line, because it stands in a header of HTTP. */
export const secretValue = z
  .string()
  .min(1)
  .max(8192)
  .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/, 'one line of printable ASCII, without blanks around it')
  .describe('The value; no answer ever has it');

export const secret = z
  .object({
    name: secretName,
    created_at: timestamp,
    updated_at: timestamp.describe('When its value was set last'),
    updated_by: z.string().describe('Who set it: kind and id of the key'),
  })
  .meta({ id: 'Secret' });

export type Secret = z.infer<typeof secret>;
