/** No secret may stand in the journal. Who writes there gives none; this is for what slips through: an address with a password, a command line, an error that quotes one. */

import { keyWords, secretForms, secretWords, withoutForms } from '../secret-looks.ts';

const redacted = '[redacted]';
/** Fields of events have names of ours: what else sounds like a secret elsewhere, such as a signature, is none here. */
const secretName = new RegExp(`${secretWords}|authorization|cookie|${keyWords}|^key$`, 'i');
/** Not what is only long and senseless: commits and hashes are what the journal tells of. */
const forms = secretForms(redacted);

export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, typeof inner === 'string' && secretName.test(name) ? redacted : redact(inner)]),
  );
}

export const redactText = (text: string): string => withoutForms(text, forms);
