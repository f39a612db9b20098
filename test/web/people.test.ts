import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';
import { layoutFaults } from './layout-faults.ts';

const start = liveServers();
const open = browserPages();
const folder = mkdtempSync(join(tmpdir(), 'parley-people-pages-'));
afterAll(() => rmSync(folder, { recursive: true }));

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const path = join(folder, 'keys.json');
const password = 'the password';
let started: Promise<LiveServer> | undefined;
/** One for most tests of this file, with a key file and a folder for what people store. */
const server = (): Promise<LiveServer> => {
  started ??= start(
    ['--nomodel', '--admin', '--password', password, '--keyfile', path].concat('--savedatafile', join(folder, 'saved')),
  );
  return started;
};

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });

async function asAdmin(method: string, where: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${(await server()).base}${where}`, {
    method,
    headers: { authorization: `Bearer ${password}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
}

/** The path of a new invitation, with its token. */
async function invited(name: string, more: object = {}): Promise<string> {
  return (await asAdmin('POST', '/api/admin/invitations', { name, ...more })).path as string;
}

/** Signs in with a link, in a browser of its own. */
async function joined(name: string, more: object = {}, options: object = {}): Promise<Page> {
  const { base } = await server();
  const page = await open(`${base}${await invited(name, more)}`, options);
  await button(page, /^(Join|Sign in)$/).click();
  await page.waitForURL(`${base}/`);
  return page;
}

describe.skipIf(withoutBrowser)('join', () => {
  test('join: a phone reads whom a link is for, and one tap signs in; the address has no token from the first moment', async () => {
    const { base } = await server();
    const link = await invited('Anna', { scopes: ['chat', 'images'], tokens_per_day: 50_000 });
    const page = await open(`${base}${link}`, phone);
    await page.getByRole('heading', { name: 'You are joining as Anna' }).waitFor();
    expect(page.url()).toBe(`${base}/join`);
    await page.getByText('You may use: Chat and Pictures.').waitFor();
    await page.getByText('Up to 50,000 tokens a day.').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Join').tap();
    await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
    expect(page.url()).toBe(`${base}/`);
    // The session is in a cookie that no script can read, and nothing is kept beside it.
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(
      await page.evaluate(`localStorage.getItem('parley.key') ?? sessionStorage.getItem('parley.key')`),
    ).toBeNull();
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    expect(await page.evaluate('navigation.entries().map(({ url }) => url).join()')).not.toContain('#');
    expect(faults.get(page)).toEqual([]);
  });

  test('join: used, withdrawn and incomplete links are told apart, and an expired one', async () => {
    const { base } = await server();
    const used = await invited('Used');
    const first = await open(`${base}${used}`);
    await button(first, 'Join').click();
    await first.waitForURL(`${base}/`);
    const second = await open(`${base}${used}`);
    await second.getByText('This invitation was used already: each works once.').waitFor();
    await second.goto(`${base}/join#made-up`);
    await second.getByText('This server does not know the invitation.').waitFor();
    await second.reload();
    await second.getByText('The link is incomplete').waitFor();
    expect(await barriers(second)).toEqual([]);

    const late = await open(`${base}/join`);
    const said = { ...{ name: 'Late', existing: false, scopes: [], by: 'owner' }, minutes_left: 0, state: 'expired' };
    await late.route('**/api/extra/join/preview', (route) => route.fulfill({ json: said }));
    await late.goto(`${base}/join?#late`);
    await late.getByText('This invitation is too old').waitFor();
  });

  test('join: of two who have opened a link, the second reads that it was used', async () => {
    const { base } = await server();
    const link = await invited('Twice');
    const [one, other] = [await open(`${base}${link}`), await open(`${base}${link}`)];
    await button(other, 'Join').waitFor();
    await button(one, 'Join').click();
    await one.waitForURL(`${base}/`);
    await button(other, 'Join').click();
    await other.getByText('This invitation was used already').waitFor();
  });

  test('join: a browser in which somebody else is signed in says so before', async () => {
    const { base } = await server();
    const page = await joined('First');
    await page.goto(`${base}${await invited('Second')}`);
    await page.getByText('In this browser First is signed in. That ends when you go on.').waitFor();
  });

  test('join: with cookies blocked the page says so, and the link still works', async () => {
    const { base } = await server();
    const link = await invited('Careful');
    const page = await open('about:blank');
    const devtools = await page.context().newCDPSession(page);
    const block = (disabled: boolean) => devtools.send('Emulation.setDocumentCookieDisabled', { disabled });
    await block(true);
    await page.goto(`${base}${link}`);
    await button(page, 'Join').click();
    await page.getByText('This browser does not send the cookie that signs you in.').waitFor();
    await block(false);
    await page.goto('about:blank');
    await page.goto(`${base}${link}`);
    await button(page, 'Join').click();
    await page.waitForURL(`${base}/`);
  });

  test('join: a server without keys says that nobody has to be invited', async () => {
    const open2 = await start(['--nomodel']);
    const page = await open(`${open2.base}/join#token`);
    await page.getByText('This server has no keys').waitFor();
    await button(page, 'Open Parley').click();
    await page.waitForURL(`${open2.base}/`);
    await open2.stop();
  });
});

