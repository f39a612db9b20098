import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { testHub } from '../../src/library/testing/hub.ts';
import { freePort } from '../live/free-port.ts';
import { embeddedModel, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const folder = mkdtempSync(join(tmpdir(), 'parley-launcher-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(withoutBrowser)('launcher page', () => {
  test('finds a model on the hub, downloads it, and selects it', async () => {
    const { base } = await testHub({ 'acme/Tiny-GGUF': { files: { 'tiny-Q6_K.gguf': readFileSync(embeddedModel) } } });
    vi.stubEnv('HF_ENDPOINT', base);
    vi.stubEnv('PARLEY_HOME', mkdtempSync(join(folder, 'home-')));
    onTestFinished(() => void vi.unstubAllEnvs());
    const launcher = await start(['--showgui'], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const page = await open(/The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '', {
      viewport: { width: 360, height: 740 },
    });
    await page.getByText('Recommended for this computer').waitFor();
    await page.getByLabel('Words, or the address of a model').fill('tiny');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'acme/Tiny-GGUF' }).click();
    await page.getByRole('button', { name: /^Download Q6_K/ }).click();
    await page
      .getByRole('region', { name: 'Selected model' })
      .getByText(/tiny-Q6_K\.gguf/)
      .waitFor();
    await page.getByText(/--model \S*tiny-Q6_K\.gguf/).waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
    await launcher.stop();
  });

  test('in another language: opens with the tab that has the model', async () => {
    const launcher = await start(['--showgui'], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const page = await open(/The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '', { locale: 'de-DE' });
    await page.getByRole('tab', { name: 'Schnellstart', selected: true }).waitFor();
    await page.getByRole('heading', { name: 'Schnellstart' }).waitFor();
    await page.getByLabel('Context size').waitFor();
    await page.getByRole('tab', { name: 'Konsole' }).click();
    await page.getByRole('log').waitFor();
    expect(faults.get(page)).toEqual([]);
    await launcher.stop();
  });

  test('a number that is erased can be typed anew; an empty field is the default', async () => {
    const launcher = await start(['--showgui'], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const page = await open(/The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '');
    await page.getByRole('tab', { name: 'Network' }).click();
    const port = page.getByLabel('Port', { exact: true });
    await port.focus();
    await page.keyboard.press('End');
    for (const _ of '5001') await page.keyboard.press('Backspace');
    expect(await port.inputValue()).toBe('');
    await page.keyboard.type('8080');
    expect(await port.inputValue()).toBe('8080');
    await port.fill('');
    await port.blur();
    expect(await port.inputValue()).toBe('5001');
    await launcher.stop();
  });

  test('a launcher that is gone: the model is not said to be missing', async () => {
    const launcher = await start(['--showgui'], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const page = await open(/The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '');
    const model = page.getByRole('region', { name: 'Selected model' });
    await model.getByRole('heading', { name: 'Parley Mini' }).waitFor();
    await launcher.stop();
    await page.getByLabel('Context size').fill('4096');
    await model.getByText('The launcher is not responding. Check that it is running.').waitFor();
  });

  test('a file is replaced only if it is the one that was said to be there', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    vi.stubEnv('PARLEY_HOME', home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const [first, second] = ['first', 'second'].map((name) => {
      mkdirSync(join(home, name));
      const file = join(home, name, 'parley.kcpps');
      writeFileSync(file, '{}');
      return file;
    }) as [string, string];
    const launcher = await start(['--showgui'], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const page = await open(/The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '');
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Folder' }).fill(join(home, 'first'));
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByRole('button', { name: 'Replace' }).waitFor();
    await dialog.getByRole('textbox', { name: 'Folder' }).fill(join(home, 'second'));
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(readFileSync(first, 'utf8')).toBe('{}');
    expect(readFileSync(second, 'utf8')).not.toBe('{}');
    await launcher.stop();
  });

  test('starts a server from a config and stops it', async () => {
    const first = join(folder, 'start.kcpps');
    writeFileSync(first, JSON.stringify({ contextsize: 512, multiuser: 0, threads: 1 }));
    const launcher = await start(['--showgui', '--config', first], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const address = /The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '';
    const page = await open(address);

    // The token has left the address, and is worth nothing any more.
    await page.getByRole('tab', { name: 'Quick Launch' }).waitFor();
    expect(page.url()).not.toContain('token');
    expect((await fetch(address, { redirect: 'manual' })).status).toBe(403);
    expect((await fetch(new URL('launcher/form', address))).status).toBe(401);

    await expect.poll(() => page.getByLabel('Context size').inputValue()).toBe('512');
    await page.getByText('Fits into memory').waitFor();
    expect(await barriers(page)).toEqual([]);

    const port = await freePort();
    await page.getByRole('tab', { name: 'Network' }).click();
    await expect.poll(() => page.getByLabel('Multiuser Queue').inputValue()).toBe('10');
    await page.getByLabel('Port', { exact: true }).fill('70000');
    await page.getByText('Port needs a whole number').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Launch', exact: true }).isDisabled()).toBe(true);
    await page.getByLabel('Port', { exact: true }).fill(String(port));
    await page.getByText(`--port ${port}`).waitFor();

    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Save config' });
    await dialog.getByLabel('Name').fill('saved');
    await dialog.getByLabel('Folder', { exact: true }).fill(process.cwd());
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved:').waitFor();
    const saved = join(process.cwd(), 'saved.kcpps');
    const config = JSON.parse(readFileSync(saved, 'utf8'));
    expect(config).toMatchObject({ port, contextsize: 512 });
    // The 0 of the first config became the default, which is not written.
    expect(config).not.toHaveProperty('multiuser');
    rmSync(saved);

    await page.getByRole('button', { name: 'Launch', exact: true }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    await expect
      .poll(() => page.getByRole('log', { name: 'Console' }).textContent())
      .toContain('Please connect to custom endpoint');
    const link = await page.getByRole('link', { name: `http://localhost:${port}` }).getAttribute('href');
    const version = (await (await fetch(`${link}/api/extra/true_max_context_length`)).json()) as { value: number };
    expect(version.value).toBe(512);

    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await expect(fetch(`${link}/api/extra/version`)).rejects.toThrow();
    expect(faults.get(page)).toEqual([]);
    await launcher.stop();
  });

  test('engine programs: are added from a template, changed, removed, saved and launched', async () => {
    const first = join(folder, 'engines.kcpps');
    const fake = fileURLToPath(new URL('../../src/engines/program/testing/fake-engine.mjs', import.meta.url));
    const engine = { name: 'strange', command: ['strange-server', '--port', '${port}'], env: { STRANGE: '1' } };
    writeFileSync(first, JSON.stringify({ nomodel: true, threads: 1, engine }));
    const launcher = await start(['--showgui', '--config', first], {
      until: 'The address works once',
      listening: 'The launcher is at ',
    });
    const page = await open(/The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '');
    // Those of a file are shown first, and run only with consent.
    const question = page.getByRole('dialog', { name: 'Programs in this config' });
    await question.getByText('strange-server --port ${port}').waitFor();
    await question.getByText('STRANGE=1').waitFor();
    expect(await barriers(page)).toEqual([]);
    await question.getByRole('button', { name: 'Leave them out' }).click();
    await page.getByLabel('Search settings').fill('engine programs');
    const programs = page.getByRole('region', { name: 'Engine programs' });
    expect(await programs.getByRole('group').count()).toBe(0);

    await programs.getByLabel('Template').selectOption('llama-server');
    await programs.getByRole('button', { name: 'Add a program' }).click();
    const qwen = programs.getByRole('group', { name: 'llama-server', exact: true });
    expect(await qwen.getByLabel('Command').inputValue()).toBe(
      'llama-server -m ${model} --host ${host} --port ${port} --jinja',
    );
    expect(await qwen.getByLabel('Unload when idle for').inputValue()).toBe('10m');
    expect(await qwen.getByLabel('Environment variables').inputValue()).toBe('LLAMA_API_KEY=${key}');
    await programs.getByLabel('Template').selectOption('ComfyUI');
    await programs.getByRole('button', { name: 'Add a program' }).click();
    expect(await programs.getByRole('group', { name: 'comfyui' }).getByLabel('Kind').inputValue()).toBe('comfyui');
    expect(await barriers(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await barriers(page)).toEqual([]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await programs.getByRole('button', { name: 'Remove comfyui' }).click();

    await qwen.getByLabel('Command').fill('llama-server');
    await page.getByText('its command has no ${port}').waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Launch', exact: true }).isDisabled()).toBe(true);
    await qwen.getByLabel('Command').fill(`'${process.execPath}' '${fake}' --port ${'${port}'}`);
    await qwen.getByRole('textbox', { name: 'Model for' }).fill('');
    await qwen.getByLabel('Kind').selectOption('text');
    await qwen.getByLabel('Name of the model').fill('mine');
    await page.getByText(/^parley .*--engine .*mine/).waitFor();

    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Save config' });
    await dialog.getByLabel('Name').fill('saved-engine');
    await dialog.getByLabel('Folder', { exact: true }).fill(process.cwd());
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved:').waitFor();
    const saved = join(process.cwd(), 'saved-engine.kcpps');
    expect(JSON.parse(readFileSync(saved, 'utf8')).engine).toMatchObject({
      name: 'mine',
      kind: 'text',
      idle: '10m',
      env: { LLAMA_API_KEY: '${key}' },
    });
    rmSync(saved);

    await page.getByRole('button', { name: 'Launch', exact: true }).click();
    await page.getByText('Running', { exact: true }).waitFor();
    const link = await page.getByRole('link', { name: /^http:\/\/localhost:/ }).getAttribute('href');
    const reply = await fetch(`${link}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mine', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    expect(await reply.text()).toContain('word0 word1');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    expect(faults.get(page)).toEqual([]);
    await launcher.stop();
  });
});
