import { sentenceOf } from '../api/failure.ts';
import { refreshCollections } from '../documents/collection-list.svelte.ts';
import { addContent, type NewContent } from '../documents/collections.ts';
import { notify } from '../ui/notices.svelte.ts';
import { texts } from './texts.ts';

/** What is being sent to the server; goes on while other pages are open. */
export const uploads = $state({
  collection: '',
  name: '',
  done: 0,
  total: 0,
  running: false,
});

let queue: { readonly collection: string; readonly content: NewContent }[] = [];
let current: AbortController | undefined;

/** Sends contents one after another. One that fails is named, and costs the others nothing. */
export async function upload(collection: string, contents: readonly NewContent[]): Promise<void> {
  queue.push(...contents.map((content) => ({ collection, content })));
  uploads.total += contents.length;
  if (uploads.running) return;
  uploads.running = true;
  const failures: { name: string; reason: string }[] = [];
  for (let next = queue.shift(); next; next = queue.shift()) {
    const controller = new AbortController();
    current = controller;
    const name = nameOf(next.content);
    Object.assign(uploads, { collection: next.collection, name });
    try {
      await addContent(next.collection, next.content, controller.signal);
    } catch (thrown) {
      if (!controller.signal.aborted) failures.push({ name, reason: sentenceOf(thrown) });
    }
    uploads.done += 1;
    await refreshCollections();
  }
  Object.assign(uploads, { collection: '', name: '', done: 0, total: 0, running: false });
  report(failures);
}

export function stopUploads(): void {
  queue = [];
  current?.abort();
}

function report(failures: readonly { readonly name: string; readonly reason: string }[]): void {
  // Each by its name while they can all be read.
  if (failures.length <= 3)
    for (const { name, reason } of failures) notify(texts.add.failed(name, reason), { kind: 'bad' });
  else notify(texts.add.failedMany(failures.length, failures.at(-1)?.reason ?? ''), { kind: 'bad' });
}

function nameOf(content: NewContent): string {
  return 'url' in content ? content.url : content.name;
}
