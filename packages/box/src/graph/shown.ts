/** What may be shown of what is declared. */

import { looksSecret } from './variables.ts';

/** An address with a password in it, which a finding has warned of. */
export const withoutPassword = (text: string): string =>
  // Nearly all texts are no addresses.
  text.includes('//') ? text.replace(/(\/\/[^/@\s]*:)[^/@\s$]+@/g, '$1********@') : text;

/** As it stands in the file, without the secrets that somebody wrote there. */
export function declaredWithoutSecrets(value: unknown, key = '', ofEnv = false): unknown {
  if (typeof value === 'string') return ofEnv && looksSecret(key) && !value.includes('${') ? '********' : withoutPassword(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => declaredWithoutSecrets(item));
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, declaredWithoutSecrets(inner, name, key === 'env')]));
}
