import { notify } from './notices.svelte.ts';

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify('Copied.');
  } catch {
    notify('Cannot copy: the browser blocks the clipboard for this page.', { kind: 'bad' });
  }
}
