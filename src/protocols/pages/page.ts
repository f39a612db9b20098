import type { Dialect, Reply } from '../../http/call.ts';
import { escapeHtml, pageHeaders } from '../../http/pages.ts';

/** HTML text. Only the `html` tag makes it, so that all other values in a page are escaped. */
export interface Markup {
  readonly markup: string;
}

type Value = string | number | Markup | readonly Markup[];

export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return { markup: String.raw({ raw: strings }, ...values.map(render)) };
}

function render(value: Value): string {
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'markup' in value ? value.markup : value.map(render).join('');
}

/** Loads nothing from other sites and nothing inline, except for the icon. */
const policy = { 'default-src': "'none'", 'style-src': "'self'", 'img-src': 'data:', 'form-action': "'none'" };
const headers = pageHeaders(policy);

/** For a page with a form for this server. */
export const formPageHeaders = pageHeaders({ ...policy, 'form-action': "'self'" });

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%232f7d6b' d='M4 6h24v16H16l-7 6v-6H4z'/%3E%3C/svg%3E";

/** Addresses inside a page are relative, so that it also works below a prefix of a proxy. */
export function pageReply(title: string, body: Markup, status = 200): Reply {
  const page = html`${pageStart(title)}
${body}
${pageEnd}`;
  return { status, headers, body: page.markup };
}

/** Everything before the content of the body. */
export function pageStart(title: string): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="app.css">
</head>
<body>`;
}

export const pageEnd = html`</body>
</html>
`;

/** Errors as pages, for browsers; also the reply to a GET that no endpoint knows. */
export const pagesDialect: Dialect = {
  name: 'pages',
  title: 'Pages',
  errorReply({ status, message }) {
    const title = status === 404 ? 'Page not found' : 'Request failed';
    const body = html`<main>
<h1>${title}</h1>
<p>${message}</p>
<p>Go to the <a href="/">start page</a> or the <a href="/api">list of endpoints</a>.</p>
</main>`;
    return pageReply(title, body, status);
  },
};
