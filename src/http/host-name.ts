import { isIP } from 'node:net';

/**
 * What the Host header or an Origin names, without the port and in small letters; undefined when it is no plain name (a
 * user part, a path, a broken bracket), which is never to be trusted.
 */
export function hostName(authority: string): string | undefined {
  const bracketed = /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i.exec(authority);
  if (bracketed?.[1]) return isIP(bracketed[1]) === 6 ? bracketed[1].toLowerCase() : undefined;
  const name = /^([a-z0-9_.-]+?)\.?(?::\d{1,5})?$/i.exec(authority)?.[1];
  return name?.toLowerCase();
}

/** `localhost` and what lies below it never leave this machine: that top name is reserved for it. */
export function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  if (isIP(name) === 4) return name.startsWith('127.');
  return name === '::1' || name.startsWith('::ffff:127.') || name.startsWith('::ffff:7f');
}

/** A socket that serves both kinds of address shows an IPv4 client in an IPv6 coat. */
export function plainAddress(address: string | undefined): string {
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '';
}
