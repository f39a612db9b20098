import type { Reply } from '../../http/call.ts';
import { pageHeaders } from '../../http/pages.ts';
import { html, type Markup } from './html.ts';

/** Nothing from elsewhere and nothing inline; the icon alone is part of the page. */
const policy = {
  'default-src': "'none'",
  'style-src': "'self'",
  'img-src': 'data:',
  'form-action': "'none'",
} as const;
const headers = pageHeaders(policy);

/** For a page with a form that is sent to this server. A browser that names no page at all would be taken for a strange one. */
export const formPageHeaders = {
  ...pageHeaders({ ...policy, 'form-action': "'self'" }),
  'referrer-policy': 'same-origin',
};

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%232f7d6b' d='M4 6h24v16H16l-7 6v-6H4z'/%3E%3C/svg%3E";

export interface Page {
  readonly title: string;
  readonly body: Markup;
  readonly status?: number;
}

/** Addresses inside a page are relative, so that it also works below a prefix of a proxy. */
export function pageReply({ title, body, status = 200 }: Page): Reply {
  const page = html`${pageStart(title)}
${body}
${pageEnd}`;
  return { status, headers, body: page.markup };
}

/** All that stands before the body of a page, and behind it. */
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

export const pageEnd: Markup = {
  markup: `</body>
</html>
`,
};
