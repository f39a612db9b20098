import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../config/flags.ts';
import { baseUrl, hintLines, readyLines } from './banner.ts';

test.each([
  ['', 'http://localhost:5001'],
  ['0.0.0.0', 'http://localhost:5001'],
  ['192.0.2.7', 'http://192.0.2.7:5001'],
  ['fe80::1', 'http://[fe80::1]:5001'],
])('baseUrl: host %j is shown as %s', (host, url) => {
  expect(baseUrl({ scheme: 'http', port: 5001, host })).toBe(url);
});

const engines = [
  { module: 'TextGeneration', offer: 'text', active: true },
  { module: 'ImageGeneration', offer: 'images', active: true },
  { module: 'MusicGen', offer: 'music', active: false },
];
const here = { scheme: 'http', port: 5001, host: '' } as const;

test('readyLines: says what is served and has the lines that launchers wait for', () => {
  expect(readyLines(here, defaultSettings, engines)).toEqual([
    'Ready: text, images. Web page: http://localhost:5001',
    'Starting Kobold API on port 5001 at http://localhost:5001/api/',
    'Starting OpenAI Compatible API on port 5001 at http://localhost:5001/v1/',
    'Please connect to custom endpoint at http://localhost:5001',
  ]);
});

test('readyLines: a server without any model says so', () => {
  expect(readyLines(here, defaultSettings, engines.slice(2))[0]).toMatch(/^Ready: no model\. /);
});

describe('readyLines with --debugmode', () => {
  const modules = (own: Partial<typeof defaultSettings> = {}) =>
    readyLines(here, { ...defaultSettings, debugmode: 1, ...own }, engines);

  test('lists enabled modules as active, and the others as inactive', () => {
    expect(modules()[0]).toBe('Active Modules: TextGeneration ImageGeneration');
    expect(modules()[1]).toMatch(/^Inactive Modules: MusicGen NetworkMultiplayer WebSearchProxy/);
    expect(modules({ multiplayer: true, websearch: true })[0]).toMatch(/ NetworkMultiplayer WebSearchProxy$/);
  });

  test('--routermode and --admin are among the modules', () => {
    expect(modules({ admin: true, routermode: true, autoswapmode: true })[0]).toMatch(/ AdminControl RouterMode$/);
    expect(modules({ admin: true })[0]).toMatch(/ AdminControl$/);
    expect(modules()[1]).toMatch(/ AdminControl MCPBridge RouterMode$/);
  });
});

test.each([
  ['', null, undefined],
  ['127.0.0.1', null, undefined],
  ['0.0.0.0', null, 'anybody who reaches this address can use it'],
  ['0.0.0.0', 'secret', 'behind the password'],
])('readyLines: host %j with password %j gives the note: %s', (host, password, expected) => {
  const text = readyLines({ ...here, host }, { ...defaultSettings, password }, engines).join('\n');
  if (expected) expect(text).toContain(expected);
  else expect(text).not.toContain('Open to the network');
});

test('hintLines: how to use a bigger model, reach the launcher and stop', () => {
  const larger = 'For a larger model: npm start -- run OWNER/NAME';
  const keys = 'For all settings on a page: npm start -- --showgui. To stop: Ctrl+C';
  const hints = (builtIn: boolean, interactive: boolean) =>
    hintLines({ command: 'npm start --', builtIn, interactive });
  expect(hints(true, true)).toEqual([larger, keys]);
  expect(hints(false, true)).toEqual([keys]);
  expect(hints(true, false)).toEqual([larger]);
  expect(hints(false, false)).toEqual([]);
});
