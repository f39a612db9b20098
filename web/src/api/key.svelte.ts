import { addressOf } from './address.ts';

/** The password or the admin password: kept for this tab, and in the browser if the person wants it. */
const name = 'parley.key';

/** `admin`: the password of `--adminpassword`, which the server also accepts as that of `--password`. */
export type KeyKind = 'password' | 'admin';

export const keyDialog = $state<{ open: boolean; kind: KeyKind }>({ open: false, kind: 'password' });
let answer: ((given: boolean) => void) | undefined;
let asking: Promise<boolean> | undefined;

export function currentKey(): string | undefined {
  return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
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

/** Only a key that the server accepts is kept. */
export async function submitKey(key: string, remember: boolean): Promise<'accepted' | 'wrong' | 'unreachable'> {
  const checked = await check(key, keyDialog.kind);
  if (checked !== 'accepted') return checked;
  sessionStorage.setItem(name, key);
  if (remember) localStorage.setItem(name, key);
  else localStorage.removeItem(name);
  answer?.(true);
  // Those who wait for the key go on first.
  await asking;
  return 'accepted';
}

export function cancelKey(): void {
  answer?.(false);
}

async function check(key: string, kind: KeyKind): Promise<'accepted' | 'wrong' | 'unreachable'> {
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
