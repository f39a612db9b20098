import type { Family } from '../../http/call.ts';
import type { EndpointShape } from '../endpoint.ts';
import { html, type Markup } from './html.ts';

const shownPath: Record<EndpointShape['match'], (path: string) => string> = {
  exact: (path) => path,
  ending: (path) => `…${path}`,
  prefix: (path) => `${path}…`,
  rest: (path) => `${path}…`,
};

/** Made from the table that also answers the requests, so that it cannot tell anything else. */
export function apiListBody(title: string, endpoints: readonly EndpointShape[]): Markup {
  const families = new Set(endpoints.map(({ family }) => family));
  return html`<header>
<h1>${title}</h1>
<p><a href="./">Start page</a></p>
</header>
<main>
<p>A path with … in front also answers below any prefix, one with … behind also for everything below it. Where a key is
asked for, send it as <code>Authorization: Bearer KEY</code>; it matters only when the server has a password.</p>
${[...families].map((family) =>
  familySection(
    family,
    endpoints.filter((each) => each.family === family),
  ),
)}
</main>`;
}

function familySection({ name, title }: Family, endpoints: readonly EndpointShape[]): Markup {
  return html`<section aria-labelledby="family-${name}">
<h2 id="family-${name}">${title}</h2>
<table>
<thead><tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Key</th><th scope="col">What it does</th></tr></thead>
<tbody>
${endpoints.map(row)}
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
