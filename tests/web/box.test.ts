/** The environment of the box in the dashboard: drawn, listed, opened, started and stopped, walked as a person would. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { graphEnv } from '../support/graph-box.ts';
import { crowd, motley, status, tell } from './box-states.ts';
import { type Person, startBrowser, type Visitor } from './browser.ts';

let box: TestBox;
let person: Person;
let visitor: Visitor;
let page: Page;

beforeAll(async () => {
  box = await startTestBox(graphEnv());
  person = await startBrowser();
});
afterAll(async () => {
  await person?.close();
  await box?.json('/v1/runtime/down', { body: {} });
  await box?.stop();
});

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
const panel = (name: string) => page.getByRole('complementary', { name });
const looks = async (name: string) => {
  await visitor.screenshot(name);
  await visitor.accessible();
  await visitor.fitsPhone();
  visitor.quiet();
};

describe('an environment with everything in it', () => {
  beforeAll(async () => {
    visitor = await person.visit(box);
    ({ page } = visitor);
    await tell(page, motley);
  });
  afterAll(() => visitor.close());

  it('begins with what needs attention, errors first, and draws every item with its state', async () => {
    await visitor.go('/box');
    const attention = page.getByRole('list', { name: 'Attention' }).getByRole('listitem');
    await attention.first().waitFor();
    expect(await attention.allInnerTexts()).toEqual([expect.stringContaining('service:web'), expect.stringContaining('repo:app')]);
    await page.getByText('skillbox logs --service web').first().waitFor();
    const nodes = page.getByRole('group', { name: 'Graph' }).getByRole('button');
    expect(await nodes.count()).toBe(15);
    await button(/^web service, down$/).waitFor();
    await button(/^auth service, starting$/).waitFor();
    await button(/^app-env env file, source-missing$/).waitFor();
    await looks('box-graph');
  });

  it('draws a line to each item that is needed, and what is needed left of what needs it', async () => {
    await page.waitForFunction(() => document.querySelectorAll('.drawing path.edge').length >= 10);
    const left = async (name: RegExp) => (await button(name).boundingBox())?.x ?? 0;
    expect(await left(/^db service/)).toBeLessThan(await left(/^auth service/));
    expect(await left(/^auth service/)).toBeLessThan(await left(/^web service/));
    expect(await left(/^app repo/)).toBeLessThan(await left(/^app-env env file/));
  });

  it('opens an item beside it: why, what it needs, where each value was declared; the address says which', async () => {
    await button(/^web service/).click();
    const web = panel('service web');
    await web.getByText('clients/acme/overlay.yaml:9').waitFor();
    await web.getByText('skillbox.yaml:7').first().waitFor();
    await web.getByText('exited with 1: <img').waitFor();
    expect(page.url()).toContain('item=services%2Fweb');
    await web.getByRole('region', { name: 'Needs' }).getByRole('button', { name: 'auth' }).click();
    await panel('service auth').waitFor();
    await panel('service auth').getByRole('region', { name: 'Needed by' }).getByRole('button', { name: 'web' }).click();
    await panel('service web').waitFor();
    await looks('box-panel');
    await page.reload();
    await panel('service web').waitFor();
    await panel('service web').getByRole('button', { name: 'Close' }).click();
    expect(page.url()).not.toContain('item=');
  });

  it('is reached by keys: arrows go to the next item, Enter opens it, Escape closes it', async () => {
    await button(/^db service/).focus();
    await page.keyboard.press('ArrowRight');
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    expect(await focused()).not.toContain('db');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await page.getByRole('complementary').getByRole('button', { name: 'Close' }).focus();
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
  });

  it('is a list too, for phones and for who reads, and is filtered by name, section and state', async () => {
    await button('List').click();
    await page.getByRole('list', { name: 'Services' }).getByText('web').first().waitFor();
    await page.getByRole('list', { name: 'Logs' }).getByText('app-logs').waitFor();
    await looks('box-list');
    await page.getByLabel('Filter').fill('missing');
    await page.getByText('2 of 16').waitFor();
    await page.getByLabel('Filter').fill('nothing like it');
    await page.getByText('None of them fits').waitFor();
    await page.getByLabel('Filter').fill('');
  });

  it('offers to start only what can be started, and asks before it stops something', async () => {
    await visitor.go('/box?item=services%2Fcloud');
    await panel('service cloud').getByText('managed elsewhere').waitFor();
    expect(await panel('service cloud').getByRole('button', { name: 'Start' }).count()).toBe(0);
    await visitor.go('/box?item=services%2Fdb');
    await panel('service db').getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog').getByText('what needs it').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click();
  });

  it('shows what was done, with the last words of what failed, and a refusal in its place', async () => {
    const sync = { dry_run: false, changed: false, ok: true, actions: [], duration_ms: 1 };
    const outcome = {
      id: 'worker',
      result: 'failed',
      pid: null,
      duration_ms: 1200,
      detail: 'exited with 2',
      error: null,
      tail: ['<b>boom</b>'],
    };
    const report = { ok: false, dry_run: false, mode: 'prod', sync, tasks: [], services: [outcome], url: null, admin_key_file: null };
    await page.route(/\/v1\/runtime\/up$/, (route) => route.fulfill({ json: report }));
    await visitor.go('/box?item=services%2Fworker');
    await panel('service worker').getByRole('button', { name: 'Start' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
    await page.getByRole('dialog').getByText('<b>boom</b>').waitFor();
    await page.getByRole('dialog').getByText('exited with 2').waitFor();
    await looks('box-report');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  });
});

describe('what is not there', () => {
  beforeAll(async () => {
    visitor = await person.visit(box, { mayHear: /status of (404|500|503)|Failed to load/ });
    ({ page } = visitor);
  });
  afterAll(() => visitor.close());

  it('nothing declared says how to declare something', async () => {
    await tell(page, status());
    await visitor.go('/box');
    await page.getByText('Nothing is declared').waitFor();
    await page.getByText('skillbox render').waitFor();
    await visitor.fitsPhone();
  });

  it('a failure is told with its hint and request id', async () => {
    const error = {
      error: 'manifest_invalid',
      message: 'skillbox.yaml:3: unknown key',
      hint: 'Did you mean services?',
      request_id: 'req-9',
    };
    await page.route(/\/v1\/runtime(\?.*)?$/, (route) => route.fulfill({ status: 422, json: error }));
    await visitor.go('/box');
    await page.getByText('skillbox.yaml:3: unknown key').waitFor();
    await page.getByText('Did you mean services?').waitFor();
    await page.getByText('req-9').waitFor();
  });

  it('five hundred services are a list that answers, and a part of them a drawing', async () => {
    await tell(page, crowd(500));
    await visitor.go('/box');
    await page.getByText('500 of 500, too many to draw').waitFor();
    await page.getByLabel('Filter').fill('services/s49');
    await page.getByText('11 of 500').waitFor();
    await page.getByRole('group', { name: 'Graph' }).waitFor();
  });

  it('a part or a service that there is not', async () => {
    await visitor.go('/box/nonsense');
    await page.getByText('There is no such part').waitFor();
    await tell(page, motley);
    await visitor.go('/box/services/nobody');
    await page.getByText('There is no such service').waitFor();
  });
});

describe('who may not', () => {
  it('sees no page without graph:read, and no button without graph:use', async () => {
    const outsider = await person.visit(box, { key: await box.newKey('tenant-x', ['skills:read']) });
    await outsider.go('/');
    expect(await outsider.page.getByRole('link', { name: 'Box', exact: true }).count()).toBe(0);
    outsider.quiet();
    await outsider.close();
    visitor = await person.visit(box, { key: await box.newKey('tenant-x', ['graph:read']) });
    ({ page } = visitor);
    await tell(page, motley);
    await visitor.go('/box?item=services%2Fdb');
    await panel('service db').getByRole('link', { name: 'Log' }).waitFor();
    for (const name of ['Stop', 'Restart', 'Act']) expect(await page.getByRole('button', { name, exact: true }).count()).toBe(0);
    visitor.quiet();
    await visitor.close();
  });
});

describe('a real environment', () => {
  const dialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
  const state = async (id: string) =>
    (await box.json<{ services: { id: string; state: string; pid: number | null }[] }>('/v1/runtime')).body.services.find(
      (each) => each.id === id,
    );

  beforeAll(async () => {
    visitor = await person.visit(box, { mayHear: /status of (404|409)/ });
    ({ page } = visitor);
  });
  afterAll(() => visitor.close());

  it('starts a service with the task that it needs, and shows it running without a reload', async () => {
    await visitor.go('/box?item=services%2Fweb');
    await panel('service web').getByRole('button', { name: 'Start', exact: true }).click();
    await dialog('Start').click();
    await page.getByRole('list', { name: 'What was done' }).getByText('task make').waitFor({ timeout: 30_000 });
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await panel('service web').getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await button(/^web service, running$/).waitFor();
    expect(await state('web')).toMatchObject({ state: 'running', pid: expect.any(Number) });
  });

  it('shows what it writes, at an address of its own', async () => {
    await panel('service web').getByRole('link', { name: 'Log' }).click();
    await page.waitForURL(/\/ui\/box\/services\/web/);
    await page.getByText('hello from web').waitFor();
    await looks('box-service');
  });

  it('sees by itself that it was stopped elsewhere', async () => {
    await visitor.go('/box');
    await button(/^web service, running$/).waitFor();
    await box.json('/v1/runtime/down', { body: { service: 'web' } });
    await button(/^web service, (declared|down)$/).waitFor();
  });

  it('focuses a client: steps, attention, what agents read', async () => {
    await visitor.go('/box/focus');
    await page.getByLabel('Client').selectOption('acme');
    await looks('box-focus');
    await button('Focus').click();
    await page.getByText('Focused on acme').waitFor({ timeout: 30_000 });
    await page.getByRole('list', { name: 'Steps' }).getByText('persist').waitFor();
    await page.getByRole('list', { name: 'What agents read' }).getByText('CLAUDE.md').first().waitFor();
    await looks('box-focused');
  });

  it('keeps a session: begun, noted in, ended with a summary, resumed', async () => {
    await visitor.go('/box/sessions');
    await page.getByText('No session yet').waitFor();
    await looks('box-sessions-empty');
    await button('New session').click();
    await page.getByLabel('Label').fill('search is <b>slow</b>');
    await page.getByLabel('Goal').fill('under 10 ms');
    await dialog('Begin').click();
    await page.waitForURL(/\/ui\/box\/sessions\/\d{8}-\d{6}-[0-9a-f]{6}/);
    await page.getByLabel('Kind').selectOption('decision');
    await page.getByLabel('What happened').fill('add an index <script>alert(1)</script>');
    await button('Add').click();
    await page.getByRole('list', { name: 'Timeline' }).getByText('add an index <script>').waitFor();
    await looks('box-session');
    await button('End').click();
    await page.getByLabel('Summary').fill('# Index added\n\nIt was missing.');
    await dialog('End it').click();
    await page.getByRole('region', { name: 'Handed over' }).getByText('It was missing.').waitFor();
    await button('Resume').click();
    await button('End').waitFor();
    await visitor.go('/box/sessions?state=active');
    await page.getByRole('link', { name: 'search is <b>slow</b>' }).waitFor();
    await looks('box-sessions');
  });

  it('starts and stops pulse, and shows what happened', async () => {
    await visitor.go('/box/pulse');
    await page.getByText(/^Pulse (keeps|does not)/).waitFor();
    if (await button('Start').count()) await button('Start').click();
    await button('Stop').click();
    await dialog('Stop').click();
    await page.getByText('Pulse does not run').waitFor();
    await looks('box-pulse');
  });

  it('has doctor and the model of the box', async () => {
    await visitor.go('/box/doctor');
    await page.getByRole('list', { name: 'Checks' }).getByRole('listitem').first().waitFor({ timeout: 20_000 });
    await looks('box-doctor');
    await visitor.go('/box/about');
    await page.getByRole('cell', { name: 'SKILLBOX_WORKSPACE_ROOT' }).waitFor();
    await looks('box-about');
  });

  it('is found with the palette', async () => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('web');
    await page
      .getByRole('option', { name: /web.*service/ })
      .first()
      .click();
    await panel('service web').waitFor();
    visitor.quiet();
  });
});
