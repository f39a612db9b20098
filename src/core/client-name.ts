/**
 * The client of a request, for the queue and for finding requests again: the key of `--keyfile`, or else the address alone,
 * because a client can send another text as its key with each request.
 */
export function clientName(remoteAddress: string, key: { readonly name: string } | undefined): string {
  return key ? `key ${key.name}` : `address ${remoteAddress}`;
}

/**
 * Whether a client may see and stop a request, whatever genkey it guesses: one of a key of `--keyfile` is seen by that key only. All
 * others see each other's.
 */
export function maySee(client: string, request: { readonly client: string }): boolean {
  return client === request.client || !(isOfKey(client) || isOfKey(request.client));
}

const isOfKey = (client: string): boolean => client.startsWith('key ');
