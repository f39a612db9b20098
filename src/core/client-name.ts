/**
 * The client of a request, for the queue and for finding requests again: the key of `--keyfile`, or else the address alone,
 * because a client can send another text as its key with each request.
 */
export function clientName(remoteAddress: string, key: { readonly name: string } | undefined): string {
  return key ? `key ${key.name}` : `address ${remoteAddress}`;
}

/** Whether it is a key of `--keyfile`: such a client sees its own requests only. */
export function isKeyClient(client: string): boolean {
  return client.startsWith('key ');
}
