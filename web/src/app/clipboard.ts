import { notify } from './notices.svelte.ts';
import { texts } from './texts.ts';

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(texts.notices.copied);
  } catch {
    notify(texts.notices.notCopied, { kind: 'bad' });
  }
}
