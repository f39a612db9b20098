/** Also where the page has no secure address, and with it no `crypto.randomUUID`. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(9))].map((byte) => byte.toString(36).padStart(2, '0')).join('');
}
