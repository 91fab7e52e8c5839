/** The same run in other words, to be pasted elsewhere. The key is never in it. */

export interface Run {
  readonly url: string;
  readonly skill: string;
  readonly version: string;
  readonly input: unknown;
}

export const languages = ['curl', 'CLI', 'Python', 'TypeScript'] as const;
export type Language = (typeof languages)[number];

export function snippet(language: Language, { url, skill, version, input }: Run): string {
  const json = JSON.stringify(input ?? {});
  if (language === 'curl') {
    const body = JSON.stringify({ skill, version, input: input ?? {} });
    return `curl ${shellQuote(`${url}/v1/executions`)} \\\n  -H "Authorization: Bearer $SKILLBOX_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d ${shellQuote(body)}`;
  }
  if (language === 'CLI') return `skillbox run ${shellQuote(skill)} --version ${shellQuote(version)} --input ${shellQuote(json)}`;
  if (language === 'Python') {
    return [
      'import json, os',
      'from skillbox import Client',
      '',
      `client = Client(${JSON.stringify(url)}, os.environ["SKILLBOX_API_KEY"])`,
      // Every string of JSON is one of Python too; its other words are not.
      `result = client.run(${JSON.stringify(skill)}, json.loads(${pythonText(json)}), version=${JSON.stringify(version)})`,
      'print(result.output)',
    ].join('\n');
  }
  return [
    `import { Client } from '@skillbox/sdk';`,
    '',
    `const client = new Client(${JSON.stringify(url)}, process.env.SKILLBOX_API_KEY);`,
    `const result = await client.run(${JSON.stringify(skill)}, ${json}, { version: ${JSON.stringify(version)} });`,
    'console.log(result.output);',
  ].join('\n');
}

/** As one word for a shell, whatever is in it. */
export const shellQuote = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** JSON's own way of writing a string, which Python reads the same; only surrogates apart are not text there. */
const pythonText = (text: string): string => JSON.stringify(text);
