import { expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { baseUrl, readyLines } from './banner.ts';

test.each([
  ['', 'http://localhost:5001'],
  ['0.0.0.0', 'http://localhost:5001'],
  ['192.0.2.7', 'http://192.0.2.7:5001'],
  ['fe80::1', 'http://[fe80::1]:5001'],
])('readyLines: host %j is shown as %s', (host, url) => {
  expect(baseUrl({ scheme: 'http', port: 5001, host })).toBe(url);
});

const engines = { TextGeneration: true, ImageGeneration: true, MusicGen: false };

test('readyLines: has the lines that launchers wait for', () => {
  const text = readyLines({ scheme: 'http', port: 5001, host: '' }, defaultSettings, engines).join('\n');
  expect(text).toContain('Starting Kobold API on port 5001 at http://localhost:5001/api/');
  expect(text).toContain('Starting OpenAI Compatible API on port 5001 at http://localhost:5001/v1/');
  expect(text).toMatch(/Please connect to custom endpoint at http:\/\/localhost:5001$/);
  expect(text).toContain('Active Modules: TextGeneration ImageGeneration\n');
  expect(text).toContain('Inactive Modules: MusicGen ');
});

test('readyLines: lists enabled modules as active, and the others as inactive', () => {
  const settings = { ...defaultSettings, multiplayer: true, websearch: true };
  const lines = (own: typeof settings) => readyLines({ scheme: 'http', port: 1, host: '' }, own, engines);
  expect(lines(settings)[1]).toMatch(/^Active Modules: .*NetworkMultiplayer WebSearchProxy/);
  expect(lines(defaultSettings)[2]).toMatch(/^Inactive Modules: .*NetworkMultiplayer WebSearchProxy/);
});

test('readyLines: --routermode and --admin are among the modules', () => {
  const lines = (own: Partial<typeof defaultSettings>) =>
    readyLines({ scheme: 'http', port: 1, host: '' }, { ...defaultSettings, ...own }, engines);
  expect(lines({ admin: true, routermode: true, autoswapmode: true })[1]).toMatch(/ AdminControl RouterMode$/);
  expect(lines({ admin: true })[1]).toMatch(/ AdminControl$/);
  expect(lines({})[2]).toMatch(/ AdminControl MCPBridge RouterMode$/);
});

test.each([
  ['', null, undefined],
  ['127.0.0.1', null, undefined],
  ['0.0.0.0', null, 'anybody who reaches this address can use it'],
  ['0.0.0.0', 'secret', 'behind the password'],
])('readyLines: host %j with password %j gives the note: %s', (host, password, expected) => {
  const text = readyLines({ scheme: 'http', port: 1, host }, { ...defaultSettings, password }, engines).join('\n');
  if (expected) expect(text).toContain(expected);
  else expect(text).not.toContain('Open to the network');
});
