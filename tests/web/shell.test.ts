/** The dashboard as such: how it is served, how one signs in and out, and how one finds the way. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { echoSkill } from '../e2e/wire.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type Person, startBrowser } from './browser.ts';

let box: TestBox;
let person: Person;
beforeAll(async () => {
  box = await startTestBox();
  person = await startBrowser();
});
afterAll(async () => {
  await person?.close();
  await box?.stop();
});

describe('how it is served', () => {
  it('without a key, under a policy without inline scripts, styles or frames, and never guessed', async () => {
    const response = await box.request('/ui/', { key: null });
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const rule of [
      "default-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "object-src 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(rule);
    expect(policy).not.toMatch(/unsafe|\*|http/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    const page = await response.text();
    expect(page).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|(?:src|href)="(?:https?:)?\/\//);
  });

  it('what has a hash in its name for good, packed for who takes that; any other path is the page', async () => {
    const page = await (await box.request('/ui/', { key: null })).text();
    const [, script = ''] = /src="(\/ui\/assets\/[^"]+\.js)"/.exec(page) ?? [];
    const asset = await box.request(script, { key: null });
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(asset.headers.get('content-encoding')).toBe('gzip');
    const plain = await box.request(script, { key: null, headers: { 'Accept-Encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(await asset.text());
    expect((await box.request(script, { key: null, headers: { 'If-None-Match': asset.headers.get('etag') ?? '' } })).status).toBe(304);
    expect(await (await box.request('/ui/executions/some-id?x=1', { key: null })).text()).toBe(page);
    expect((await box.request('/ui', { key: null })).url).toBe(`${box.url}/ui/`);
    for (const path of ['/ui/assets/none.js', '/ui/assets/../../cli.js', '/ui/assets/%2e%2e/%2e%2e/cli.js'])
      expect((await (await box.request(path, { key: null })).text()).includes('commander'), path).toBe(false);
    expect((await box.request('/ui/assets/none.js', { key: null })).status).toBe(404);
  });

  it('with under 200 KB before terminal and charts, and ready within a second', async () => {
    const loads: { bytes: number; ready: number }[] = [];
    // The first one also starts processes of the browser; nothing is kept from one to the next.
    for (let turn = 0; turn < 3; turn += 1) {
      const visitor = await person.visit(box, { key: null });
      const session = await visitor.page.context().newCDPSession(visitor.page);
      await session.send('Network.enable');
      let bytes = 0;
      session.on('Network.loadingFinished', ({ encodedDataLength }) => {
        bytes += encodedDataLength;
      });
      await visitor.page.goto(`${box.url}/ui/`);
      await visitor.page.getByLabel('API key').waitFor();
      loads.push({ bytes, ready: await visitor.page.evaluate(() => performance.now()) });
      await visitor.close();
    }
    console.log(`first load: ${loads.map(({ bytes, ready }) => `${(bytes / 1024).toFixed(0)} KiB in ${ready.toFixed(0)} ms`).join(', ')}`);
    for (const { bytes } of loads) expect(bytes).toBeLessThan(200 * 1024);
    expect(Math.min(...loads.map(({ ready }) => ready))).toBeLessThan(1000);
  });
});

describe('signing in', () => {
  it('takes a key, says what is wrong with another, and forgets it at the end', async () => {
    // The answer 401 stands on the console of every browser.
    const visitor = await person.visit(box, { key: null, mayHear: /401/ });
    const { page } = visitor;
    await visitor.go('/');
    await visitor.accessible();
    await visitor.fitsPhone();
    await visitor.screenshot('sign-in');
    await page.getByLabel('API key').fill(`sk-${'0'.repeat(48)}`);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This key is not valid.').waitFor();
    await page.getByLabel('API key').fill(box.key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }]))).not.toContain(box.key.slice(3));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate(() => ({ ...sessionStorage }))).toEqual({});
    visitor.quiet();
    await visitor.close();
  });

  it('works with a link, once, and leaves nothing of it in the address', async () => {
    const { body } = await box.json<{ url: string }>('/v1/sign-in/links', { body: {} });
    const visitor = await person.visit(box, { key: null, mayHear: /403/ });
    const { page } = visitor;
    await page.goto(body.url);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(page.url()).toBe(`${box.url}/ui/`);
    const key = (await page.evaluate(() => sessionStorage.getItem('skillbox.key'))) ?? '';
    expect(key).not.toBe(box.key);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    await expect.poll(async () => (await box.request('/v1/keys/self', { key })).status).toBe(401);
    await page.goto('about:blank');
    await page.goto(body.url);
    await page.getByRole('alert').getByText('This link was used already').waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('holds for new tabs, and ends in all of them', async () => {
    const visitor = await person.visit(box, { key: null });
    const { page } = visitor;
    await visitor.go('/');
    await page.getByLabel('API key').fill(box.key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const other = await page.context().newPage();
    await other.goto(`${box.url}/ui/`);
    await other.getByRole('heading', { name: 'Overview' }).waitFor();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('shows a key no more than it may do', async () => {
    const reader = await box.newKey('acme', ['executions:read']);
    const visitor = await person.visit(box, { key: reader });
    await visitor.go('/');
    await visitor.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const places = await visitor.page.locator('.nav a.place').allTextContents();
    expect(places).toContain('Executions');
    expect(places).not.toContain('Admin');
    expect(await visitor.page.getByLabel('Tenant').count()).toBe(0);
    expect(await visitor.page.getByText('Machine').count()).toBe(0);
    visitor.quiet();
    await visitor.close();
  });

  it('ends when the key does', async () => {
    const { body: made } = await box.json<{ id: string; key: string }>('/v1/keys', { body: { name: 'short', scopes: ['admin'] } });
    const visitor = await person.visit(box, { key: made.key, mayHear: /401/ });
    await visitor.go('/');
    await visitor.page.getByRole('heading', { name: 'Overview' }).waitFor();
    await box.json(`/v1/keys/${made.id}`, { method: 'DELETE' });
    await visitor.page.getByText('does not work any more').waitFor({ timeout: 15_000 });
    visitor.quiet();
    await visitor.close();
  });
});

describe('finding the way', () => {
  it('with the palette, by keys, and back', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await visitor.go('/');
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: /^Find/ });
    await field.fill('exec');
    await page.getByRole('option', { name: /^Executions g e/ }).waitFor();
    await visitor.accessible();
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/executions');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    visitor.quiet();
    await visitor.close();
  });

  it('on a phone, in the other colours, and to nowhere', async () => {
    const visitor = await person.visit(box, { width: 360, height: 740 });
    const { page } = visitor;
    await visitor.go('/nowhere/at/all');
    await page.getByText('There is no such page').waitFor();
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('button', { name: 'Light colours' }).click();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light');
    await page.locator('.nav').getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await visitor.fitsPhone();
    visitor.quiet();
    await visitor.close();
  });

  it('for another tenant, who stands in the address', async () => {
    const visitor = await person.visit(box);
    const { page } = visitor;
    await box.newKey('acme');
    await visitor.go('/');
    await page.getByLabel('Tenant').selectOption('acme');
    await page.locator('.nav').getByRole('link', { name: 'Executions' }).click();
    await page.getByRole('heading', { name: 'Executions' }).waitFor();
    expect(new URL(page.url()).search).toBe('?tenant=acme');
    visitor.quiet();
    await visitor.close();
  });
});

it('says when the box is away, keeps what was there, and goes on by itself', async () => {
  const other = await startTestBox();
  await other.push(echoSkill());
  const visitor = await person.visit(other, { mayHear: /Failed to load resource|ERR_|preload assets|this page could not be loaded/ });
  const { page } = visitor;
  const banner = page.getByRole('status').getByText('The box does not answer. What you see may be old');
  const skills = page.getByRole('list', { name: 'Skills' });
  await visitor.go('/');
  await page.getByRole('meter', { name: 'Disk used' }).waitFor();
  expect(await banner.count()).toBe(0);
  await page.context().setOffline(true);
  await banner.waitFor({ timeout: 20_000 });
  expect(await page.getByRole('meter', { name: 'Disk used' }).count()).toBe(1);
  await visitor.screenshot('offline-overview');
  // What is not there yet says the same.
  await page.locator('.nav').getByRole('link', { name: 'Skills' }).click();
  await page
    .getByRole('alert')
    .getByText(/does not answer|cannot be reached/i)
    .waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('offline');
  await page.context().setOffline(false);
  await banner.waitFor({ state: 'detached', timeout: 20_000 });
  await skills.getByRole('link', { name: /echo/ }).waitFor();
  visitor.quiet();
  await visitor.close();
  await other.stop();
});
