/** Skills in the dashboard: how one comes in, how it is read, tried and compared, and that none of it can do anything to the page. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Execution, Page as Listed } from '@skillbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packArchive } from '../../packages/box/src/skills/archive.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { startPackageIndex } from '../support/package-index.ts';
import { pythonAnswer, skillFiles } from '../support/skills.ts';
import { type Person, startBrowser } from './browser.ts';
import { drop } from './drop.ts';

let box: TestBox;
let person: Person;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skillbox-drop-'));
  box = await startTestBox();
  person = await startBrowser();
  for (const files of [greeter('1.0.0', 'Hello'), greeter('1.1.0', 'Good day'), hostile]) expect((await box.push(files)).status).toBe(201);
});
afterAll(async () => {
  await person?.close();
  await box?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const greeter = (version: string, word: string): Record<string, string> => ({
  'SKILL.md': `---
name: greeter
version: ${version}
description: Greets people.
lang: python
input_schema:
  type: object
  required: [name, times]
  properties:
    name: {type: string, minLength: 2, description: Whom to greet}
    times: {type: integer, minimum: 1, maximum: 9}
    loud: {type: boolean}
    tone: {enum: [kind, plain]}
    tags: {type: array, items: {type: string}}
    home: {type: object, properties: {city: {type: string}}}
    pin: {type: string, pattern: '^[0-9]+$'}
    more: {}
---

# How to greet

Say **${word}** with \`main.py\`.
`,
  'main.py': [
    'import json, os',
    'given = json.load(open("/sandbox/input.json"))',
    'files = sorted(os.listdir(os.environ["SANDBOX_INPUT_DIR"]))',
    `said = "${word} " + given["name"]`,
    'json.dump({"said": said, "input": given, "files": files}, open(os.environ["SANDBOX_OUTPUT"], "w"))',
    '',
  ].join('\n'),
});

const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const hostile: Record<string, string> = {
  'SKILL.md': `---
name: hostile
version: 1.0.0
description: '${evil}'
lang: bash
license: '${evil}'
input_schema:
  type: object
  title: '${evil}'
  properties:
    '${evil}': {type: string, title: '${evil}', description: '${evil}', default: '${evil}'}
    pick: {enum: ['${evil}', other]}
---

${evil}

[click](javascript:alert(3)) [data](data:text/html,alert) ![pixel](https://elsewhere.example/pixel.png)

\`\`\`
</code></pre><script>alert(4)</script>
\`\`\`
`,
  'main.sh': `echo '${evil}'\nprintf '{"said": "%s"}' '<svg onload=alert(5)>' > "$SANDBOX_OUTPUT"\n`,
  "notes/a'b<svg onload=alert(6)>.txt": evil,
};

function writeSkill(name: string, files: Record<string, string>): string {
  const root = join(folder, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

const simple = (name: string, head = ''): Record<string, string> => ({
  'SKILL.md': `---\nname: ${name}\nversion: 1.0.0\ndescription: Made for a drop.\nlang: bash\n${head}---\n\nRuns.\n`,
  'scripts/main.sh': 'echo hello\n',
  'main.sh': 'echo hello\n',
});

describe('the catalogue', () => {
  it('takes a folder by drag and drop, and shows it', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/skills');
    await page.getByRole('link', { name: /greeter/ }).waitFor();
    await drop(page, '.push-area', [
      writeSkill('dropped-folder', { ...simple('dropped-folder'), '.git/config': 'x', '__pycache__/a.pyc': 'x' }),
    ]);
    await page.getByRole('region', { name: 'Pushed' }).getByRole('link', { name: 'dropped-folder 1.0.0' }).waitFor();
    await page
      .getByRole('list', { name: 'Skills' })
      .getByRole('link', { name: /dropped-folder/ })
      .waitFor();
    const { body } = await box.json<{ files: { path: string }[] }>('/v1/skills/dropped-folder/1.0.0');
    expect(body.files.map(({ path }) => path).sort()).toEqual(['SKILL.md', 'main.sh', 'scripts/main.sh']);
    await visitor.accessible();
    await visitor.fitsPhone();
    await visitor.screenshot('skills');
    visitor.quiet();
    await visitor.close();
  });

  it('takes a zip, also from the keyboard', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/skills');
    const files = Object.entries(simple('dropped-zip')).map(([path, text]) => ({
      path: `dropped-zip/${path}`,
      mode: 0o644,
      data: Buffer.from(text),
    }));
    const zip = join(folder, 'dropped-zip.zip');
    writeFileSync(zip, await packArchive(files));
    await drop(page, '.push-area', [zip]);
    await page.getByRole('region', { name: 'Pushed' }).waitFor();
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Choose a zip' }).press('Enter');
    await (await chooser).setFiles(zip);
    await page.getByRole('region', { name: 'It was there already' }).waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('shows in place what is wrong with a skill, with line and fix, and pushes nothing', async () => {
    const visitor = await person.visit(box, { mayHear: /status of 422/ });
    const { page } = visitor;
    await visitor.go('/skills');
    await drop(page, '.push-area', [
      writeSkill('faulty', { 'SKILL.md': '---\nname: Faulty Name\nversion: one\nlang: cobol\n---\n', 'main.sh': 'true\n' }),
    ]);
    const card = page.getByRole('region', { name: /Not pushed: \d errors/ });
    await card.waitFor();
    const findings = await card.getByRole('list', { name: 'Findings' }).getByRole('listitem').allInnerTexts();
    expect(findings.length).toBeGreaterThan(1);
    for (const finding of findings) expect(finding).toMatch(/SKILL\.md:\d+/);
    await visitor.accessible();
    await visitor.screenshot('skills-findings');
    await drop(page, '.push-area', [writeSkill('no-skill', { 'readme.txt': 'x' })]);
    await page.getByText('There is no SKILL.md in it.').waitFor();
    expect((await box.json<Listed<{ name: string }>>('/v1/skills')).body.items.map(({ name }) => name)).not.toContain('faulty');
    visitor.quiet();
    await visitor.close();
  });

  it('finds by words, which stand in the address; nothing found says what to type', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/skills');
    await page.keyboard.press('/');
    await page.keyboard.type('greets');
    await page.waitForURL(/q=greets/);
    await page.waitForFunction(() => document.querySelectorAll('.skill-list li').length === 1);
    await visitor.go('/skills?q=zebra');
    await page.getByText('No skill has these words').waitFor();
    await page.getByText('skillbox skill search "zebra"').waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('of a tenant without skills says how to begin', async () => {
    const visitor = await person.visit(box, { key: await box.newKey('newcomer', ['skills:read', 'skills:write']) });
    await visitor.go('/skills');
    await visitor.page.getByText('There are no skills yet').waitFor();
    await visitor.page.getByText('skillbox skill init my-skill').waitFor();
    await visitor.accessible();
    visitor.quiet();
    await visitor.close();
  });
});

describe('a skill', () => {
  it('has a form made from its input schema, with what is wrong in place, and runs', async () => {
    const visitor = await person.visit(box, { mayHear: /status of 422/ });
    const { page } = visitor;
    await visitor.go('/skills/greeter');
    await page.getByRole('tab', { name: 'Try it' }).click();
    const form = page.getByRole('form', { name: 'Input' });
    const run = form.getByRole('button', { name: 'Run greeter 1.1.0' });
    await run.click();
    expect(await form.getByText('This is needed.').count()).toBe(2);
    await form.getByLabel(/^name/).fill('A');
    await form.getByLabel(/^times/).fill('12');
    await run.click();
    await form.getByText('At least 2 characters.').waitFor();
    await form.getByText('At most 9.').waitFor();
    expect(await form.getByLabel(/^name/).getAttribute('aria-invalid')).toBe('true');
    await visitor.accessible();
    await form.getByLabel(/^name/).fill('Ada');
    await form.getByLabel(/^times/).fill('3');
    await form.getByLabel('loud').selectOption('true');
    await form.getByLabel('tone').selectOption('plain');
    await form.getByRole('button', { name: 'Add to tags' }).click();
    await form.getByLabel(/^tags 1/).fill('x');
    await form.getByLabel('city').fill('Ulm');
    await form.getByLabel('more').fill('{"deep": [1]}');
    await form.getByLabel('pin').fill('abc');
    await run.click();
    // Patterns are judged by the box.
    await form
      .getByText(/must match pattern/)
      .first()
      .waitFor();
    await form.getByLabel('pin').fill('123');
    await form.getByLabel('Input files').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
    await run.click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('success').waitFor();
    await result.getByText('"Good day Ada"').waitFor();
    await visitor.accessible();
    await visitor.fitsPhone();
    await visitor.screenshot('skill-try-it');
    const to = (await result.getByRole('link', { name: /^Execution/ }).getAttribute('href')) ?? '';
    const { body } = await box.json<Execution>(`/v1${to.replace(/^\/ui/, '').replace(/\?.*/, '')}`);
    expect(body.output).toMatchObject({
      input: { name: 'Ada', times: 3, loud: true, tone: 'plain', tags: ['x'], home: { city: 'Ulm' }, more: { deep: [1] }, pin: '123' },
      files: ['a.txt'],
    });
    visitor.quiet();
    await visitor.close();
  });

  it('takes its input as JSON too, and goes back and forth', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/skills/greeter?tab=try&version=1.0.0');
    await page.getByLabel(/^name/).fill('Ada');
    await page.getByRole('button', { name: 'As JSON' }).click();
    const area = page.getByLabel('Input as JSON');
    expect(JSON.parse(await area.inputValue())).toEqual({ name: 'Ada' });
    await area.fill('{"name": "Bo", "times":');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText(/This is not JSON/).waitFor();
    await area.fill('{"name": "Bo", "times": 2}');
    await page.getByRole('button', { name: 'As a form' }).click();
    expect(await page.getByLabel(/^times/).inputValue()).toBe('2');
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText('"Hello Bo"').waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('shows what changed between two versions, line by line, at an address that can be shared', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/skills/greeter?tab=versions');
    const changes = page.getByRole('group', { name: 'Changes of SKILL.md' });
    await changes.waitFor();
    const lines = await changes.locator('.gone, .new').allInnerTexts();
    expect(lines.map((line) => line.replace(/\s+/g, ' ').trim())).toEqual([
      expect.stringMatching(/−version: 1\.0\.0$/),
      expect.stringMatching(/\+version: 1\.1\.0$/),
      expect.stringMatching(/−Say \*\*Hello\*\*/),
      expect.stringMatching(/\+Say \*\*Good day\*\*/),
    ]);
    await visitor.accessible();
    await visitor.fitsPhone();
    await visitor.screenshot('skill-versions');
    await visitor.go('/skills/greeter?tab=versions&from=1.1.0&to=1.1.0');
    await page.getByText('These are the same version').waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('shows instructions, files, schema and use', async () => {
    await box.run('greeter', { input: { name: 'Cy', times: 1 } });
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/skills/greeter');
    await page.getByRole('heading', { name: 'How to greet' }).waitFor();
    await visitor.accessible();
    await visitor.screenshot('skill');
    await page.getByRole('tab', { name: 'Files' }).click();
    await page.getByRole('button', { name: /main\.py/ }).click();
    await page.getByText('given = json.load').waitFor();
    await visitor.accessible();
    await page.getByRole('tab', { name: 'Schema' }).click();
    await page.getByRole('group', { name: 'Input schema' }).getByText('required').waitFor();
    await page.getByRole('tab', { name: 'Usage' }).click();
    await page.getByText('Served warm').waitFor();
    await visitor.accessible();
    await visitor.fitsPhone();
    await visitor.screenshot('skill-usage');
    visitor.quiet();
    await visitor.close();
  });

  it('that is not there says so, and a version is deleted after a question only', async () => {
    await box.push(simple('short-lived'));
    const visitor = await person.visit(box, { mayHear: /status of 404/ });
    const { page } = visitor;
    await visitor.go('/skills/nobodys');
    await page.getByText('There is no skill nobodys.').waitFor();
    await visitor.go('/skills/short-lived');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete version 1.0.0' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click();
    expect((await box.request('/v1/skills/short-lived/1.0.0')).status).toBe(200);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete version 1.0.0' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.waitForURL(/\/ui\/skills(\?|$)/);
    expect((await box.request('/v1/skills/short-lived/1.0.0')).status).toBe(404);
    visitor.quiet();
    await visitor.close();
  });
});

it('packages of a skill are watched while they are installed, and tried again when they could not be', async () => {
  const index = await startPackageIndex();
  index.add('fine', '');
  const other = await startTestBox(index.env);
  const visitor = await person.visit(other);
  const { page } = visitor;
  const push = (name: string, needs: string) =>
    other.push(
      skillFiles(name, 'python', {
        'requirements.txt': `${needs}==1.0\n`,
        'main.py': pythonAnswer(`import ${needs}\nvalue = ${needs}.value`),
      }),
    );
  try {
    await push('fed', 'fine');
    await visitor.go('/skills/fed?tab=dependencies');
    await page.getByText('available').waitFor({ timeout: 60_000 });
    await page.getByText('Successfully installed fine-1.0').waitFor();
    expect(await page.getByRole('button', { name: /^Install/ }).count()).toBe(0);
    await push('hungry', 'late');
    await visitor.go('/skills/hungry');
    await page.getByRole('tab', { name: 'Dependencies' }).click();
    await page.getByText('failed').first().waitFor({ timeout: 60_000 });
    await page.locator('dd', { hasText: 'No matching distribution found for late==1.0' }).waitFor();
    await page.locator('pre', { hasText: 'No matching distribution found for late==1.0' }).waitFor();
    await visitor.accessible();
    await visitor.fitsPhone();
    await visitor.screenshot('skill-dependencies');
    index.add('late', '');
    await page.getByRole('button', { name: 'Install again' }).click();
    await page.getByText('available').waitFor({ timeout: 60_000 });
    expect((await other.run('hungry')).output).toBe(1);
    visitor.quiet();
  } finally {
    await visitor.close();
    await other.stop();
    await index.stop();
  }
}, 150_000);

it('a hostile skill is text, wherever it is shown', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/skills');
  await page.getByText(evil).first().waitFor();
  for (const tab of ['instructions', 'try', 'schema', 'files', 'versions', 'usage']) {
    await visitor.go(`/skills/hostile?tab=${tab}`);
    await page.getByText('<img src=x onerror').first().waitFor();
    expect(
      await page.locator('.page :is(script, iframe, img[src="x"], [onerror], [onload], a[href^="javascript"], a[href^="data"])').count(),
    ).toBe(0);
  }
  await visitor.go('/skills/hostile?tab=files');
  await page.getByRole('button', { name: /onload/ }).click();
  await page.locator('pre', { hasText: 'alert(2)' }).waitFor();
  await visitor.go('/skills/hostile?tab=try');
  await page.getByRole('button', { name: /^Run/ }).click();
  await page.getByText('<svg onload=alert(5)>').waitFor();
  await visitor.fitsPhone();
  visitor.quiet();
  await visitor.close();
});

it('a key that may only read is not offered more', async () => {
  const key = await box.newKey('default', ['skills:read']);
  const visitor = await person.visit(box, { key });
  const { page } = visitor;
  await visitor.go('/skills');
  await page.getByRole('link', { name: /greeter/ }).waitFor();
  expect(await page.getByRole('button', { name: /Choose a/ }).count()).toBe(0);
  await visitor.go('/skills/greeter?tab=try');
  await page.getByRole('tab', { name: 'Instructions' }).waitFor();
  expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Instructions', 'Schema', 'Files', 'Versions']);
  expect(await page.getByRole('button', { name: 'More' }).count()).toBe(0);
  visitor.quiet();
  await visitor.close();
});
