import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { recommendedEntries } from '../../src/library/recommended.ts';
import { testHub } from '../../src/library/testing/hub.ts';
import { embeddedModel, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const folder = mkdtempSync(join(tmpdir(), 'parley-pages-models-'));
afterAll(() => rmSync(folder, { recursive: true }));
copyFileSync(embeddedModel, join(folder, 'second.gguf'));
writeFileSync(join(folder, 'damaged.gguf'), 'no model');

const model = (page: Page, name: RegExp) => page.getByRole('button', { name });
const panel = (page: Page) => page.getByRole('dialog', { name: 'Models' });
const row = (page: Page, name: string) => panel(page).getByRole('listitem').filter({ hasText: name });

async function sayHello(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill('Hi');
  await page.keyboard.press('Enter');
}

/** The server reads the address of the hub when it starts. */
async function startWithHub(base: string, flags: readonly string[], home = process.env.PARLEY_HOME) {
  const before = { HF_ENDPOINT: process.env.HF_ENDPOINT, PARLEY_HOME: process.env.PARLEY_HOME };
  setVariables({ HF_ENDPOINT: base, PARLEY_HOME: home });
  try {
    return await start([...flags]);
  } finally {
    setVariables(before);
  }
}

function setVariables(values: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

describe.skipIf(withoutBrowser)('models', () => {
  test('--noowner: the name opens the panel on every page; admin is off, so that nothing can be unloaded', async () => {
    const server = await start(['--noowner']);
    const page = await open(`${server.base}/#/chat`);
    await model(page, /^Model: parley-mini \(loaded\)/).click();
    await row(page, 'parley-mini')
      .getByText(/46M parameters · Q6_K · context 2,048 · \d+ MB in memory/)
      .waitFor();
    for (const kind of ['Image', 'Speech', 'Transcription', 'Embedding'])
      await panel(page).getByText(`${kind} · loads on first use`).waitFor();
    await panel(page).getByText('This server was started with --noowner.').waitFor();
    await expect.poll(() => panel(page).getByText('Models on this machine').count()).toBe(0);
    expect(await barriers(page)).toEqual([]);
    expect(await page.getByRole('button', { name: /^(Unload|Load) / }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await panel(page).waitFor({ state: 'hidden' });
    await expect
      .poll(() =>
        model(page, /^Model:/)
          .and(page.locator(':focus'))
          .count(),
      )
      .toBe(1);

    for (const [view, name, title] of [
      ['write', /^Model: parley-mini/, 'Write · Parley'],
      ['draw', /^Model: parley-sketch/, 'Draw · Parley'],
      ['sound', /^Model: moonshine-tiny, flite/, 'Sound · Parley'],
    ] as const) {
      await page.goto(`${server.base}/#/${view}`);
      await model(page, name).waitFor();
      await expect.poll(() => page.title()).toBe(title);
    }
    expect(faults.get(page)).toEqual([]);
    await server.stop();
  });

  test('the owner of this machine finds a model, downloads it and talks to it, without a flag', async () => {
    const files = { 'tiny-Q6_K.gguf': readFileSync(embeddedModel), 'tiny-F16.gguf': Buffer.alloc(10) };
    const { base } = await testHub({
      'acme/Tiny-GGUF': { files },
      'acme/Other-GGUF': { files: {} },
      'acme/More-GGUF': { files: {} },
    });
    const server = await startWithHub(base, [], mkdtempSync(join(folder, 'home-')));
    const page = await open(`${server.base}/#/chat`);
    await model(page, /^Model: parley-mini \(loaded\)/).click();
    const words = panel(page).getByLabel('Words, or the address of a model');
    await words.fill('gguf');
    await words.press('Enter');
    const results = panel(page).getByRole('list', { name: 'Models found' }).getByRole('listitem');
    await expect.poll(() => results.count()).toBe(2);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await expect.poll(() => results.count()).toBe(3);
    expect(await barriers(page)).toEqual([]);
    const order = page.waitForRequest('**/api/admin/search?*sort=likes*');
    await panel(page).getByText('Likes', { exact: true }).click();
    await order;
    await page.getByRole('button', { name: 'acme/Tiny-GGUF' }).click();
    await panel(page).getByText('Choose among 2 files').click();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: /^Download Q6_K \(\d+ MB\)/ }).click();
    await page.getByText(/tiny-Q6_K\.gguf is loaded\./).waitFor();
    await page.keyboard.press('Escape');
    await model(page, /^Model: tiny-Q6_K \(loaded\)/).waitFor();
    expect(faults.get(page)).toEqual([]);

    // Programs and pages of other sites may not do that.
    const listed = await fetch(`${server.base}/api/admin/models`);
    expect(await listed.json()).toEqual({ models: [] });
    expect(await (await fetch(`${server.base}/api/extra/owner`)).json()).toEqual({ token: null });
    expect(await (await fetch(`${server.base}/api/extra/version`)).json()).toMatchObject({ admin: 0 });
    await server.stop();
  });

  test('the present settings become a preset: a model of its own that is chosen, edited and deleted without a flag', async () => {
    const home = mkdtempSync(join(folder, 'presets-'));
    const { base } = await testHub({});
    const server = await startWithHub(base, [], home);
    const page = await open(`${server.base}/#/chat`);
    const settings = { sampling: { temperature: 0, top_k: 1 }, stopSequences: ['END'], replyLength: 8 };
    await page.evaluate(`localStorage.setItem('parley.settings', ${JSON.stringify(JSON.stringify(settings))})`);
    await page.reload();
    await model(page, /^Model: parley-mini \(loaded\)/).click();
    await panel(page).getByText('Presets', { exact: true }).click();
    await panel(page).getByText('Save the present settings for parley-mini').waitFor();
    await panel(page).getByText('Saved with it: 2 sampler settings, 1 stop text, reply length 8.').waitFor();
    await panel(page).getByLabel('Name').fill('terse');
    await panel(page).getByLabel('System prompt').fill('Answer in one word.');
    await panel(page).getByRole('button', { name: 'Save as a preset' }).click();
    await page.getByText('terse is a model now.').waitFor();
    const file = join(home, 'models', 'terse.kcpps');
    const written = {
      base: 'parley-mini',
      gendefaults: { temperature: 0, top_k: 1, stop_sequence: ['END'] },
      defaultgenamt: 8,
      systemprompt: 'Answer in one word.',
    };
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(written);

    // Below its base; chosen, it answers by its name, also to other programs.
    const running = panel(page).getByRole('region', { name: 'On this server' });
    await running.getByText('Preset of parley-mini').waitFor();
    expect(await barriers(page)).toEqual([]);
    await running.getByRole('button', { name: 'Use terse' }).click();
    await page.keyboard.press('Escape');
    await model(page, /^Model: terse \(loaded\)/).waitFor();
    await sayHello(page);
    await page.getByText(/\d+ tokens · [\d.]+ tokens\/s/).waitFor();
    const list = (await (await fetch(`${server.base}/v1/models`)).json()) as { data: { id: string }[] };
    expect(list.data.map(({ id }) => id).slice(0, 2)).toEqual(['koboldcpp/parley-mini', 'koboldcpp/terse']);
    const ask = async (name: string) => {
      const body = JSON.stringify({ model: name, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 });
      const reply = await fetch(`${server.base}/v1/chat/completions`, { method: 'POST', body });
      return ((await reply.json()) as { model: string }).model;
    };
    expect(await Promise.all(['terse', 'parley-mini:terse', 'gpt-4'].map(ask))).toEqual([
      'koboldcpp/terse',
      'koboldcpp/terse',
      'koboldcpp/parley-mini',
    ]);

    // Others may not change it.
    const refused = await fetch(`${server.base}/api/admin/presets/delete`, {
      method: 'POST',
      body: '{"name":"terse"}',
    });
    expect([refused.status, JSON.parse(readFileSync(file, 'utf8'))]).toEqual([403, written]);

    await model(page, /^Model: terse/).click();
    await panel(page).getByText('Presets', { exact: true }).click();
    await panel(page).getByRole('button', { name: 'Edit terse' }).click();
    await panel(page).getByLabel('System prompt').fill('Answer in two words.');
    await panel(page).getByLabel('Memory of earlier chats').selectOption('Without memory');
    expect(await barriers(page)).toEqual([]);
    await panel(page).getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved terse.').waitFor();
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      ...written,
      systemprompt: 'Answer in two words.',
      memory: false,
    });
    await panel(page).getByRole('button', { name: 'Delete terse' }).click();
    await panel(page).getByRole('button', { name: 'Delete', exact: true }).click();
    await panel(page).getByText('There are none yet.').waitFor();
    await page.keyboard.press('Escape');
    await model(page, /^Model: parley-mini \(loaded\)/).waitFor();
    expect(faults.get(page)).toEqual([]);
    await server.stop();
  });

  test('first visit: one click downloads the recommended model; the chat goes back to its model; it can be deleted', async () => {
    const chat = recommendedEntries.filter(({ purpose }) => purpose === 'chat');
    const bytes = readFileSync(embeddedModel);
    const { base } = await testHub(
      Object.fromEntries(
        chat.map(({ model = '', file }) => [model?.split(':')[0], { files: { [file ?? '']: bytes } }]),
      ),
    );
    const server = await startWithHub(base, [], mkdtempSync(join(folder, 'first-')));
    const page = await open(`${server.base}/#/chat`, { viewport: { width: 360, height: 740 } });
    const offer = page.getByRole('region', { name: 'Recommended for this computer' });
    await offer.getByRole('button', { name: /^Download \([\d.]+ [MG]B\)$/ }).click();
    await model(page, /^Model: (Qwen|gemma|gpt).* \(loaded\)/i).waitFor();
    await sayHello(page);
    await page.getByText(/\d+ tokens · [\d.]+ tokens\/s/).waitFor();

    // The chat goes back to its model, and a model that is loaded is not deleted.
    await model(page, /^Model:/).click();
    await panel(page).getByRole('button', { name: 'Back to the model from the start' }).click();
    await model(page, /^Model: parley-mini \(loaded\)/).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('parley-mini answers from here on').waitFor();
    await page.getByRole('button', { name: /^Back to (Qwen|gemma|gpt)/i }).click();
    await model(page, /^Model: (Qwen|gemma|gpt).* \(loaded\)/i).click();
    const removal = async () => {
      const ask = panel(page).getByRole('button', { name: /^Delete (?!and free)/ });
      const confirm = panel(page).getByRole('button', { name: /^Delete and free \d+ MB/ });
      // The panel may be drawn anew while the switch ends: then it has to be asked again.
      await ask.or(confirm).first().waitFor();
      await expect
        .poll(async () => {
          if ((await ask.count()) > 0) await ask.click({ timeout: 2000 }).catch(() => undefined);
          return confirm.click({ timeout: 2000 }).then(
            () => true,
            () => false,
          );
        })
        .toBe(true);
    };
    await removal();
    await page.getByText(/is loaded\. Switch to another model/).waitFor();
    await panel(page).getByRole('button', { name: 'Back to the model from the start' }).click();
    await model(page, /^Model: parley-mini \(loaded\)/).waitFor();
    await removal();
    await panel(page).getByText('No models found on this machine.').waitFor();
    expect(faults.get(page)).toEqual([]);
    await server.stop();
  });

  test('the context and the type of the cache are changed in the panel, without a restart', async () => {
    const configs = mkdtempSync(join(folder, 'configs-'));
    const server = await start(['--admin', '--admindir', configs]);
    const page = await open(`${server.base}/#/chat`);
    await model(page, /^Model: parley-mini \(loaded\)/).click();
    await panel(page).getByText('How it is loaded').click();
    const context = panel(page).getByLabel('Context size in tokens');
    await panel(page).getByText('Now 2,048, trained for 2,048').waitFor();
    expect(await context.inputValue()).toBe('');
    await context.fill('512');
    await panel(page).getByLabel('Type of the KV cache').selectOption('q8_0');
    expect(await barriers(page)).toEqual([]);
    await panel(page).getByRole('button', { name: 'Load again' }).click();
    await page.getByText('parley-mini is loaded with these settings.').waitFor();
    await panel(page).getByText('Now 512, trained for 2,048').waitFor();
    await row(page, 'parley-mini').getByText('context 512').waitFor();
    await panel(page).getByRole('button', { name: 'Save as a config' }).click();
    await page.getByText(/^Saved: .*parley-mini\.kcpps$/).waitFor();
    expect(JSON.parse(readFileSync(join(configs, 'parley-mini.kcpps'), 'utf8'))).toMatchObject({ contextsize: 512 });
    // The browser checks the range; what it lets through the server refuses in a sentence.
    await page.route('**/api/admin/load_settings', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ json: { success: false, error: 'there is not enough memory.' } })
        : route.continue(),
    );
    await context.fill('');
    await panel(page).getByRole('button', { name: 'Load again' }).click();
    await page.getByText('parley-mini stays as it was: there is not enough memory.').waitFor();
    await page.keyboard.press('Escape');
    expect(faults.get(page)).toEqual([]);
    await server.stop();
  });

  test('one model with --admin: unload and load', async () => {
    const server = await start(['--admin']);
    const page = await open(`${server.base}/#/chat`);
    await model(page, /^Model: parley-mini \(loaded\)/).click();
    await page.getByRole('button', { name: 'Unload parley-mini' }).click();
    await row(page, 'parley-mini').getByText('loads on first use').waitFor();
    await page.getByRole('button', { name: 'Load parley-mini' }).click();
    await page.getByRole('button', { name: 'Unload parley-mini' }).waitFor();
    await page.getByRole('button', { name: 'Load flite' }).click();
    await page.getByRole('button', { name: 'Unload flite' }).waitFor();
    await server.stop();
  });

  test('router: the chosen model answers, also after a reload; on a phone nothing overlaps', async () => {
    const server = await start(['--routermode', '--admin', '--admindir', folder]);
    const page = await open(`${server.base}/#/chat`, { viewport: { width: 360, height: 740 } });
    await model(page, /^Model: parley-mini/).click();
    await row(page, 'second')
      .getByText(/Text · loads on first use/)
      .waitFor();
    await page.getByRole('button', { name: 'Use second', exact: true }).click();
    await page.getByRole('button', { name: 'Unload second', exact: true }).waitFor();
    await row(page, 'second').getByText('In use').waitFor();
    await expect.poll(() => panel(page).evaluate((one) => one.scrollWidth <= one.clientWidth)).toBe(true);
    await page.keyboard.press('Escape');
    await page.reload();
    await model(page, /^Model: second \(loaded\)/).waitFor();
    const asked = page.waitForRequest('**/v1/chat/completions');
    await sayHello(page);
    expect((await asked).postDataJSON()).toMatchObject({ model: 'koboldcpp/second' });

    const boxes = await page
      .locator('header')
      .first()
      .locator(':scope > *:visible')
      .evaluateAll((all) =>
        all
          .map((one) => one.getBoundingClientRect())
          .filter(({ width }) => width > 1)
          .map(({ left, right }) => ({ left, right })),
      );
    for (const [place, { left }] of boxes.entries())
      expect(left).toBeGreaterThanOrEqual((boxes[place - 1]?.right ?? 0) - 0.5);
    expect(boxes.at(-1)?.right).toBeLessThanOrEqual(360);
    await server.stop();
  });

  test('admin: asks for its password, switches, says why a file fails, and downloads', async () => {
    const { base } = await testHub({});
    const server = await startWithHub(base, ['--admin', '--admindir', folder, '--adminpassword', 'boss']);
    const page = await open(`${server.base}/#/chat`);
    await model(page, /^Model: parley-mini/).click();
    await page.getByRole('button', { name: 'Enter admin password' }).click();
    await page.getByLabel('Admin password or key').fill('boss');
    await page.keyboard.press('Enter');

    await panel(page).getByLabel('Search models').fill('damaged');
    await page.getByRole('button', { name: 'Switch to damaged.gguf' }).click();
    await page
      .getByText(/Cannot load damaged\.gguf: This is no GGUF file/)
      .first()
      .waitFor();
    await panel(page).getByLabel('Search models').fill('sec q6');
    await page.getByRole('button', { name: 'Switch to second.gguf' }).click();
    await page.getByText('second.gguf is loaded.').waitFor();
    await page.getByRole('button', { name: 'Unload second', exact: true }).waitFor();

    await panel(page).getByLabel('Words, or the address of a model').fill('owner/name/file.gguf');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    await page.getByText(/Failed: .*has no model owner\/name/).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: /^Discard the download of .*owner\/name/ }).click();
    await page.getByText(/Failed: .*has no model owner\/name/).waitFor({ state: 'hidden' });
    await server.stop();
  });

  test('password: a wrong one is said and selected, the right one opens; no placeholder is shown as a name', async () => {
    const server = await start(['--password', 'sesame']);
    const page = await open(`${server.base}/#/chat`);
    await page.getByText('You are not signed in.').waitFor();
    await page.getByRole('button', { name: 'Model', exact: true }).waitFor();
    await expect.poll(() => page.getByText('protected-model').count()).toBe(0);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const field = page.getByLabel('Key or password', { exact: true });
    await expect.poll(() => field.and(page.locator(':focus')).count()).toBe(1);
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('Wrong key or password.').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.selectionEnd')).toBe(5);
    await page.keyboard.type('sesame');
    await page.keyboard.press('Enter');
    await model(page, /^Model: parley-mini/).waitFor();
    await field.waitFor({ state: 'hidden' });
    await server.stop();
  });
});
