import type { Family } from '../../http/call.ts';
import { html } from './html.ts';
import { pageReply } from './layout.ts';

/** For people who opened an address by hand; also the answer to a GET that no endpoint knows. */
export const pagesFamily: Family = {
  name: 'pages',
  title: 'Pages',
  errorReply(error) {
    const title = error.status === 404 ? 'Nothing here' : 'That did not work';
    const body = html`<main>
<h1>${title}</h1>
<p>${error.message}</p>
<p>What there is: <a href="/api">the list of endpoints</a>, <a href="/">the start page</a>.</p>
</main>`;
    return pageReply({ title, body, status: error.status });
  },
};
