/**
 * The client of a request, for the queue and for finding requests again: the key of `--keyfile`, or else the address alone,
 * because a client can send another text as its key with each request.
 */
export function clientName(remoteAddress: string, key: { readonly name: string } | undefined): string {
  return key ? `key ${key.name}` : `address ${remoteAddress}`;
}

/** Whether a client may see and stop a request: a key of `--keyfile` its own only, whatever genkey it guesses. */
export function maySee(client: string, request: { readonly client: string }): boolean {
  return !client.startsWith('key ') || client === request.client;
}
