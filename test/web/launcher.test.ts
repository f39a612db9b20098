import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
});
