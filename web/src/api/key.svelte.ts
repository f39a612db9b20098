/** The API key: kept for this tab, and in the browser if the person wants it. */
const name = 'parley.key';

export const keyDialog = $state<{ open: boolean }>({ open: false });
let answer: ((given: boolean) => void) | undefined;
let asking: Promise<boolean> | undefined;

export function currentKey(): string | undefined {
  return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
}

/** Opens one dialog for all waiting calls; false if it is cancelled. */
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
