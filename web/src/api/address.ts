/** Below the page, so that everything also works behind a proxy with a path of its own. */
export function addressOf(path: string, page: string = location.href): string {
  return new URL(path.replace(/^\//, ''), new URL('.', page)).href;
}
