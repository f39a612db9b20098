import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { type Call, type Endpoint, type Family, json, type Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { pagesFamily } from './errors.ts';
import { html } from './html.ts';
import { type PagesParts, pagesEndpoints } from './routes.ts';
import { script } from './script.ts';

const family: Family = { name: 'odd', title: 'Odd <family>', errorReply: () => json({}) };
const odd: Endpoint = {
  method: 'POST',
  match: 'ending',
  path: '/api/v1/generate',
  access: 'guarded',
  queued: true,
  summary: 'Says "hi" & <waves>.',
  family,
  handle: () => json({}),
};

function pages(extra: readonly Endpoint[] = [odd]): Endpoint[] {
  const all: Endpoint[] = [];
  const parts: PagesParts = { product: { name: 'Parley', version: '0.1.0' }, endpoints: () => all };
  all.push(...pagesEndpoints(parts), ...extra);
  return all;
}

async function get(path: string): Promise<Reply & { readonly body: string }> {
  const endpoint = router(pages()).find('GET', path);
  if (!endpoint) throw new Error(`nobody answers ${path}`);
  return (await endpoint.handle({ path } as Call)) as Reply & { readonly body: string };
}

const documents = ['/', '/lcpp', '/api', '/docs', '/v1'];

test.each(documents)(
  '%s is a page under a strict policy, with nothing inline and nothing from elsewhere',
  async (path) => {
    const { status, headers, body } = await get(path);
    expect(status).toBe(200);
    expect(headers?.['content-type']).toMatch(/^text\/html/);
    expect(headers?.['content-security-policy']).toContain("default-src 'none'");
    expect(headers?.['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers?.['content-security-policy']).not.toContain('unsafe');
    expect(body).not.toMatch(/<style|<script(?! src="app.js")| style=| on\w+=|(?:src|href)="(?:https?:)?\/\//);
  },
);

test.each(documents)('every link on %s leads somewhere', async (path) => {
  const find = router(pages());
  const address = new URL(path === '/lcpp' ? '/lcpp/' : path, 'http://localhost:5001');
  const links = [...(await get(path)).body.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] ?? '');
  const paths = links.filter((link) => !link.startsWith('data:')).map((link) => new URL(link, address).pathname);
  expect(paths.length).toBeGreaterThan(0);
  for (const each of paths) {
    const plain = each.replace(/^\/lcpp\//, '/');
    expect(find.find('GET', plain), `${each} on ${path}`).toBeDefined();
  }
});

test('the start page offers the families that are there, and the others as not yet', async () => {
  const { body } = await get('/');
  expect(body).toMatch(/KoboldAI clients<\/th><td><code data-path="">/);
  expect(body).toMatch(/Ollama apps \(host\)<\/th><td><span class="quiet">not yet/);
});

test('the script is valid and every element that it looks for is on the page', async () => {
  expect(() => new Script(script)).not.toThrow();
  const { body } = await get('/');
  const wanted = new Set([...script.matchAll(/find\('([\w-]+)'\)/g)].map((match) => match[1]));
  for (const id of wanted) expect(body).toContain(`id="${id}"`);
});

test('every label and description on the start page points at something', async () => {
  const { body } = await get('/');
  const targets = [...body.matchAll(/(?:for|aria-labelledby|aria-describedby)="([^"]+)"/g)].map((match) => match[1]);
  for (const id of targets) expect(body).toContain(`id="${id}"`);
});

test('the list shows every endpoint, escaped, and how its path matches', async () => {
  const { body } = await get('/api');
  expect(body).toContain('Odd &#60;family&#62;');
  expect(body).toContain('…/api/v1/generate');
  expect(body).toContain('Says &#34;hi&#34; &#38; &#60;waves&#62;.');
  for (const { path } of pages()) expect(body).toContain(path);
});

test.each(['/foo/api', '/foo/api/v1', '/api/v1'])('%s leads to the list', async (path) => {
  expect(await get(path)).toMatchObject({ status: 302, headers: { location: '/api' } });
});

test.each([
  ['/app.js', 'text/javascript'],
  ['/behind/proxy/app.css', 'text/css'],
])('%s is served as %s', async (path, type) => {
  expect((await get(path)).headers).toMatchObject({
    'content-type': `${type}; charset=utf-8`,
    'x-content-type-options': 'nosniff',
  });
});

test('a failure is a page that escapes what it tells', () => {
  const reply = pagesFamily.errorReply(new AppError('not-found', { method: 'GET', path: '/<b>' })) as Reply & {
    body: string;
  };
  expect(reply.status).toBe(404);
  expect(reply.body).toContain('/&#60;b&#62;');
  expect(reply.body).toContain('href="/api"');
});

test('only what the tag itself made goes into a page as it is', () => {
  expect(html`<p title="${'"'}">${'<b>'}${[html`<i>${1}</i>`]}</p>`.markup).toBe(
    '<p title="&#34;">&#60;b&#62;<i>1</i></p>',
  );
});

test('the manual is served as it was written, and nothing else of the program is', async () => {
  const manual = router(pages()).find('GET', '/docs/configuration.md');
  const ask = async (path: string) => manual?.handle({ method: 'GET', path, headers: {} } as Call);
  const page = await ask('/docs/configuration.md');
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' } });
  for (const path of ['/docs/nothing.md', '/docs/../package.json', '/docs/%2e%2e/package.json']) {
    expect(await ask(path)).toMatchObject({ status: 404 });
  }
});
