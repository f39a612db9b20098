import type { Call, Endpoint, Reply } from '../http/call.ts';
import { page } from '../http/pages.ts';
import { builtPages, webFile, webFiles, webPage } from '../protocols/pages/web-client.ts';
import { launcherFamily } from './routes.ts';
import type { Session } from './session.ts';

/** The page, and its files, which contain no secrets. */
export function pageEndpoints(session: Session, tellAddress: () => void, web = builtPages): Endpoint[] {
  const open = (match: Endpoint['match'], path: string, summary: string, handle: Endpoint['handle']): Endpoint => ({
    method: 'GET',
    match,
    path,
    access: 'open',
    rateLimited: false,
    summary,
    family: launcherFamily,
    handle,
  });
  return [
    open('exact', '/', 'The launcher.', (call) => launcherPage(call, session, tellAddress, web)),
    ...webFiles(web).map((name) =>
      open('ending', `/${name}`, 'A file of the page.', async (call) => (await webFile(web, name, call)) ?? notBuilt),
    ),
  ];
}

async function launcherPage(call: Call, session: Session, tellAddress: () => void, web: string): Promise<Reply> {
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
  if (session.used) tellAddress();
  return closed;
}

const closed = page(
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley launcher</title>
<h1>Open it by its own address</h1>
<p>The launcher opens by an address with a token that works once. A fresh one was printed where Parley was started.</p>
</html>
`,
  403,
);

const notBuilt = page(
  `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Not built</title>
<p>The pages are not built: <code>npm run build</code> makes them.</p>
</html>
`,
  503,
);
