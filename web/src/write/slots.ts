/** Used slots; the slots of the server have fixed numbers, and most are empty. */
export function usedSlots(titles: readonly string[]): { readonly slot: number; readonly title: string }[] {
  return titles.flatMap((title, slot) => (title === '' ? [] : [{ slot, title }]));
}

/** Slot to save in: that of the same title, or else the first free one; undefined if all are in use. */
export function slotFor(titles: readonly string[], title: string): { slot: number; replaces: boolean } | undefined {
  const same = titles.indexOf(title);
  if (title !== '' && same >= 0) return { slot: same, replaces: true };
  const free = titles.indexOf('');
  return free < 0 ? undefined : { slot: free, replaces: false };
}
