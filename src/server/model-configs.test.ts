import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readConfigFile } from '../config/config-file.ts';
import { defaultSettings } from '../config/flags.ts';
import { saveConfig } from './model-configs.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('saveConfig: every setting of the model, without those of the server and without secrets', async () => {
  const own = { model: ['/m/foo.gguf'], contextsize: 32_768, quantkv: 'q8_0' as const, mmproj: '/m/mmproj.gguf' };
  const server = { port: 5005, password: 'secret', adminpassword: 'secret', hordekey: 'secret' };
  const path = await saveConfig({ ...defaultSettings, ...own, ...server }, { folder, name: 'foo Q4/K' });
  expect(path).toBe(join(folder, 'foo_Q4_K.kcpps'));
  const text = readFileSync(path, 'utf8');
  const { values, problems } = readConfigFile(text, { allowOnready: false });
  expect(problems).toEqual([]);
  expect(Object.fromEntries(values)).toMatchObject({ ...own, gpulayers: -1, noflashattention: false });
  expect(text).not.toContain('secret');
  expect(values.has('port')).toBe(false);
});

test('saveConfig: replaces no file', async () => {
  const first = await saveConfig(defaultSettings, { folder, name: 'mini' });
  const second = await saveConfig(defaultSettings, { folder, name: 'mini' });
  expect([first, second]).toEqual([join(folder, 'mini.kcpps'), join(folder, 'mini-2.kcpps')]);
});
