import { addressOf } from './address.ts';

/** Earlier versions have kept the key under this name; now it is kept only where the browser does not send the cookie. */
const name = 'parley.key';

/** `admin`: the password of `--adminpassword`, which the server also accepts as that of `--password`. */
type KeyKind = 'password' | 'admin';

export const keyDialog = $state<{ open: boolean; kind: KeyKind }>({ open: false, kind: 'password' });
let answer: ((given: boolean) => void) | undefined;
let asking: Promise<boolean> | undefined;

/** For a tab in which the cookie of the session does not work: behind some proxies, and where cookies are blocked. */
export function currentKey(): string | undefined {
  return sessionStorage.getItem(name) ?? undefined;
}

/** Opens one dialog for all waiting calls; false if it is cancelled. */
export function requestKey(kind: KeyKind = 'password'): Promise<boolean> {
  asking ??= new Promise<boolean>((resolve) => {
    answer = resolve;
    keyDialog.kind = kind;
    keyDialog.open = true;
  }).finally(() => {
    asking = undefined;
    keyDialog.open = false;
  });
  return asking;
}

type SignedIn = 'accepted' | 'wrong' | 'too-many' | 'unreachable';

/** Signs in with a key or password. `remember`: also when the browser is closed. */
export async function submitKey(key: string, remember: boolean): Promise<SignedIn> {
  // Checked before: another key would take the place of the one that is signed in.
  const checked = keyDialog.kind === 'admin' ? await check(key, 'admin') : 'accepted';
  const signed = checked === 'accepted' ? await signIn(key, remember) : checked;
  if (signed !== 'accepted') return signed;
  answer?.(true);
  // Those who wait for the key go on first.
  await asking;
  return 'accepted';
}

export function cancelKey(): void {
  answer?.(false);
}

/** Whether the browser sends the cookie of a session, and the server knows it. */
export async function isSignedIn(): Promise<boolean> {
  const response = await fetch(addressOf('api/extra/session'));
  return response.ok && ((await response.json()) as { readonly type: string | null }).type !== null;
}

/** Signs in with the key that an earlier version has kept, which is forgotten then. */
export async function signInAsBefore(): Promise<boolean> {
  const key = localStorage.getItem(name);
  if (key === null) return false;
  const signed = await signIn(key, true);
  if (signed === 'accepted' || signed === 'wrong') localStorage.removeItem(name);
  return signed === 'accepted';
}

/** Ends the session of this browser, or with `everywhere` all sessions of the person. */
export async function signOut({ everywhere = false } = {}): Promise<void> {
  const response = await fetch(addressOf(`api/extra/session${everywhere ? '?everywhere=1' : ''}`), {
    method: 'DELETE',
  });
  if (!response.ok) throw new TypeError(response.statusText);
  sessionStorage.removeItem(name);
}

async function signIn(key: string, remember: boolean): Promise<SignedIn> {
  try {
    const response = await fetch(addressOf('api/extra/session'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key, remember }),
    });
    if (response.status === 401) return 'wrong';
    if (response.status === 429) return 'too-many';
    const isCookieSent = response.ok && (await isSignedIn());
    if (!response.ok) {
      const checked = await check(key, 'password');
      if (checked !== 'accepted') return checked;
    }
    if (isCookieSent) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, key);
    return 'accepted';
  } catch {
    return 'unreachable';
  }
}

async function check(key: string, kind: KeyKind): Promise<SignedIn> {
  try {
    const response = await fetch(addressOf('api/extra/models'), { headers: { authorization: `Bearer ${key}` } });
    if (response.status === 401) return 'wrong';
    if (kind === 'password') return 'accepted';
    const { admin } = (await response.json()) as { admin?: { allowed?: boolean } };
    return admin?.allowed ? 'accepted' : 'wrong';
  } catch {
    return 'unreachable';
  }
}

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
