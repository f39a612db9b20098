import { tick } from 'svelte';
import { fieldsOf, jsonIn, listIn, textIn, textsIn } from '../api/loose.ts';
import { list } from '../languages/index.ts';
import { addToMessage } from '../library/open-files.ts';
import { go } from '../ui/navigation.svelte.ts';
import { notify } from '../ui/notices.svelte.ts';
import { texts } from './install-texts.ts';
import { sharedText } from './shared-text.ts';

/** What the service worker keeps of a share, until a page takes it. */
interface Share {
  readonly id: string;
  readonly text: string;
  readonly files: readonly File[];
  readonly leftOut: readonly string[];
}

const scope = new URL('./', location.href);
const cacheName = `parley-shared ${scope.pathname}`;

/** Puts what was shared into the message of a new chat. Only one tab takes it. */
export async function takeShared(): Promise<void> {
  await navigator.locks.request(cacheName, async () => {
    const cache = await caches.open(cacheName);
    for (const share of await storedShares(cache)) {
      go({ view: 'chat' });
      await tick();
      if (!(await added(share))) return;
      if (share.leftOut.length > 0) notify(texts.shared.leftOut(list(share.leftOut)), { kind: 'bad', stays: true });
      for (const { url } of await cache.keys()) if (url.includes(`/shared/${share.id}/`)) await cache.delete(url);
    }
    if ((await cache.keys()).length === 0) await caches.delete(cacheName);
  });
}

/** The page of the chats may still be loading. */
async function added({ files, text }: Share): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (await addToMessage(files, text)) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function storedShares(cache: Cache): Promise<Share[]> {
  const abouts = (await cache.keys()).filter(({ url }) => /\/shared\/[^/]+\/$/.test(url));
  return Promise.all(abouts.map(async ({ url }) => shareOf(cache, url, (await cache.match(url)) ?? new Response())));
}

async function shareOf(cache: Cache, url: string, about: Response): Promise<Share> {
  const fields = fieldsOf(jsonIn(await about.text()));
  const files = listIn(fields.files).map(async (one, index) => {
    const { name, type } = fieldsOf(one);
    const blob = await (await cache.match(url + index))?.blob();
    return new File(blob ? [blob] : [], textIn(name), { type: textIn(type) });
  });
  return {
    id: /\/shared\/([^/]+)\/$/.exec(url)?.[1] ?? '',
    text: sharedText({ title: textIn(fields.title), text: textIn(fields.text), url: textIn(fields.url) }),
    files: await Promise.all(files),
    leftOut: textsIn(fields.leftOut),
  };
}
