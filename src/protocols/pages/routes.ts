import { fileURLToPath } from 'node:url';
import { AppError } from '../../core/errors.ts';
import type { Call, Dialect, Reply } from '../../http/call.ts';
import { fileReply } from '../../http/static-files.ts';
import { information } from '../access.ts';
import {
  documented,
  type EndpointShape,
  endpointRow,
  lastPart,
  type PlainEndpoint,
  wantsEmulations,
} from '../endpoint.ts';
import { html, type Markup, pageReply, pagesDialect } from './page.ts';
import { style } from './style.ts';
import { builtPages, webFile, webFiles, webPage } from './web-client.ts';

export interface PagesOptions {
  readonly product: { readonly name: string; readonly version: string };
  /** Every endpoint of the server, including these pages. */
  readonly endpoints: () => readonly EndpointShape[];
  /** The OpenAPI document. */
  readonly apiDocument: (call: Call) => Promise<Reply>;
  /** Folder of the built web client. */
  readonly web?: string;
}

export function pagesEndpoints({ product, endpoints, apiDocument, web = builtPages }: PagesOptions): PlainEndpoint[] {
  const apiTitle = `Endpoints of ${product.name}`;
  const list = (call: Call): Reply => pageReply(apiTitle, apiListBody(apiTitle, endpoints(), wantsEmulations(call)));
  const api = async (call: Call): Promise<Reply> => {
    if (call.query.get('json') === '1') return apiDocument(call);
    return (call.query.get('plain') === '1' ? undefined : await webPage(web, 'api.html', call)) ?? list(call);
  };
  const built =
    (name: string) =>
    async (call: Call): Promise<Reply> =>
      (await webPage(web, name, call)) ?? notBuilt;
  const client = built('index.html');
  return [
    page('/', 'The web client: chat, write, draw, listen and speak.', client),
    page('/lcpp', 'The web client, opened at its chat.', client),
    page('/join', 'Where invitations lead: /join#TOKEN.', built('join.html')),
    page('/sdui', 'Redirects to the page for drawing, which KoboldCpp has here.', () => redirect('/#/draw')),
    page(
      '/favicon.ico',
      'The icon.',
      async (call) => (await webFile(web, 'icon-192.png', call)) ?? notFound(call),
      below,
    ),
    page('/api', 'The page of the API: every endpoint, to be read and tried.', api),
    page(
      '/inspector',
      'The page of the translation inspector: the last requests, and each in every dialect.',
      built('inspector.html'),
    ),
    page(
      '/conversations',
      'The page of conversations: what came from the cache in each turn, and what was computed again.',
      built('conversations.html'),
    ),
    page('/lan', 'With --lan: how a device is told to trust the certificate of the server.', built('lan.html')),
    page(
      '/documents/',
      'Opens the web client at a passage of a document: the target of citations, such as /documents/ID.',
      passage,
      { match: 'prefix' },
    ),
    page('/docs', 'Another name for /api.', api),
    page('/docs/', 'The manual that comes along, such as /docs/configuration.md.', manual, { match: 'prefix' }),
    page('/v1', 'A note for people who open the base address of the OpenAI API.', () => baseAddressNote),
    page('/api', 'Redirects to /api.', () => redirect('/api'), below),
    page('/api/v1', 'Redirects to /api.', () => redirect('/api'), below),
    page('/app.css', 'The style sheet of the plain pages.', () => stylesheet, below),
    ...webFiles(web).map(({ match, path, file }) =>
      page(path, 'A file of the web client.', async (call) => (await file(call)) ?? notFound(call), { match }),
    ),
  ];
}

const manualFolder = fileURLToPath(new URL('../../../docs', import.meta.url));

/** Relative, so that it stays below the path prefix of a proxy. */
function passage(call: Call): Reply {
  return redirect(`../#/knowledge/${encodeURIComponent(lastPart(call))}`);
}

/** The manual as Markdown source. */
async function manual(call: Call): Promise<Reply> {
  const { path, headers } = call;
  const reply = await fileReply({ folder: manualFolder }, { path: path.slice('/docs/'.length), headers });
  return reply ?? notFound(call);
}

function notFound({ method, path }: Call): Reply {
  return pagesDialect.errorReply(new AppError('not-found', { method, path }));
}

const page = endpointRow(information, { method: 'GET', match: 'exact', dialect: pagesDialect });
/** Also below a prefix of a proxy. */
const below = { match: 'ending' } as const;

function redirect(location: string): Reply {
  return { status: 302, headers: { location, 'content-type': 'text/html' }, body: '' };
}

const stylesheet: Reply = {
  status: 200,
  headers: { 'content-type': 'text/css; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: style,
};

const notBuilt = pageReply(
  'The web client is not built',
  html`<main>
<h1>The web client is not built</h1>
<p>The server runs, and <a href="api">all its endpoints</a> answer. <code>npm run build</code> makes its pages.</p>
</main>`,
);

const baseAddressNote = pageReply(
  'Base address of the OpenAI API',
  html`<main>
<h1>This is a base address</h1>
<p>Give the address of this page to apps that speak the OpenAI API. People find more in
<a href="api">the list of endpoints</a> and on <a href="./">the start page</a>.</p>
</main>`,
);

const shownPath: Record<EndpointShape['match'], (path: string) => string> = {
  exact: (path) => path,
  ending: (path) => `…${path}`,
  folder: (path) => `…${path}/…`,
  prefix: (path) => `${path}…`,
  rest: (path) => `${path}…`,
};

/** Generated from the endpoints themselves. */
export function apiListBody(title: string, endpoints: readonly EndpointShape[], emulations: boolean): Markup {
  const dialects = new Set(documented(endpoints, emulations).map(({ dialect }) => dialect));
  return html`<header>
<h1>${title}</h1>
<p><a href="./">Start page</a> · ${otherList(emulations)}</p>
</header>
<main>
<p>A path with … in front also answers below any prefix, one with … behind also for everything below it. Where a key is
needed, send it as <code>Authorization: Bearer KEY</code>; it matters only when the server has a password.</p>
${[...dialects].map((dialect) => dialectSection(dialect, endpoints))}
</main>`;
}

const otherList = (emulations: boolean): Markup =>
  emulations
    ? html`<a href="api?plain=1">Without the emulated APIs</a>`
    : html`<a href="api?plain=1&amp;all=1">With the emulated APIs: Ollama, ComfyUI, XTTS, VITS</a>`;

function dialectSection(dialect: Dialect, endpoints: readonly EndpointShape[]): Markup {
  return html`<section aria-labelledby="family-${dialect.name}">
<h2 id="family-${dialect.name}">${dialect.title}</h2>
<table>
<thead><tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Key</th><th scope="col">What it does</th></tr></thead>
<tbody>
${endpoints.filter((each) => each.dialect === dialect).map(row)}
</tbody>
</table>
</section>
`;
}

function row({ method, match, path, access, summary }: EndpointShape): Markup {
  const key = access !== 'open' ? 'yes' : 'no';
  return html`<tr><td>${method}</td><td><code>${shownPath[match](path)}</code></td><td>${key}</td><td>${summary}</td></tr>
`;
}
