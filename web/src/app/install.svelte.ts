import { server } from '../models/server.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { texts } from './install-texts.ts';

/** The script of this page, whose name changes with all that it loads. */
const entry = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src.split('/').at(-1) ?? '';
const scope = new URL('./', location.href);
/** The server is asked for its version at most this often. */
const checkMs = 30_000;
let checkedAt = Date.now();
let registration: ServiceWorkerRegistration | undefined;

/** The page as an app: kept in the browser, informed of new versions, and a target of what other apps share. */
export function startInstalled(): void {
  if ('serviceWorker' in navigator) void startServiceWorker().catch(() => {});
  document.addEventListener('visibilitychange', checkVersion);
  reportFailedShare();
  $effect.root(() => {
    $effect(() => {
      if (server.state === 'connecting') return;
      const ready = server.state === 'ready';
      if (ready) checkVersion();
      void receiveShared(ready);
    });
  });
}

async function startServiceWorker(): Promise<void> {
  // Held as long as the page is open: the service worker keeps the files of its build until then.
  void navigator.locks.request(
    `parley-pages ${scope.pathname} ${entry}`,
    { mode: 'shared' },
    () => new Promise(() => {}),
  );
  navigator.serviceWorker.onmessage = ({ data }: MessageEvent<{ type?: string; hash?: string }>) => {
    if (data.type === 'open' && data.hash) location.hash = data.hash;
  };
  registration = await navigator.serviceWorker.register('./offline.js');
  const { active } = await navigator.serviceWorker.ready;
  const used = performance
    .getEntriesByType('resource')
    .map(({ name }) => name.replace(scope.href, ''))
    .filter((name) => name.startsWith('assets/'));
  active?.postMessage({ type: 'loaded', entry, used });
}

/** A page stays open for days. It is never reloaded by itself: somebody may be typing. */
function checkVersion(): void {
  if (document.hidden || Date.now() - checkedAt < checkMs) return;
  checkedAt = Date.now();
  void registration?.update().catch(() => {});
  void isOutdated().then((outdated) => {
    if (outdated) notify(texts.update, { stays: true, action: { label: texts.reload, run: () => location.reload() } });
  });
}

async function isOutdated(): Promise<boolean> {
  try {
    const answer = await fetch(scope, { cache: 'no-cache', headers: { accept: 'text/html' } });
    const page = answer.ok ? await answer.text() : '';
    return /assets\/index-[\w-]+\.js/.test(page) && !page.includes(entry);
  } catch {
    return false;
  }
}

/** What another app has shared waits in the cache until the server answers: before, it is not known which files the model takes. */
async function receiveShared(ready: boolean): Promise<void> {
  if (!('caches' in globalThis) || !(await caches.has(`parley-shared ${scope.pathname}`))) return;
  if (ready) await import('./shared.ts').then(({ takeShared }) => takeShared());
  else notify(texts.shared.waiting, { stays: true });
}

function reportFailedShare(): void {
  const address = new URL(location.href);
  if (address.searchParams.get('shared') !== 'failed') return;
  history.replaceState(null, '', `${address.pathname}${address.hash}`);
  notify(texts.shared.failed, { kind: 'bad', stays: true });
}
