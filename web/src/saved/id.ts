/** A random id, short enough for a URL. `crypto.randomUUID` is missing on pages from other machines over plain HTTP. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join('');
}

/** This tab, or window of the installed app, until it is reloaded. */
export const tabId = newId();
