/** Text that is typed but not sent. Saved on each key, so that it survives a crash. */
export function draft(draftKey: string): { read(): string; write(text: string): void } {
  const name = `parley.draft.${draftKey}`;
  return {
    read: () => localStorage.getItem(name) ?? '',
    write: (text) => {
      try {
        if (text === '') localStorage.removeItem(name);
        else localStorage.setItem(name, text);
      } catch {
        // The storage is full: the text stays on the page.
      }
    },
  };
}
