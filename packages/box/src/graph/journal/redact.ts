/** No secret may stand in the journal. Who writes there gives none; this is for what slips through: an address with a password, a command line, an error that quotes one. */

const redacted = '[redacted]';
const secretName = /token|secret|passw(or)?d|passphrase|credential|authorization|cookie|(private|api|access)[_-]?key|^key$/i;

const inText: readonly (readonly [RegExp, string])[] = [
  // https://user:password@host
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi, `$1${redacted}@`],
  // Keys of this box and of others that say what they are.
  [/\b(?:sk-|e2b_|ghp_|gho_|github_pat_|glpat-|xox[abpr]-|AKIA)[A-Za-z0-9_-]{12,}/g, redacted],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${redacted}`],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, redacted],
  // NAME_TOKEN=value, --password value, "secret": "value"
  [
    /((?<![A-Za-z0-9_-])(?:[A-Za-z0-9_-]*(?:token|secret|passw(?:or)?d|passphrase|credential|api_?key|access_?key|private_?key)[A-Za-z0-9_-]*|[A-Z0-9_]*_KEY)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s"',;&]+)/gi,
    `$1${redacted}`,
  ],
  [/(--[a-z-]*(?:token|secret|password|api-key)\s+)\S+/gi, `$1${redacted}`],
];

export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, typeof inner === 'string' && secretName.test(name) ? redacted : redact(inner)]),
  );
}

export function redactText(text: string): string {
  return inText.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text);
}
