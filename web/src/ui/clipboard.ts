import { notify } from './notices.svelte.ts';
import { texts } from './texts.ts';

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(texts.copied);
  } catch {
    notify(texts.notCopied, { kind: 'bad' });
  }
}
