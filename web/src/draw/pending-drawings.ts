import { acquire, hold, type Release } from '../saved/ownership.ts';

/**
 * Images that the server generates, so that they arrive after a reload: it keeps them by their key. One tab fetches an image;
 * another goes on if that tab is closed. `note` is what the page needs when it arrives.
 */
export function pendingDrawings<Note>(kind: string) {
  const prefix = `parley.drawing.${kind}.`;
  const lockOf = (genkey: string): string => `${prefix}${genkey}`;
  return {
    /** Until the returned function is called. */
    add(genkey: string, note: Note): Release {
      const release = hold(lockOf(genkey));
      try {
        localStorage.setItem(prefix + genkey, JSON.stringify(note));
      } catch {
        // The storage is full: the drawing arrives unless the page is reloaded.
      }
      return () => {
        localStorage.removeItem(prefix + genkey);
        release();
      };
    },
    /** Finishes each drawing of a closed page, when no other tab does. */
    async resume(finish: (drawing: { readonly genkey: string; readonly note: Note }) => Promise<void>): Promise<void> {
      const names = Array.from({ length: localStorage.length }, (_, index) => localStorage.key(index) ?? '');
      const keys = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
      for (const genkey of keys) {
        const release = await acquire(lockOf(genkey), new AbortController().signal);
        const text = localStorage.getItem(prefix + genkey);
        try {
          if (text !== null) await finish({ genkey, note: JSON.parse(text) as Note });
        } finally {
          localStorage.removeItem(prefix + genkey);
          release();
        }
      }
    },
  };
}
