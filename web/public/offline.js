// The service worker of the pages. `self.build` is what the build has put in front: the entry script of this build, the files that
// are kept ahead (`shell`), and those that are kept once they were used (`files`).
// One cache holds one build, whole and unmixed. While the server answers, its pages are shown; the kept ones only when it does not.
const { entry, shell, files } = self.build;
const scope = new URL(self.registration.scope);
const prefix = `parley-pages ${scope.pathname} `;
/** Pages hold a lock of this name, so that the files of a build are kept as long as one of its pages is open. */
const name = prefix + entry;
const kept = new Set([...shell, ...files]);
/** A server that needs longer counts as away. */
const maxWaitMs = 3000;
const maxSharedFiles = 20;
const maxSharedBytes = 200 * 1024 * 1024;
/** Pages about the server itself. */
const needServer = /^(join|api|inspector|conversations|lan(\/[^/]+)?|docs|documents\/[^/]+)$/;
/** The server says that its answers vary by Origin, which pages send for scripts and this worker does not. The files are the same. */
const same = { ignoreVary: true };
/** What the last page has met: its other parts do not wait again. */
let away = false;

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(activate()));

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== scope.origin || !pathname.startsWith(scope.pathname)) return;
  const path = pathname.slice(scope.pathname.length);
  if (request.method === 'POST' && path === 'share') event.respondWith(shared(request));
  if (request.method !== 'GET') return;
  if (request.mode === 'navigate') {
    if (path === '') event.respondWith(page(request, './'));
    else if (needServer.test(path)) event.respondWith(page(request));
  } else if (path.startsWith('assets/')) event.respondWith(asset(request, path));
  else if (kept.has(path)) event.respondWith(away ? keptFirst(request, path) : page(request, path));
});

self.addEventListener('message', (event) => {
  const { data } = event;
  if (data?.type !== 'loaded') return;
  event.waitUntil(Promise.all([data.entry === entry ? keepUsed(data.used) : undefined, tidy()]));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.hash ?? ''));
});

async function install() {
  const cache = await caches.open(name);
  const used = await usedBefore();
  const paths = [...shell, ...files.filter((path) => used.has(stem(path)))];
  // Two at a time: the page itself is loading, too.
  const next = async () => {
    for (let path = paths.shift(); path !== undefined; path = paths.shift()) await keep(cache, path);
  };
  await Promise.all([next(), next()]);
  const start = await cache.match('./', same);
  if (!(await start?.text())?.includes(entry)) throw new Error('The server has another build already.');
  // A build with the same script may have other files of languages.
  for (const { url } of await cache.keys()) {
    const path = url.slice(scope.href.length);
    if (path.startsWith('assets/') && !kept.has(path)) await cache.delete(url, same);
  }
  await self.skipWaiting();
}

async function activate() {
  await self.clients.claim();
  await tidy();
}

async function keep(cache, path) {
  // The names of assets change with their content; all else is asked for again. At its root the server has more than the page.
  const answer = await fetch(path, {
    cache: path.startsWith('assets/') ? 'default' : 'no-cache',
    headers: path === './' ? { accept: 'text/html' } : {},
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  await cache.put(path, answer);
}

/** Files that this page has loaded before the service worker was there, or that only some need, such as a font. */
async function keepUsed(used) {
  const cache = await caches.open(name);
  for (const path of files) {
    if (used.includes(path) && !(await cache.match(path, same))) await keep(cache, path).catch(() => {});
  }
}

/** The kept files, also of former builds, without what changes with their content. */
async function usedBefore() {
  const names = (await caches.keys()).filter((one) => one.startsWith(prefix));
  const lists = await Promise.all(names.map(async (one) => (await caches.open(one)).keys()));
  return new Set(lists.flat().map(({ url }) => stem(new URL(url).pathname.slice(scope.pathname.length))));
}

function stem(path) {
  return path.replace(/-[\w-]{8}(\.\w+)$/, '$1');
}

/** Removes former builds of which no page is open. A newer one that is being kept right now is not a former one. */
async function tidy() {
  const { installing, waiting } = self.registration;
  if (installing || waiting) return;
  const { held } = await navigator.locks.query();
  const locks = new Set(held.map((lock) => lock.name));
  for (const one of await caches.keys()) {
    const former = one === 'parley-pages' || one.startsWith(prefix);
    if (former && one !== name && !locks.has(one)) await caches.delete(one);
  }
}

/** From the server; where it is away, the kept one, or the start page in place of a page that needs the server. */
async function page(request, path) {
  const answer = fetch(request);
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('The server is away.')), maxWaitMs));
  try {
    const newest = await Promise.race([answer, late]);
    // What a proxy says when the server behind it is away.
    if (![502, 503, 504].includes(newest.status)) {
      away = false;
      return newest;
    }
  } catch {}
  away = true;
  if (path === undefined) return Response.redirect(scope.href);
  return (await keptOf(path)) ?? answer;
}

async function keptFirst(request, path) {
  return (await keptOf(path)) ?? fetch(request);
}

async function keptOf(path) {
  return (await caches.open(name)).match(path, same);
}

/** Also of a former build, for its pages that are still open. */
async function asset(request, path) {
  const known = await caches.match(request, same);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok && kept.has(path)) await (await caches.open(name)).put(path, answer.clone());
  return answer;
}

/** Keeps what another app has shared until the page takes it: the page may be signed out, or the server away. */
async function shared(request) {
  try {
    const form = await request.formData();
    const given = form.getAll('files').filter((one) => one instanceof File);
    let bytes = 0;
    const taken = given.filter(({ size }, index) => {
      if (index >= maxSharedFiles || bytes + size > maxSharedBytes) return false;
      bytes += size;
      return true;
    });
    const leftOut = given.filter((file) => !taken.includes(file)).map((file) => file.name);
    const words = Object.fromEntries(['title', 'text', 'url'].map((field) => [field, form.get(field) ?? '']));
    const cache = await caches.open(`parley-shared ${scope.pathname}`);
    const id = `${Date.now()}-${crypto.randomUUID()}`;
    for (const [index, file] of taken.entries()) await cache.put(`shared/${id}/${index}`, new Response(file));
    // Last: what has no such entry was not stored as a whole.
    const about = { ...words, leftOut, files: taken.map((file) => ({ name: file.name, type: file.type })) };
    await cache.put(`shared/${id}/`, new Response(JSON.stringify(about)));
    return Response.redirect(`${scope.href}#/chat`, 303);
  } catch {
    return Response.redirect(`${scope.href}?shared=failed#/chat`, 303);
  }
}

/** The page that shows it already, else any page, else a new one. */
async function open(hash) {
  const pages = await self.clients.matchAll({ type: 'window' });
  const chosen = pages.find(({ url }) => new URL(url).hash === hash) ?? pages.find(({ url }) => isStart(url));
  if (!chosen) return self.clients.openWindow(scope.href + hash);
  chosen.postMessage({ type: 'open', hash });
  return chosen.focus();
}

function isStart(url) {
  return new URL(url).pathname === scope.pathname;
}
