import { deviceLink, hostsOf, type LanAnswer } from '../connection/device-link.ts';
import type { ClientUsage, DayUsage, ListedKey } from '../keys/keys.ts';
import { sumByClient } from '../keys/keys.ts';
import { allScopes } from '../keys/scope-texts.ts';

/** A device on which somebody is signed in; times are in ISO format. */
export interface Device {
  readonly id: string;
  /** As it calls itself; may be empty. */
  readonly device: string;
  readonly created: string;
  readonly last_used: string;
  readonly current: boolean;
}

/** `GET /api/extra/session`: who is signed in in this browser. */
export interface OwnSession {
  readonly type: 'key' | 'password' | 'admin' | null;
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly devices: readonly Device[];
}

/** An entry of `GET /api/admin/sessions`. */
export type ListedSession = Device & Pick<OwnSession, 'type' | 'name'>;

/** An entry of `GET /api/admin/invitations`. */
export interface OpenInvitation {
  readonly id: string;
  readonly name: string;
  readonly existing: boolean;
  readonly expires: string;
  readonly created: string;
  readonly minutes_left: number;
  readonly by: string;
}

/** `token` and `path` are shown this once. */
export type IssuedInvitation = OpenInvitation & { readonly token: string; readonly path: string };

export interface Person extends ListedKey {
  /** Of the last thirty days; undefined if nothing was used. */
  readonly usage: ClientUsage | undefined;
  readonly devices: readonly Device[];
}

export interface Overview {
  readonly people: readonly Person[];
  readonly invitations: readonly OpenInvitation[];
}

/** With what each has used and where each is signed in, by name. */
export function peopleOf(
  keys: readonly ListedKey[],
  rows: readonly DayUsage[],
  sessions: readonly ListedSession[],
): readonly Person[] {
  const used = sumByClient(rows.filter(({ type }) => type === 'key'));
  const people = keys.map((key) => ({
    ...key,
    usage: used.find(({ name }) => name === key.name),
    devices: sessions.filter(({ type, name }) => type === 'key' && name === key.name),
  }));
  return people.sort((one, other) => one.name.localeCompare(other.name));
}

/** What somebody may do, and how much. Numbers are null where nothing was entered. */
export interface Rules {
  scopes: readonly string[];
  tokensPerDay: number | null;
  rate: number | null;
  weight: number | null;
  shared: boolean;
}

export const everything: readonly string[] = allScopes.filter((scope) => scope !== 'admin');
export const chatOnly: readonly string[] = ['text', 'chat'];

/** Which of the usual choices these are. */
export function scopeSet(scopes: readonly string[]): 'everything' | 'chat' | 'choice' {
  const isSame = (others: readonly string[]) =>
    scopes.length === others.length && scopes.every((scope) => others.includes(scope));
  return isSame(everything) ? 'everything' : isSame(chatOnly) ? 'chat' : 'choice';
}

/** What somebody may do now, for a form. */
export function rulesOf({ scopes, tokens_per_day: tokensPerDay, rate, weight, shared }: ListedKey): Rules {
  return { scopes, tokensPerDay, rate, weight: weight === 1 ? null : weight, shared };
}

/** A new person. */
export interface InviteForm extends Rules {
  readonly name: string;
  /** How long the key works; 0: for good. */
  readonly days: number;
  /** How long the link works. */
  readonly minutes: number;
}

const dayMs = 24 * 3_600_000;

export function inviteBody({ name, days, minutes, ...rules }: InviteForm, now: number): object {
  return { name: name.trim(), minutes, ...ruleBody(rules, days > 0 ? endAfter(days, now) : null) };
}

/** `expires` is in ISO format; null: never. */
export function ruleBody({ scopes, shared, tokensPerDay, rate, weight }: Rules, expires: string | null): object {
  return {
    scopes,
    shared,
    ...(tokensPerDay !== null && { tokens_per_day: tokensPerDay }),
    ...(rate !== null && { rate }),
    ...(weight !== null && { weight }),
    ...(expires !== null && { key_expires: expires }),
  };
}

export const endAfter = (days: number, now: number): string => new Date(now + days * dayMs).toISOString();

/**
 * Where other devices find the path of an invitation, the best address first. With `--lan` by plain HTTP, from which a device finds to HTTPS once it
 * trusts the certificate.
 */
export function linkAddresses(
  { path, token }: IssuedInvitation,
  page: string,
  lan: LanAnswer | undefined,
): readonly string[] {
  const own = new URL(path.replace(/^\//, ''), new URL('.', page));
  const { port } = lan ?? {};
  if (!lan?.public || port == null) return [own.href];
  const others = hostsOf(lan).map((host) => deviceLink(host, port, token));
  const same = others.filter((address) => new URL(address).hostname === own.hostname);
  return others.length === 0 ? [own.href] : [...same, ...others.filter((address) => !same.includes(address))];
}

/** Whether an address leads other devices to themselves. */
export function isOfThisMachine(address: string): boolean {
  return /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(new URL(address).hostname);
}
