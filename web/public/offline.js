// The pages from this browser when the server cannot be reached; all else always asks the server.
const shelf = 'parley-pages';
const isPart = (path) => /\/assets\/[^/]+$|\/(icon\.svg|icon-\d+\.png|manifest\.webmanifest|theme\.js)$/.test(path);

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== location.origin) return;
  if (request.mode === 'navigate' && pathname === new URL(self.registration.scope).pathname) {
    event.respondWith(newestFirst(request));
  } else if (isPart(pathname))
    event.respondWith(pathname.includes('/assets/') ? keptFirst(request) : newestFirst(request));
});

async function newestFirst(request) {
  try {
    return await fetched(request);
  } catch (reason) {
    const kept = await caches.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw reason;
  }
}

// Their names change with what is in them.
async function keptFirst(request) {
  return (await caches.match(request)) ?? fetched(request);
}

async function fetched(request) {
  const answer = await fetch(request);
  if (answer.ok) {
    const copy = answer.clone();
    const cache = await caches.open(shelf);
    await cache.put(request, copy);
  }
  return answer;
}
