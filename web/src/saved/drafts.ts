/** What somebody has typed and not sent yet. Written at once, with each key: it is there after a crash. */
export function draft(place: string): { read(): string; write(text: string): void } {
  const name = `parley.draft.${place}`;
  return {
    read: () => localStorage.getItem(name) ?? '',
    write: (text) => {
      try {
        if (text === '') localStorage.removeItem(name);
        else localStorage.setItem(name, text);
      } catch {
        // The storage is full: what is typed stays on the page.
      }
    },
  };
}
