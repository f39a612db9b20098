import { expect, test } from 'vitest';
import type { Dialect } from '../../http/call.ts';
import type { EndpointShape } from '../endpoint.ts';
import { apiListBody } from './routes.ts';

const dialect = (name: string): Dialect => ({
  name,
  title: `The ${name} API`,
  errorReply: () => ({ status: 500, body: '' }),
});
const [one, two] = [dialect('one'), dialect('two')];
const endpoint = (own: Partial<EndpointShape>): EndpointShape => ({
  method: 'GET',
  match: 'exact',
  path: '/x',
  access: 'open',
  queued: false,
  summary: '',
  dialect: one,
  ...own,
});

test.each([
  ['exact', '<code>/x</code>'],
  ['ending', '<code>…/x</code>'],
  ['prefix', '<code>/x…</code>'],
  ['rest', '<code>/x…</code>'],
] as const)('apiListBody: shows a path that matches as %s as %s', (match, shown) => {
  expect(apiListBody('T', [endpoint({ match })], false).markup).toContain(shown);
});

test('apiListBody: has one section per dialect, with its endpoints in order', () => {
  const list = [endpoint({ path: '/a' }), endpoint({ path: '/b', dialect: two }), endpoint({ path: '/c' })];
  const { markup } = apiListBody('T', list, false);
  expect(markup.match(/<h2/g)).toHaveLength(2);
  expect(markup).toMatch(/The one API[\s\S]*\/a<[\s\S]*\/c<[\s\S]*The two API[\s\S]*\/b</);
});

test('apiListBody: shows whether a key is needed, and escapes texts', () => {
  const { markup } = apiListBody(
    '<T>',
    [endpoint({ access: 'guarded', summary: 'a < b' }), endpoint({ path: '/y' })],
    false,
  );
  expect(markup).toContain('<td>yes</td><td>a &#60; b</td>');
  expect(markup).toContain('<td>no</td>');
  expect(markup).toContain('<h1>&#60;T&#62;</h1>');
});

test('apiListBody: has emulations only on request, and links to the other list', () => {
  const emulated: Dialect = { ...two, emulation: true };
  const list = [endpoint({ path: '/a' }), endpoint({ path: '/b', dialect: emulated })];
  const [main, all] = [apiListBody('T', list, false).markup, apiListBody('T', list, true).markup];
  expect(main).not.toContain('The two API');
  expect(main).toContain('href="api?plain=1&amp;all=1"');
  expect(all).toContain('The two API');
  expect(all).toContain('href="api?plain=1"');
});
