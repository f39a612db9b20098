/** How the page was reached, as `location` has it. */
export type PageAddress = Pick<Location, 'protocol' | 'host' | 'pathname' | 'search' | 'hash'>;

/** Whether the browser allows here what it allows over HTTPS only. */
export const isSecure = (): boolean => globalThis.isSecureContext;

/** The same address with HTTPS, on the same port. */
export function secureAddress({ host, pathname, search, hash }: PageAddress): string {
  return `https://${host}${pathname}${search}${hash}`;
}

/** Whether this device trusts the certificate of the server. */
export async function trustsServer({ host }: PageAddress, ask: typeof fetch = fetch): Promise<boolean> {
  try {
    await ask(`https://${host}/api/extra/lan`, {
      mode: 'no-cors',
      cache: 'no-store',
      signal: AbortSignal.timeout(4000),
    });
    return true;
  } catch {
    return false;
  }
}

export type System = 'apple' | 'android' | 'windows' | 'mac' | 'linux';

/** By what the browser says of itself. An iPad calls itself a Mac, but can be touched. */
export function systemOf({ userAgent, maxTouchPoints }: Pick<Navigator, 'userAgent' | 'maxTouchPoints'>): System {
  if (/iPhone|iPad|iPod/.test(userAgent)) return 'apple';
  if (userAgent.includes('Android')) return 'android';
  if (userAgent.includes('Windows')) return 'windows';
  if (userAgent.includes('Macintosh')) return maxTouchPoints > 1 ? 'apple' : 'mac';
  return 'linux';
}
