/** Admin in the dashboard: keys, tenants, credits, templates, secrets, webhooks, providers, egress, the audit log and the doctor. */

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiKey, Page as Listed, Template } from '@skillbox/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestBox, type TestBox } from '../support/box.ts';
import { type Person, startBrowser } from './browser.ts';

let box: TestBox;
let person: Person;
let hub: Server;
beforeAll(async () => {
  box = await startTestBox({ SKILLBOX_WEBHOOK_PRIVATE_ADDRESSES: 'allow' });
  person = await startBrowser();
  hub = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
});
afterAll(async () => {
  hub?.close();
  await person?.close();
  await box?.stop();
});

const evil = '<img src=x onerror=alert(1)>';

it('a key is made with scopes, shown once, works, and is revoked after a question', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill(evil);
  await dialog.getByLabel('Tenant', { exact: true }).fill('acme');
  for (const scope of ['executions:run', 'executions:read', 'sandboxes:read', 'sandboxes:use'])
    await dialog.getByRole('checkbox', { name: scope }).uncheck();
  await dialog.getByLabel('Ends after').fill('24h');
  await visitor.accessible();
  await visitor.fitsPhone();
  await dialog.getByRole('button', { name: 'Make the key' }).click();
  await page.getByText('it is shown this once').waitFor();
  const key = (await page.getByRole('dialog').locator('code').textContent()) ?? '';
  expect(key).toMatch(/^sk-[0-9a-f]{48}$/);
  expect((await box.request('/v1/skills', { key })).status).toBe(200);
  expect((await box.request('/v1/executions', { key })).status).toBe(403);
  await page.getByRole('button', { name: 'I have it' }).click();
  expect(await page.content()).not.toContain(key);
  const made = (await box.json<Listed<ApiKey>>('/v1/keys?tenant=acme')).body.items[0];
  expect(made).toMatchObject({ name: evil, tenant: 'acme', scopes: ['skills:read'], actor: 'agt' });
  await page.getByText(evil).first().waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-keys');

  await page.getByTitle(`Revoke ${evil}`).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Keep it' }).click();
  expect((await box.request('/v1/skills', { key })).status).toBe(200);
  await page.getByTitle(`Revoke ${evil}`).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByTitle(`Revoke ${evil}`).waitFor({ state: 'detached' });
  expect((await box.request('/v1/skills', { key })).status).toBe(401);
  await page.getByLabel('State', { exact: true }).selectOption('all');
  await page.waitForURL(/state=all/);
  await page.getByText('revoked').waitFor();
  visitor.quiet();
  await visitor.close();
});

