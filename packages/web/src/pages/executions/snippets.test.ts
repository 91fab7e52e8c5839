import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { languages, snippet } from './snippets.ts';

const nasty = { text: `it's "quoted" \`x\` $HOME $(id) \\ \n <b>ü</b>`, list: [1, null, true] };
const run = { url: 'http://127.0.0.1:8080', skill: 'data-analysis', version: '1.0.0', input: nasty };

describe('a run in other words', () => {
  it('reaches a shell as it is', () => {
    const words = (command: string): string[] =>
      execFileSync('sh', ['-c', `show() { for word do printf '%s\\0' "$word"; done; }; ${command.replace(/^(curl|skillbox)/, 'show')}`], {
        encoding: 'utf8',
      })
        .split('\0')
        .slice(0, -1);
    const curl = words(snippet('curl', run));
    expect(JSON.parse(curl.at(-1) ?? '')).toEqual({ skill: 'data-analysis', version: '1.0.0', input: nasty });
    expect(JSON.parse(words(snippet('CLI', run)).at(-1) ?? '')).toEqual(nasty);
  });

  it('is the same for Python', () => {
    const [, text = ''] = /json\.loads\((".*")\), version/.exec(snippet('Python', run)) ?? [];
    const out = execFileSync('python3', ['-c', `import json; print(json.dumps(json.loads(${text})))`], { encoding: 'utf8' });
    expect(JSON.parse(out)).toEqual(nasty);
  });

  it.each(languages)('has no key in %s', (language) => {
    expect(snippet(language, run)).not.toMatch(/sk-/);
  });
});
