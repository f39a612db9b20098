import type { Endpoint } from '../../http/call.ts';
import { type App, apps, isAvailable } from './apps.ts';
import { html, type Markup } from './html.ts';

export interface Product {
  readonly name: string;
  readonly version: string;
}

/** What is loaded, a box to try it, and what to tell other programs. The script fills in what changes. */
export function homeBody(product: Product, endpoints: readonly Endpoint[]): Markup {
  return html`<header>
<h1>${product.name}</h1>
<p>Version ${product.version} · <a href="api">All endpoints</a> · <a href="docs/configuration.md">All flags</a></p>
</header>
<main>
<section aria-labelledby="model-title">
<h2 id="model-title">Model</h2>
<p id="model" role="status">Asking the server…</p>
<progress id="loading" max="1" value="0" aria-labelledby="model" hidden></progress>
<noscript><p>This page needs JavaScript to show what is loaded and to try it; the APIs work without.</p></noscript>
</section>
${promptSection}
<section aria-labelledby="apps-title">
<h2 id="apps-title">Connect an app</h2>
<table>
<thead><tr><th scope="col">App</th><th scope="col">Address to give it</th></tr></thead>
<tbody>
${apps.map((app) => appRow(app, isAvailable(app, endpoints)))}
</tbody>
</table>
</section>
</main>
<dialog id="key-dialog" aria-labelledby="key-title">
<form id="key-form">
<h2 id="key-title">This server has a password</h2>
<label for="key">Key</label>
<input id="key" type="password" autocomplete="current-password" required>
<p class="buttons"><button type="submit">Use this key</button> <button type="button" id="key-cancel">Cancel</button></p>
</form>
</dialog>`;
}

const promptSection = html`<section aria-labelledby="try-title">
<h2 id="try-title">Try it</h2>
<form id="try">
<label for="prompt">Prompt</label>
<textarea id="prompt" rows="5" required aria-describedby="prompt-help">Tell me a short story about a lighthouse.</textarea>
<p id="prompt-help" class="quiet">Ctrl + Enter starts, Escape stops.</p>
<div class="settings">
<label>Reply length <input id="max-length" type="number" min="1" max="32768" step="1" value="200" required></label>
<label>Temperature <input id="temperature" type="number" min="0" max="5" step="0.05" value="0.7" required></label>
<label class="choice"><input id="chat" type="checkbox" checked> As a question, not as a text to go on with</label>
</div>
<p class="buttons"><button id="start" type="submit">Generate</button> <button id="stop" type="button" disabled>Stop</button></p>
</form>
<p id="progress" class="quiet" role="status"></p>
<pre id="reply" tabindex="0" role="region" aria-label="Reply"></pre>
</section>`;

function appRow(app: App, available: boolean): Markup {
  const address = available
    ? html`<code data-path="${app.path}">/${app.path}</code>`
    : html`<span class="quiet">not yet</span>`;
  return html`<tr><th scope="row">${app.title}</th><td>${address}</td></tr>
`;
}
