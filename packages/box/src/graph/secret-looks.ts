/**
 * How a secret is known by its looks: the names that such values have, and the forms they come in. One list for all rooms of the graph;
 * a room that needs more or less than the others says why where it adds it.
 */

/** Parts of names, in any case. */
export const secretWords = `token|secret|passw(?:or)?d|passphrase|credential`;
/** A key of something; `key` alone is most often that of a mapping. */
export const keyWords = `(?:api|access|private)[-_]?key`;

/** An address with a password in it, as a value of a variable is. */
export const holdsPassword = (value: string): boolean => /\/\/[^/@\s]*:[^/@\s]+@/.test(value);
/** The same of a declared text: what stands there as `${NAME}` is no password yet. */
export const holdsWrittenPassword = (text: string): boolean => /\/\/[^/@\s$]*:[^/@\s$]+@/.test(text);

export type Pattern = readonly [looks: RegExp, put: string];

/** Bounded, and looked for from where a word begins: a hostile text must not take the time of its length squared. */
const name = String.raw`[\w.-]{0,100}(?:${secretWords}|pwd|${keyWords}|_key|cookie|signature|dsn|jwt)[\w.-]{0,100}`;
const begins = String.raw`(?<![\w.-])`;

/** Forms that mean a secret wherever they stand, with what comes in its place. */
export function secretForms(put: string): readonly Pattern[] {
  return [
    [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, put],
    // user:password@ of an address
    [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"'<>]+@/gi, `$1${put}@`],
    [/\b(authorization|proxy-authorization)(["']?\s*[:=]\s*["']?)(?:(?:bearer|basic|token|digest)\s+)?[^\s"',;]+/gi, `$1$2${put}`],
    [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${put}`],
    // NAME_TOKEN=value, "secret": "value"
    [
      new RegExp(String.raw`(${begins}${name})(["']?\s*(?:[:=]|=>)\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"',;&)}\]]+)`, 'gi'),
      `$1$2${put}`,
    ],
    // --password value
    [new RegExp(String.raw`(${begins}--?${name})(\s+)(?!-)[^\s"']+`, 'gi'), `$1$2${put}`],
    // Of vendors who mark theirs, and of the box itself.
    [/\b(?:sk|pk|rk|ak)[-_][A-Za-z0-9_-]{12,}/g, put],
    [/\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|npm|hf|e2b|dop_v1|shpat|whsec|tskey|pypi|xox[abeoprs])[-_][A-Za-z0-9_-]{10,}/g, put],
    [/\b(?:AKIA|ASIA|AIza|SG\.|ya29\.)[A-Za-z0-9_.-]{12,}/g, put],
    [/\beyJ[A-Za-z0-9_-]{8,500}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g, put],
  ];
}

export const withoutForms = (text: string, patterns: readonly Pattern[]): string =>
  patterns.reduce((rest, [looks, put]) => rest.replace(looks, put), text);
