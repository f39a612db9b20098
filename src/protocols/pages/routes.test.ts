import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { type Call, type Dialect, json, type Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { html, pagesDialect } from './page.ts';
import { type PagesOptions, pagesEndpoints } from './routes.ts';

const dialect: Dialect = { name: 'odd', title: 'Odd <family>', errorReply: () => json({}) };
const odd: PlainEndpoint = {
  method: 'POST',
  match: 'ending',
  path: '/api/v1/generate',
  access: 'guarded',
  queued: true,
  summary: 'Says "hi" & <waves>.',
  dialect,
  handle: () => json({}),
};

const web = mkdtempSync(join(tmpdir(), 'parley-web-'));
mkdirSync(join(web, 'assets'));
const clientPage = '<!doctype html><title>Client</title><script type="module" src="./assets/index-abc.js"></script>';
writeFileSync(join(web, 'index.html'), clientPage);
writeFileSync(join(web, 'icon.svg'), '<svg/>');
writeFileSync(join(web, 'sandbox.html'), '<!doctype html><title>Preview</title>');
writeFileSync(join(web, 'icon-192.png'), 'a picture');
writeFileSync(join(web, 'assets', 'index-abc.js'), 'run()');
writeFileSync(join(web, 'assets', 'index-abc.js.gz'), gzipSync('run()'));
afterAll(() => rmSync(web, { recursive: true }));

function pages(extra: readonly PlainEndpoint[] = [odd], folder = web): PlainEndpoint[] {
  const all: PlainEndpoint[] = [];
  const parts: PagesOptions = {
    product: { name: 'Parley', version: '0.1.0' },
    endpoints: () => all,
    apiDocument: async () => json({ openapi: '3.1.0' }),
    web: folder,
  };
  all.push(...pagesEndpoints(parts), ...extra);
  return all;
}

async function get(path: string, query = ''): Promise<Reply & { readonly body: string }> {
  return answered(router(pages()).find('GET', path), path, {}, query);
}

async function answered(endpoint: PlainEndpoint | undefined, path: string, headers = {}, query = '') {
  if (!endpoint) throw new Error(`nobody answers ${path}`);
  const reply = await endpoint.handle(
    { method: 'GET', path, headers, query: new URLSearchParams(query) } as Call,
    undefined,
  );
  if (!('stream' in reply)) return { ...reply, body: String(reply.body) };
  const pieces: Uint8Array[] = [];
  for await (const piece of reply.stream) pieces.push(Buffer.from(piece));
  return { ...reply, body: Buffer.concat(pieces).toString() };
}

test('GET /favicon.ico: sends the icon', async () => {
  const { status, headers, body } = await get('/favicon.ico');
  expect([status, headers?.['content-type'], body]).toEqual([200, 'image/png', 'a picture']);
});

test('GET /sdui: redirects to the page for drawing', async () => {
  expect(await get('/sdui')).toMatchObject({ status: 302, headers: { location: '/#/draw' } });
});

test('GET /api?json=1: sends the OpenAPI document', async () => {
  expect((await get('/api', 'json=1')).body).toBe('{"openapi":"3.1.0"}');
  expect((await get('/api', 'json=0')).body).toContain('<!doctype html>');
});

const documents = ['/api', '/docs', '/v1'];

test.each(documents)('%s is a page with a strict policy and nothing inline or from other sites', async (path) => {
  const { status, headers, body } = await get(path);
  expect(status).toBe(200);
  expect(headers?.['content-type']).toMatch(/^text\/html/);
  expect(headers?.['content-security-policy']).toContain("default-src 'none'");
  expect(headers?.['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(headers?.['content-security-policy']).not.toContain('unsafe');
  expect(body).not.toMatch(/<style|<script| style=| on\w+=|(?:src|href)="(?:https?:)?\/\//);
});

test.each(documents)('every link on %s works', async (path) => {
  const find = router(pages());
  const address = new URL(path, 'http://localhost:5001');
  const links = [...(await get(path)).body.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] ?? '');
  const paths = links.filter((link) => !link.startsWith('data:')).map((link) => new URL(link, address).pathname);
  expect(paths.length).toBeGreaterThan(0);
  for (const each of paths) {
    const plain = each.replace(/^\/lcpp\//, '/');
    expect(find.find('GET', plain), `${each} on ${path}`).toBeDefined();
  }
});

test('GET /api?plain=1: lists every endpoint, escaped, with its kind of match', async () => {
  const { body } = await get('/api');
  expect(body).toContain('Odd &#60;family&#62;');
  expect(body).toContain('…/api/v1/generate');
  expect(body).toContain('Says &#34;hi&#34; &#38; &#60;waves&#62;.');
  for (const { path } of pages()) expect(body).toContain(path);
});

test.each(['/foo/api', '/foo/api/v1', '/api/v1'])('%s redirects to the list', async (path) => {
  expect(await get(path)).toMatchObject({ status: 302, headers: { location: '/api' } });
});

test.each([
  ['/assets/index-abc.js', 'text/javascript'],
  ['/behind/proxy/app.css', 'text/css'],
])('%s is served as %s', async (path, type) => {
  expect((await get(path)).headers).toMatchObject({
    'content-type': `${type}; charset=utf-8`,
    'x-content-type-options': 'nosniff',
  });
});

test('pagesFamily: errors are pages with escaped text', () => {
  const reply = pagesDialect.errorReply(new AppError('not-found', { method: 'GET', path: '/<b>' })) as Reply & {
    body: string;
  };
  expect(reply.status).toBe(404);
  expect(reply.body).toContain('/&#60;b&#62;');
  expect(reply.body).toContain('href="/api"');
});

test('html: escapes everything but markup', () => {
  expect(html`<p title="${'"'}">${'<b>'}${[html`<i>${1}</i>`]}</p>`.markup).toBe(
    '<p title="&#34;">&#60;b&#62;<i>1</i></p>',
  );
});

test('/docs/: serves the manual and no other files', async () => {
  const manual = router(pages()).find('GET', '/docs/configuration.md');
  const ask = async (path: string) => manual?.handle({ method: 'GET', path, headers: {} } as Call, undefined);
  const page = await ask('/docs/configuration.md');
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } });
  for (const path of ['/docs/nothing.md', '/docs/../package.json', '/docs/%2e%2e/package.json']) {
    expect(await ask(path)).toMatchObject({ status: 404 });
  }
});

test.each([
  ['/documents/vs_1.12', '../#/knowledge/vs_1.12'],
  ['/documents/%22%3Cb%3E%0a', '../#/knowledge/%22%3Cb%3E%0A'],
  ['/documents/%', '../#/knowledge/%25'],
])('%s opens the passage in the web client, relative to its path', async (path, location) => {
  const found = router(pages()).find('GET', path);
  const reply = await found?.handle({ method: 'GET', path, headers: {} } as Call, undefined);
  expect(reply).toMatchObject({ status: 302, headers: { location } });
});

test.each(['/', '/lcpp'])('%s is the web client, with a policy against other sites', async (path) => {
  const { status, headers, body } = await get(path);
  expect({ status, body }).toEqual({ status: 200, body: clientPage });
  expect(headers?.['content-type']).toMatch(/^text\/html/);
  const policy = headers?.['content-security-policy'] ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("frame-src 'self'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
});

test('/sandbox.html: runs scripts without an origin and without network, in a frame of this server only', async () => {
  const { headers } = await get('/behind/proxy/sandbox.html');
  expect(headers?.['content-type']).toMatch(/^text\/html/);
  const policy = headers?.['content-security-policy'] ?? '';
  for (const part of [
    "default-src 'none'",
    'sandbox allow-scripts',
    "frame-ancestors 'self'",
    "script-src 'unsafe-inline'",
  ])
    expect(policy.split('; ')).toContain(part);
  expect(policy).not.toMatch(/same-origin|https?:|\*|eval|connect-src|script-src 'self'/);
});

test('pages: need no key, nor does a file of the client', () => {
  const guarded = pages([]).filter(({ access, changes }) => access !== 'open' || changes);
  expect(guarded.map(({ path }) => path)).toEqual([]);
  expect(pages([]).map(({ path }) => path)).toContain('/sandbox.html');
});

test('/: says so if the web client is not built', async () => {
  const { status, body } = await answered(router(pages([], join(web, 'nowhere'))).find('GET', '/'), '/');
  expect(status).toBe(200);
  expect(body).toContain('npm run build');
  expect(body).toContain('href="api"');
});

test('assets are cached for good, other files are revalidated', async () => {
  expect((await get('/behind/proxy/assets/index-abc.js')).headers?.['cache-control']).toContain('immutable');
  expect((await get('/icon.svg')).headers?.['cache-control']).toBe('no-cache');
});

test('compressed copies are sent to browsers that accept them', async () => {
  const script = router(pages()).find('GET', '/assets/index-abc.js');
  const small = await answered(script, '/assets/index-abc.js', { 'accept-encoding': 'gzip, deflate, br' });
  expect(small.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(small.headers?.['content-type']).toMatch(/^text\/javascript/);
  const plain = await answered(script, '/assets/index-abc.js', { 'accept-encoding': 'gzip;q=0' });
  expect(plain.headers?.['content-encoding']).toBeUndefined();
  expect(plain.body).toBe('run()');
});

test('compressed copies and pages have no paths of their own', () => {
  for (const path of ['/assets/index-abc.js.gz', '/index.html']) {
    expect(router(pages()).find('GET', path)?.path).not.toBe(path);
  }
});