const tab = (page: Page) => page.getByRole('tabpanel');
/** Above that of the settings. */
const dialog = (page: Page) => page.locator('dialog[open] dialog[open]');

async function peopleTab(page: Page): Promise<Page> {
  await page.goto(`${(await server()).base}/#/settings/people`);
  await tab(page).waitFor();
  return page;
}

/** The tab of somebody who administers the server. */
async function administrator(name: string, options: object = {}): Promise<Page> {
  const page = await peopleTab(await joined(name, { scopes: ['admin', 'chat', 'images'] }, options));
  await button(page, 'Invite').waitFor();
  return page;
}

const personOf = (page: Page, name: string) => tab(page).locator('details').filter({ hasText: name });
const linkIn = async (page: Page): Promise<string> => {
  const link = await dialog(page).locator('code').innerText();
  expect(link).toMatch(/\/join#[\w-]{24}$/);
  return link;
};

describe.skipIf(withoutBrowser)('people', () => {
  test('people: an invitation made on the page lets one browser in, and whoever made it sees that', async () => {
    const page = await administrator('Boss');
    await button(page, 'Invite').click();
    await dialog(page).getByLabel('Name', { exact: true }).fill('Greta');
    await dialog(page).getByText('Choose', { exact: true }).click();
    for (const scope of ['Stories and text', 'Pictures', 'Embeddings', 'Tools', 'Documents', 'Speech and sound'])
      await dialog(page).getByLabel(scope).uncheck();
    await dialog(page).getByText('Limits', { exact: true }).click();
    await dialog(page).getByLabel('Tokens per day').fill('5000');
    expect(await barriers(page)).toEqual([]);
    await dialog(page).getByRole('button', { name: 'Make the invitation' }).click();
    await dialog(page).getByRole('img', { name: 'QR code of the link' }).waitFor();
    await dialog(page).getByText('This address works on this machine only.').waitFor();
    await dialog(page)
      .getByText(/^Works for 14:/)
      .waitFor();
    expect(await barriers(page)).toEqual([]);

    const other = await open(await linkIn(page), phone);
    await button(other, 'Join').tap();
    await other.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
    await dialog(page).getByText('The link was used: Greta is signed in.').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    const greta = personOf(page, 'Greta');
    await greta.locator('summary').click();
    await greta.getByText('5,000 tokens per day').waitFor();
    await greta.getByText('Chat', { exact: true }).waitFor();
    await greta.getByText('their own').waitFor();
    await greta.getByText('Chrome, ', { exact: false }).waitFor();
    expect(await barriers(page)).toEqual([]);

    // Greta administers nothing, and sees only herself.
    await peopleTab(other);
    await tab(other).getByText('You are signed in as Greta.').waitFor();
    await expect.poll(() => tab(other).getByText('Boss').count()).toBe(0);
    expect(await button(other, 'Invite').count()).toBe(0);
    expect(faults.get(page)).toEqual([]);
  });

  test('people: a stolen phone is signed out from the list, and its page says so', async () => {
    const page = await administrator('Keeper');
    const thief = await joined('Owner of a phone', {}, phone);
    await button(page, 'Refresh').click();
    const person = personOf(page, 'Owner of a phone');
    await person.locator('summary').click();
    await person.getByRole('button', { name: /^Sign out: Chrome/ }).click();
    await person.getByText('no device').waitFor();
    await thief.getByText('You are not signed in.').first().waitFor();
    const status = await thief.evaluate(
      `fetch('api/extra/sync/list', { method: 'POST', body: '{}' }).then((one) => one.status)`,
    );
    expect(status).toBe(401);
  });

  test('people: an invitation is withdrawn, in its dialog and in the list', async () => {
    const page = await administrator('Host');
    await button(page, 'Invite').click();
    await dialog(page).getByLabel('Name', { exact: true }).fill('Nobody');
    await dialog(page).getByRole('button', { name: 'Make the invitation' }).click();
    const link = await linkIn(page);
    await page.keyboard.press('Escape');
    await tab(page).getByText('Nobody', { exact: true }).waitFor();
    await tab(page).getByRole('button', { name: 'Withdraw: Nobody' }).click();
    await expect.poll(() => tab(page).getByText('Nobody', { exact: true }).count()).toBe(0);
    const other = await open(link);
    await other.getByText('This server does not know the invitation.').waitFor();
  });

  test('people: somebody whose key has expired is offered no device, and the list says why', async () => {
    const ends = new Date(Date.now() + 24 * 3_600_000).toISOString();
    const link = await invited('Guest of yesterday', { key_expires: ends });
    await asAdmin('POST', '/api/extra/join', { token: link.split('#')[1], key: true });
    const page = await administrator('Landlord');
    const guest = personOf(page, 'Guest of yesterday');
    await guest.locator('summary').click();
    await guest.getByRole('button', { name: 'Connect a device' }).waitFor();
    // Only the page sees the day after tomorrow.
    await page.clock.setFixedTime(Date.now() + 2 * 24 * 3_600_000);
    await button(page, 'Refresh').click();
    await guest.getByText('The key no longer works').waitFor();
    expect(await guest.getByRole('button', { name: 'Connect a device' }).count()).toBe(0);
  });

  test('people: a long name begins beside the sign that opens its details', async () => {
    const name = 'Annemarie of the house beside the lighthouse on the long quay';
    await asAdmin('POST', '/api/extra/join', { token: (await invited(name)).split('#')[1], key: true });
    const page = await administrator('Neighbour', phone);
    await personOf(page, name).waitFor();
    const tops = await tab(page).evaluate(`
      [...document.querySelectorAll('.people details')].map((details) => {
        const name = document.createRange();
        name.selectNodeContents(details.querySelector('[dir="auto"]'));
        return name.getClientRects()[0].top - details.getBoundingClientRect().top;
      })`);
    expect(new Set(tops as number[]).size).toBe(1);
  });

  test('people: an app gets a key, which is shown once and works', async () => {
    const page = await administrator('Maker');
    await button(page, 'Invite').click();
    await dialog(page).getByText('An app', { exact: true }).click();
    await dialog(page).getByLabel('Name', { exact: true }).fill('Home Assistant');
    await dialog(page).getByRole('button', { name: 'Make the key' }).click();
    const key = dialog(page).locator('code').first();
    await expect.poll(() => key.innerText()).toMatch(/^parley_\w+/);
    const headers = { authorization: `Bearer ${await key.innerText()}` };
    expect((await fetch(`${(await server()).base}/api/extra/cache`, { headers })).status).toBe(200);
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await personOf(page, 'Home Assistant').waitFor();
  });

  test('people: whoever is signed in connects another device, and ends it', async () => {
    const page = await peopleTab(await joined('Two devices'));
    await button(page, 'Connect a device').click();
    const other = await open(await linkIn(page), phone);
    await other.getByRole('heading', { name: 'You are signing in as Two devices' }).waitFor();
    await button(other, 'Sign in').tap();
    await other.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
    await dialog(page).getByText('The link was used').waitFor();
    await dialog(page).getByRole('button', { name: 'Done' }).click();
    await tab(page)
      .getByRole('button', { name: /^Sign out: Chrome/ })
      .click();
    await other.getByText('You are not signed in.').waitFor();
  });

  test('people: signing out everywhere ends all devices of one person, and of nobody else', async () => {
    const one = await peopleTab(await joined('Many devices'));
    const link = (await asAdmin('POST', '/api/admin/invitations', { name: 'Many devices', existing: true })).path;
    const two = await open(`${(await server()).base}${link}`);
    await button(two, 'Sign in').click();
    const stranger = await joined('Stranger');
    await button(one, 'Sign out everywhere').click();
    await dialog(one).getByRole('button', { name: 'Sign out', exact: true }).click();
    for (const page of [one, two]) await page.getByText('You are not signed in.').first().waitFor();
    await peopleTab(stranger);
    await tab(stranger).getByText('You are signed in as Stranger.').waitFor();
    expect(await one.context().cookies()).toEqual([]);
  });

  test('people: signing out can delete what is stored in the browser', async () => {
    const page = await joined('Borrower');
    await page.evaluate(`localStorage.setItem('parley.mark', 'x')`);
    await peopleTab(page);
    await button(page, 'Sign out').click();
    expect(await barriers(page)).toEqual([]);
    await dialog(page).getByRole('button', { name: 'Sign out and delete what is stored in this browser' }).click();
    await page.getByText('You are not signed in.').first().waitFor();
    expect(await page.evaluate(`localStorage.getItem('parley.mark')`)).toBeNull();
  });

  test('people: each sees their own chats on the server alone', async () => {
    const [anna, ben] = [await joined('Anna of chats'), await joined('Ben of chats')];
    const call = (page: Page, path: string, body: object) =>
      page.evaluate(`fetch('api/extra/sync/${path}', { method: 'POST', body: ${JSON.stringify(JSON.stringify(body))} })
        .then((one) => one.text())`) as Promise<string>;
    await call(anna, 'save', { kind: 'chats', id: 'secret', data: '{}' });
    const seen = [await call(anna, 'list', {}), await call(ben, 'list', {})];
    expect(seen[0]).toContain('secret');
    expect(seen[1]).not.toContain('secret');
  });

  test('people: somebody is removed with their data, and exported before', async () => {
    const page = await administrator('Remover');
    const leaving = await joined('Leaving');
    await button(page, 'Refresh').click();
    const person = personOf(page, 'Leaving');
    await person.locator('summary').click();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      person.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('Leaving.tar');
    await person.getByRole('button', { name: 'Remove' }).click();
    await dialog(page).getByLabel('Delete all chats').check();
    expect(await barriers(page)).toEqual([]);
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Leaving was removed.').waitFor();
    await person.waitFor({ state: 'detached' });
    await leaving.getByText('You are not signed in.').waitFor();
  });

  test('people: with --lan whoever sits at the machine of the server invites without a key', async () => {
    const lan = await start(['--nomodel', '--lan', '--host', '127.0.0.1']);
    const page = await open(`${lan.base}/#/settings/people`);
    await page.getByText('This is the machine of the server, where you need no key.').waitFor();
    await button(page, 'Invite').waitFor();
    await lan.stop();
  });

  test('people: a server without keys says how to begin', async () => {
    const other = await start(['--nomodel', '--admin']);
    const page = await open(`${other.base}/#/settings/people`);
    await page.getByText(/Start it with --lan .* or with --keyfile FILE/).waitFor();
    await other.stop();
  });

  test.each([phone.viewport, { width: 360, height: 640 }])(
    'people: fits a phone of $width × $height',
    async (viewport) => {
      const page = await administrator(`Phone of ${viewport.width}`, { ...phone, viewport });
      expect(await layoutFaults(page)).toEqual([]);
      await button(page, 'Invite').tap();
      await dialog(page).getByLabel('Name', { exact: true }).fill(`Guest of ${viewport.width}`);
      await dialog(page).getByText('Choose', { exact: true }).tap();
      expect(await layoutFaults(page)).toEqual([]);
      await dialog(page).getByRole('button', { name: 'Make the invitation' }).tap();
      await dialog(page).getByRole('img', { name: 'QR code of the link' }).waitFor();
      expect(await layoutFaults(page)).toEqual([]);
    },
  );
});

/** A page of another origin, in the browser of somebody who is signed in. */
async function foreignPage(page: Page, host: string): Promise<Page> {
  const other = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Foreign</title>'),
  );
  await new Promise<void>((resolve) => other.listen(0, resolve));
  onTestFinished(() => void other.close());
  const foreign = await page.context().newPage();
  await foreign.goto(`http://${host}:${(other.address() as AddressInfo).port}/`);
  return foreign;
}

