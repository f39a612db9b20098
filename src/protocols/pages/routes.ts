import { fileURLToPath } from 'node:url';
import { AppError } from '../../core/errors.ts';
import type { Call, Reply } from '../../http/call.ts';
import { fileReply } from '../../http/static-files.ts';
import type { EndpointShape, PlainEndpoint } from '../endpoint.ts';
import { apiListBody } from './api-list.ts';
import { pagesFamily } from './errors.ts';
import { html } from './html.ts';
import { pageReply } from './layout.ts';
import { style } from './style.ts';
import { builtPages, webFile, webFiles, webPage } from './web-client.ts';

export interface Product {
  readonly name: string;
  readonly version: string;
}

export interface PagesParts {
  readonly product: Product;
  /** Every endpoint of the server, these pages included; asked when a page is shown. */
  readonly endpoints: () => readonly EndpointShape[];
  /** The description of the API, for programs. */
  readonly apiDocument: () => Reply;
  /** Where the built pages of the web client are. */
  readonly web?: string;
}

export function pagesEndpoints({ product, endpoints, apiDocument, web = builtPages }: PagesParts): PlainEndpoint[] {
  const client = async (call: Call): Promise<Reply> => (await webPage(web, 'index.html', call)) ?? notBuilt;
  const apiTitle = `Endpoints of ${product.name}`;
  const list = (): Reply => pageReply({ title: apiTitle, body: apiListBody(apiTitle, endpoints()) });
  const api = async (call: Call): Promise<Reply> => {
    if (call.query.get('json') === '1') return apiDocument();
    return (call.query.get('plain') === '1' ? undefined : await webPage(web, 'api.html', call)) ?? list();
  };
  return [
    page('exact', '/', 'The web client: chat, write, draw, listen and speak.', client),
    page('exact', '/lcpp', 'The web client, opened at its chat.', client),
    page('exact', '/sdui', 'Leads to the page for drawing, which KoboldCpp has here.', () => toDrawing),
    page(
      'ending',
      '/favicon.ico',
      'The icon, where browsers look for it.',
      async (call) => (await webFile(web, 'icon-192.png', call)) ?? gone(call),
    ),
    page('exact', '/api', 'The page of the API: every endpoint, to be read and tried.', api),
    page('exact', '/docs', 'Another name for /api.', api),
    page('prefix', '/docs/', 'The manual that comes along, such as /docs/configuration.md.', manual),
    page('exact', '/v1', 'A note for people who open the base address of the OpenAI API.', () => baseAddressNote),
    page('ending', '/api', 'Leads to /api.', () => toApi),
    page('ending', '/api/v1', 'Leads to /api.', () => toApi),
    page('ending', '/app.css', 'The look of the plain pages.', () => asset('text/css', style)),
    ...webFiles(web).map((name) =>
      page(
        'ending',
        `/${name}`,
        'A file of the web client.',
        async (call) => (await webFile(web, name, call)) ?? gone(call),
      ),
    ),
  ];
}

const manualFolder = fileURLToPath(new URL('../../../docs', import.meta.url));

/** The pages of the manual as they were written: they can be read without being rendered. */
async function manual(call: Call): Promise<Reply> {
  const { path, headers } = call;
  const reply = await fileReply({ folder: manualFolder }, { path: path.slice('/docs/'.length), headers });
  return reply ?? gone(call);
}

function gone({ method, path }: Call): Reply {
  return pagesFamily.errorReply(new AppError('not-found', { method, path }));
}

function page(
  match: EndpointShape['match'],
  path: string,
  summary: string,
  handle: PlainEndpoint['handle'],
): PlainEndpoint {
  return { method: 'GET', match, path, access: 'open', queued: false, summary, family: pagesFamily, handle };
}

const toApi: Reply = { status: 302, headers: { location: '/api', 'content-type': 'text/html' }, body: '' };

const toDrawing: Reply = { status: 302, headers: { location: '/#/draw', 'content-type': 'text/html' }, body: '' };

const notBuilt = pageReply({
  title: 'The web client is not built',
  body: html`<main>
<h1>The web client is not built</h1>
<p>The server runs, and <a href="api">all its endpoints</a> answer. <code>npm run build</code> makes its pages.</p>
</main>`,
});

const baseAddressNote = pageReply({
  title: 'Base address of the OpenAI API',
  body: html`<main>
<h1>This is a base address</h1>
<p>Give the address of this page to apps that speak the OpenAI API. People find more in
<a href="api">the list of endpoints</a> and on <a href="./">the start page</a>.</p>
</main>`,
});

function asset(type: string, body: string): Reply {
  const headers = { 'content-type': `${type}; charset=utf-8`, 'x-content-type-options': 'nosniff' };
  return { status: 200, headers, body };
}