it('a refusal of the box stands in the form, with hint and request id', async () => {
  const visitor = await person.visit(box, { mayHear: /status of 400/ });
  const { page } = visitor;
  await visitor.go('/admin/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('x');
  await page.getByRole('dialog').getByLabel('Ends after').fill('soon');
  await page.getByRole('button', { name: 'Make the key' }).click();
  const note = page.getByRole('alert');
  await note.waitFor();
  expect(await note.textContent()).toMatch(/expires_in.*Request/s);
  visitor.quiet();
  await visitor.close();
});

it('tenants have quotas that can be set', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/tenants');
  await page.getByRole('button', { name: 'New tenant' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('quota-team');
  await dialog.getByLabel('Runs at once').fill('3');
  await dialog.getByLabel('Storage in MiB').fill('64');
  await dialog.getByRole('button', { name: 'Set limits' }).click();
  const row = page.getByRole('row', { name: /quota-team/ });
  await row.waitFor();
  await row.getByRole('button', { name: 'Limits' }).click();
  expect(await dialog.getByLabel('Storage in MiB').inputValue()).toBe('64');
  await dialog.getByLabel('Runs at once').fill('5');
  await dialog.getByRole('button', { name: 'Set limits' }).click();
  await row.getByText('5', { exact: true }).waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-tenants');
  visitor.quiet();
  await visitor.close();
});

it('credits are given, and stand in the ledger and its chart', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/credits');
  await page.getByText('Nothing was granted to default yet').waitFor();
  await page.getByRole('button', { name: 'Give credits' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Credits').fill('12.5');
  await dialog.getByLabel('Note').fill(evil);
  await dialog.getByRole('button', { name: 'Give', exact: true }).click();
  const row = page.getByRole('row', { name: /grant/ });
  await row.getByText('12.5').waitFor();
  await row.getByText(evil).waitFor();
  expect(await page.locator('.tile', { hasText: 'Available' }).locator('strong').textContent()).toBe('12.5');
  expect(await page.getByRole('figure').textContent()).toContain('Granted');
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-credits');
  visitor.quiet();
  await visitor.close();
});

it('templates are shown with who would make one, and new ones are applied', async () => {
  const visitor = await person.visit(box, { mayHear: /status of 4/ });
  const { page } = visitor;
  await visitor.go('/admin/templates?name=base');
  await page.getByRole('list', { name: 'Candidates' }).getByText('taken').waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-templates');
  await page.getByRole('button', { name: 'New template' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('small');
  await dialog.getByLabel('Definition as JSON').fill('{');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await dialog.getByText(/This is not JSON/).waitFor();
  await dialog.getByLabel('Definition as JSON').fill('{"resources": {"cpu": 0.5, "memory": "64Mi"}}');
  await dialog.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('row', { name: /small/ }).waitFor();
  expect((await box.json<Template>('/v1/templates/small')).body.resources).toMatchObject({ cpu: 0.5, memory_bytes: 64 * 2 ** 20 });
  visitor.quiet();
  await visitor.close();
});

it('secrets are set and deleted, and never shown', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/secrets');
  await page.getByText('There are no secrets yet').waitFor();
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('GITHUB_TOKEN');
  await page.getByRole('dialog').getByLabel('Value').fill('very-secret-value');
  await page.getByRole('dialog').getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByRole('cell', { name: 'GITHUB_TOKEN', exact: true }).waitFor();
  expect(await page.content()).not.toContain('very-secret-value');
  await visitor.accessible();
  await visitor.fitsPhone();
  await page.getByTitle('Delete GITHUB_TOKEN').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('There are no secrets yet').waitFor();
  visitor.quiet();
  await visitor.close();
});

it('webhooks are made, tested, looked into and deleted', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('hub');
  await page
    .getByRole('dialog')
    .getByLabel('Address')
    .fill(`http://127.0.0.1:${(hub.address() as AddressInfo).port}/`);
  await page.getByRole('dialog').getByRole('button', { name: 'Make the webhook' }).click();
  await page.getByText('it is shown this once').waitFor();
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByTitle('Test hub').click();
  await page.getByText(/hub answered 200/).waitFor();
  await page.getByRole('button', { name: 'hub', exact: true }).click();
  await page.waitForURL(/name=hub/);
  await page.getByText('Nothing was sent yet').waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByTitle('Delete hub').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('There are no webhooks yet').waitFor();
  visitor.quiet();
  await visitor.close();
});

it('providers, the canary and what is left over', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/providers');
  await page.getByRole('list', { name: 'Providers' }).getByText('bubblewrap').waitFor();
  await page.getByRole('button', { name: 'Send one now' }).click();
  await page.getByText('lives', { exact: true }).waitFor();
  await page.getByText('No sandbox is left over').waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-providers');
  visitor.quiet();
  await visitor.close();
});

it('decisions of the egress proxy, by kind', async () => {
  const actor = { kind: 'atm', id: 'egress' } as const;
  const subject = { type: 'sandbox', id: `b${'0'.repeat(19)}` };
  await box.box.events.append([
    { tenant: 'default', actor, subject, type: 'sandbox.egress_refused', data: { host: evil, port: 443, reason: 'not on the list' } },
    { tenant: 'default', actor, subject, type: 'sandbox.egress_allowed', data: { host: 'index.example', port: 443 } },
  ]);
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/egress');
  await page.getByText(`host=${evil}`).waitFor();
  expect(await page.getByText('index.example').count()).toBe(0);
  await page.getByLabel('Decision', { exact: true }).selectOption('allowed');
  await page.waitForURL(/decision=allowed/);
  await page.getByText('host=index.example').waitFor();
  await visitor.accessible();
  await visitor.fitsPhone();
  visitor.quiet();
  await visitor.close();
});

it('the audit log is filtered in the address, looked into, and exported', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await box.newKey('audited', ['skills:read']);
  await visitor.go('/admin/audit');
  await page.getByRole('button', { name: 'audit.key.create' }).first().click();
  await page.getByRole('dialog').getByText('request_id').waitFor();
  await page.keyboard.press('Escape');
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-audit');
  for (const [title, check] of [
    ['As CSV', (text: string) => expect(text).toMatch(/^seq,time,tenant[\s\S]*audit\.key\.create/)],
    [
      'As JSON',
      (text: string) => expect((JSON.parse(text) as { type: string }[]).every(({ type }) => type.startsWith('audit.'))).toBe(true),
    ],
  ] as const) {
    await page.getByRole('button', { name: 'Export' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: title }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^events-[\dT-]+\.(csv|json)$/);
    check(readFileSync(await file.path(), 'utf8'));
  }
  await page.getByLabel('Kind', { exact: true }).selectOption('skill.');
  await page.waitForURL(/type=skill\./);
  await page.getByText('Nothing of this kind happened').waitFor();
  await visitor.go('/admin/audit?within=1h&subject=key:nobody');
  await page.getByText('Nothing of this kind happened').waitFor();
  visitor.quiet();
  await visitor.close();
});

it('the doctor shows what the host has, and the line that mends what it lacks', async () => {
  const visitor = await person.visit(box);
  const { page } = visitor;
  await visitor.go('/admin/doctor');
  const checks = page.getByRole('list', { name: 'Checks' });
  await checks.getByText('state root').waitFor({ timeout: 30_000 });
  await visitor.accessible();
  await visitor.fitsPhone();
  await visitor.screenshot('admin-doctor');
  visitor.quiet();
  await visitor.close();
});

it('a key sees the parts it may see, and in them only what it may do', async () => {
  const visitor = await person.visit(box, { key: await box.newKey('default', ['sandboxes:read']) });
  const { page } = visitor;
  await visitor.go('/admin');
  const parts = page.getByRole('navigation', { name: 'Parts of Admin' });
  await parts.waitFor();
  expect(await parts.getByRole('link').allInnerTexts()).toEqual(['Credits', 'Templates']);
  await page.getByRole('row', { name: /grant/ }).waitFor();
  expect(await page.getByRole('button', { name: 'Give credits' }).count()).toBe(0);
  await visitor.go('/admin/templates');
  await page.getByRole('row', { name: /base/ }).waitFor();
  expect(await page.getByRole('button', { name: 'New template' }).count()).toBe(0);
  await visitor.go('/admin/keys');
  await page.getByText('There is no such part').waitFor();
  visitor.quiet();
  await visitor.close();

  const reader = await person.visit(box, { key: await box.newKey('default', ['skills:read']) });
  await reader.go('/skills');
  expect(await reader.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Admin' }).count()).toBe(0);
  reader.quiet();
  await reader.close();
});
