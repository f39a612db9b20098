/** The key of a protected server: kept for this tab, and for longer only if somebody says so. */
const name = 'parley.key';

export const keyDialog = $state<{ open: boolean }>({ open: false });
let answer: ((given: boolean) => void) | undefined;
let asking: Promise<boolean> | undefined;

export function currentKey(): string | undefined {
  return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
}

/** Opens the dialog once for all calls that wait; false when somebody closes it. */
export function requestKey(): Promise<boolean> {
  asking ??= new Promise<boolean>((resolve) => {
    answer = resolve;
    keyDialog.open = true;
  }).finally(() => {
    asking = undefined;
    keyDialog.open = false;
  });
  return asking;
}

export function submitKey(key: string, remember: boolean): void {
  sessionStorage.setItem(name, key);
  if (remember) localStorage.setItem(name, key);
  answer?.(true);
}

export function cancelKey(): void {
  answer?.(false);
}
