import { fileURLToPath } from 'node:url';
import { AppError } from '../../core/errors.ts';
import type { Call, Endpoint, Reply } from '../../http/call.ts';
import { fileReply } from '../../http/static-files.ts';
import { apiListBody } from './api-list.ts';
import { pagesFamily } from './errors.ts';
import { homeBody, type Product } from './home.ts';
import { html } from './html.ts';
import { pageReply } from './layout.ts';
import { script } from './script.ts';
import { style } from './style.ts';

export interface PagesParts {
  readonly product: Product;
  /** Every endpoint of the server, these pages included; asked when a page is shown. */
  readonly endpoints: () => readonly Endpoint[];
}

export function pagesEndpoints({ product, endpoints }: PagesParts): Endpoint[] {
  const home = (): Reply => pageReply({ title: product.name, body: homeBody(product, endpoints()), script: true });
  const apiTitle = `Endpoints of ${product.name}`;
  const api = (): Reply => pageReply({ title: apiTitle, body: apiListBody(apiTitle, endpoints()) });
  return [
    page('exact', '/', 'The start page: what is loaded, a box to try it, addresses for apps.', home),
    page('exact', '/lcpp', 'The start page under its second name.', home),
    page('exact', '/api', 'This list of endpoints.', api),
    page('exact', '/docs', 'This list under another name.', api),
    page('prefix', '/docs/', 'The manual that comes along, such as /docs/configuration.md.', manual),
    page('exact', '/v1', 'A note for people who open the base address of the OpenAI API.', () => baseAddressNote),
    page('ending', '/api', 'Leads to /api.', () => toApi),
    page('ending', '/api/v1', 'Leads to /api.', () => toApi),
    page('ending', '/app.js', 'The script of the start page.', () => asset('text/javascript', script)),
    page('ending', '/app.css', 'The look of the pages.', () => asset('text/css', style)),
  ];
}

const manualFolder = fileURLToPath(new URL('../../../docs', import.meta.url));

/** The pages of the manual as they were written: they can be read without being rendered. */
async function manual({ method, path, headers }: Call): Promise<Reply> {
  const reply = await fileReply({ folder: manualFolder }, { path: path.slice('/docs/'.length), headers });
  return reply ?? pagesFamily.errorReply(new AppError('not-found', { method, path }));
}

function page(match: Endpoint['match'], path: string, summary: string, handle: Endpoint['handle']): Endpoint {
  return { method: 'GET', match, path, access: 'open', queued: false, summary, family: pagesFamily, handle };
}

const toApi: Reply = { status: 302, headers: { location: '/api', 'content-type': 'text/html' }, body: '' };

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
