import { addressOf } from './address.ts';

let token: string | undefined;

/** What shows the server that this is its own page, opened by its owner. */
export function ownerHeaders(): Readonly<Record<string, string>> {
  return token === undefined ? {} : { 'x-parley-owner': token };
}

/** Asks the server for its token, which it gives to its own page on its own machine only. Whether there is a new one. */
export async function askForOwnership(): Promise<boolean> {
  const before = token;
  const response = await fetch(addressOf('api/extra/owner'));
  const answer = response.ok ? ((await response.json()) as { readonly token?: string | null }) : {};
  token = answer.token ?? undefined;
  return token !== undefined && token !== before;
}
