/** An address relative to the page, so that path prefixes of proxies work. */
export function addressOf(path: string, page: string = location.href): string {
  return new URL(path.replace(/^\//, ''), new URL('.', page)).href;
}
