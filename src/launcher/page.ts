import type { IncomingHttpHeaders } from 'node:http';
import { type Call, type Dialect, type Endpoint, json, type Reply } from '../http/call.ts';
import { isSameSecret } from '../http/guard.ts';
import { messagePage } from '../http/pages.ts';
import { builtPages, webFiles, webPage } from '../protocols/pages/web-client.ts';

export const launcherDialect: Dialect = {
  name: 'launcher',
  title: 'Launcher',
  errorReply: ({ message, code, status }) => json({ problems: [message], type: code }, status),
};

/** The page, and its files, which contain no secrets. */
export function pageEndpoints(session: Session, showAddress: () => void, web = builtPages): Endpoint[] {
  const open = (match: Endpoint['match'], path: string, summary: string, handle: Endpoint['handle']): Endpoint => ({
    method: 'GET',
    match,
    path,
    access: 'open',
    rateLimited: false,
    summary,
    dialect: launcherDialect,
    handle,
  });
  return [
    open('exact', '/', 'The launcher.', (call) => launcherPage(call, session, showAddress, web)),
    ...webFiles(web).map(({ match, path, file }) =>
      open(match, path, 'A file of the page.', async (call) => (await file(call)) ?? notBuilt),
    ),
  ];
}

async function launcherPage(call: Call, session: Session, showAddress: () => void, web: string): Promise<Reply> {
  const token = call.query.get('token');
  const cookie = token === null ? undefined : session.open(token);
  // The redirect removes the token from the address bar and the history.
  if (cookie !== undefined) {
    const headers = {
      location: './',
      'set-cookie': cookie,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    };
    return { status: 303, headers, body: '' };
  }
  if (session.admits(call.headers)) {
    const reply = (await webPage(web, 'launcher.html', call)) ?? notBuilt;
    return { ...reply, headers: { ...reply.headers, 'cache-control': 'no-store' } };
  }
  if (session.used) showAddress();
  return closed;
}

const closed = messagePage(
  403,
  'Parley launcher',
  `<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>Open it by its own address</h1>
<p>The launcher opens by an address with a token that works once. A fresh one was printed where Parley was started.</p>`,
);

const notBuilt = messagePage(
  503,
  'Not built',
  '<p>The pages are not built: <code>npm run build</code> makes them.</p>',
);

const cookieName = 'parley_launcher';

/**
 * Access to the launcher, which can read folders and start programs: a token that works once, exchanged for a cookie. Pages
 * of other servers have no access.
 */
export class Session {
  #token: string;
  #secret: string | undefined;

  constructor(private readonly random: () => string) {
    this.#token = random();
  }

  get token(): string {
    return this.#token;
  }

  /** Whether the current token was used, so that a new one must be printed. */
  get used(): boolean {
    return this.#token === '';
  }

  renew(): string {
    this.#token = this.random();
    return this.#token;
  }

  /** The cookie for the right token, which is then invalid. */
  open(token: string): string | undefined {
    if (this.#token === '' || !isSameSecret(token, this.#token)) return undefined;
    this.#token = '';
    this.#secret = this.random();
    return `${cookieName}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** Checks the origin too: cookies ignore ports, and other servers on this machine count as the same site. */
  admits(headers: IncomingHttpHeaders): boolean {
    const sent = cookieOf(headers.cookie ?? '');
    if (this.#secret === undefined || sent === undefined || !isSameSecret(sent, this.#secret)) return false;
    const { origin, host, 'sec-fetch-site': site } = headers;
    if (origin !== undefined && origin !== `http://${host}`) return false;
    return site === undefined || site === 'same-origin' || site === 'none';
  }
}

function cookieOf(header: string): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
}
