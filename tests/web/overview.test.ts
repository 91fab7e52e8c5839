/** The overview as a person sees it: figures of real runs, the machine, and events as they happen. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { echoSkill } from '../e2e/wire.ts';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type Person, startBrowser } from './browser.ts';

let box: TestBox;
let person: Person;
beforeAll(async () => {
  box = await startTestBox();
  await box.push(echoSkill());
  person = await startBrowser();
});
afterAll(async () => {
  await person?.close();
  await box?.stop();
});

it('says what to type when nothing ran, and shows what runs as it runs', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/');
  await page.getByText('Nothing ran in the last 1h').waitFor();
  await page.getByText('skillbox run data-analysis').waitFor();
  for (let at = 0; at < 6; at += 1) await box.run('echo', { input: at });
  await box.json('/v1/executions', { body: { skill: 'echo', version: '1.0.0', input: 1, timeout: '1ms' } });
  await page.locator('.tile', { hasText: 'Executions' }).getByText('7').waitFor();
  await page.locator('.events').getByText('execution.finished').first().waitFor();
  await page.getByRole('figure', { name: /Executions over time: Succeeded/ }).waitFor();
  await page.getByRole('list', { name: 'Phases, p95' }).getByText('sandbox').waitFor();
  await page.getByRole('meter', { name: 'Disk used' }).waitFor();
  // What is used is never more than there is, however long the queue: that is the load beside it.
  const cpu = page.locator('.gauge', { has: page.getByText('CPU', { exact: true }) });
  await cpu.getByText(/\d processors? · load \d+\.\d\d \d+\.\d\d \d+\.\d\d/).waitFor();
  expect(Number.parseFloat((await cpu.locator('b').textContent()) ?? '')).toBeLessThanOrEqual(100);
  await page.getByText('bubblewrap').first().waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('overview');
  await page.getByLabel('Time', { exact: true }).selectOption('15m');
  expect(new URL(page.url()).searchParams.get('window')).toBe('15m');
  await page.getByRole('heading', { name: /each 10 s/ }).waitFor();
  await page.locator('.events a').first().click();
  await page.getByRole('heading', { name: 'echo' }).waitFor();
  visitor.quiet();
  await visitor.close();
});

it('shows a tenant its own work and nothing of the machine', async () => {
  const visitor = await person.visit(box, { key: await box.newKey('acme', ['executions:read', 'skills:read']) });
  const { page } = visitor;
  await visitor.go('/');
  await page.getByText('Nothing ran in the last 1h').waitFor();
  expect(await page.getByRole('meter').count()).toBe(0);
  expect(await page.locator('.events li').count()).toBe(0);
  visitor.quiet();
  await visitor.close();
});
