import { translatable } from '../languages/index.ts';

export const texts = translatable('ui', {
  close: 'Close',
  dismiss: 'Dismiss',
  undo: 'Undo',
  copied: 'Copied.',
  notCopied: 'Cannot copy: the browser blocks the clipboard for this page. Select the text and press Ctrl+C.',
  copy: (label: string) => `Copy: ${label}`,
  versions: { label: 'Versions', previous: 'Previous version', next: 'Next version', create: 'New version' },
});
