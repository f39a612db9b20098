/** Shorter ones would hide ordinary words. */
const minLength = 6;

/** User name, password and query of an address: each may be a secret. */
const address = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)([^\s/?#"'<>]*@)?([^\s?#"'<>]*)(\?[^\s#"'<>]*)?/gi;

/**
 * A text for the console or for clients, without these secrets and without the secret parts of addresses. For what others wrote: a
 * backend or a tool server may repeat in its error what was sent to it.
 */
export function hideSecrets(text: string, secrets: readonly (string | undefined)[] = []): string {
  let redacted = text.includes('://')
    ? text.replace(
        address,
        (_, scheme: string, user: string | undefined, path: string, query: string | undefined) =>
          `${scheme}${user ? '…@' : ''}${path}${query ? '?…' : ''}`,
      )
    : text;
  for (const secret of secrets) {
    if (secret === undefined || secret.length < minLength) continue;
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]))
      redacted = redacted.replaceAll(form, '…');
  }
  return redacted;
}

/** The message of a JSON parser without what it quotes of the text. */
export function withoutQuote(message: string): string {
  return message.replace(/,? *(?:\.\.\.)?".*$/s, '');
}