const opensSocket = (page: Page, base: string) =>
  page.evaluate(`new Promise((done) => {
    const socket = new WebSocket('${base.replace('http', 'ws')}/ws');
    socket.onopen = () => done(true);
    socket.onerror = () => done(false);
  })`);

describe.skipIf(withoutBrowser)('a page of another origin', () => {
  // Browsers send a SameSite cookie to all ports of a host: the first is the harder one.
  test.each([
    ['another port of the host', 'localhost'],
    ['another site', '127.0.0.1'],
  ])('a page of another origin (%s) cannot use the cookie by fetch, form or WebSocket', async (_, host) => {
    const { base } = await server();
    const page = await administrator(`Victim of ${host}`);
    const invite = (name: string) => JSON.stringify({ name });
    const names = async () => JSON.stringify(await asAdmin('GET', '/api/admin/invitations'));
    // What its own page can do.
    const own = `fetch('api/admin/invitations', { method: 'POST', body: '${invite('Wanted')}' }).then((one) => one.status)`;
    expect(await page.evaluate(own)).toBe(200);
    expect(await opensSocket(page, base)).toBe(true);
    expect(await names()).toContain('Wanted');

    const foreign = await foreignPage(page, host);
    const call = (mode: string) => `fetch('${base}/api/admin/invitations', {
      method: 'POST', mode: '${mode}', credentials: 'include', headers: { 'content-type': 'text/plain' }, body: '${invite('Forged')}',
    }).then((one) => one.status, () => 'refused')`;
    expect(await foreign.evaluate(call('no-cors'))).toBe(0);
    expect([401, 'refused']).toContain(await foreign.evaluate(call('cors')));
    const who = `fetch('${base}/api/extra/session', { credentials: 'include' }).then((one) => one.text(), () => 'refused')`;
    expect(await foreign.evaluate(who)).not.toContain('Victim');
    expect(await opensSocket(foreign, base)).toBe(false);

    const posted = foreign.waitForResponse('**/api/admin/invitations');
    await foreign.evaluate(`(() => {
      const form = document.createElement('form');
      Object.assign(form, { method: 'POST', action: '${base}/api/admin/invitations', enctype: 'text/plain' });
      const field = document.createElement('input');
      Object.assign(field, { name: '{"name":"Forged","x":"', value: '"}' });
      form.append(field);
      document.body.append(form);
      form.submit();
    })()`);
    expect((await posted).status()).toBe(401);
    expect(await names()).not.toContain('Forged');
    // Nor can it sign the victim out.
    await peopleTab(page);
    await tab(page).getByText(`You are signed in as Victim of ${host}.`).waitFor();
  });
});
