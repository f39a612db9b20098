import type { ListedKey } from './keys.ts';

const count = (value: number): string => value.toLocaleString('en');

/** Every text of the list of keys. */
export const texts = {
  title: 'Keys of this server',
  help: 'People and apps that use this server, each with a key of its own.',
  refresh: 'Refresh',
  loading: 'Loading …',
  failed: (reason: string) => `Cannot list the keys: ${reason}`,
  noFile:
    'The server was started without --keyfile. Make a key on its machine; the command says how to start the server with it.',
  empty: 'There are no keys. Make one on the machine of the server; it works within a second.',
  locked: 'Enter the password to see the keys.',
  enterPassword: 'Enter password',
  adminOff: 'To see the keys here, start the server with --admin.',
  adminLocked: 'The list of keys needs the password of --adminpassword, or a key with the scope admin.',
  enterAdmin: 'Enter admin password',
  expired: 'Expired',
  commands: 'From the command line',
  add: 'Make a key; it is shown once:',
  addLabel: 'Command that makes a key',
  addCommand: 'parley keys add NAME --scopes chat',
  addShort: 'parley keys add NAME',
  revoke: 'Delete one; the server refuses it within a second:',
  revokeLabel: 'Command that deletes a key',
  revokeCommand: 'parley keys revoke NAME',
  facts: {
    noScopes: 'no scopes',
    rate: (perMinute: number) => `${count(perMinute)} per minute`,
    noRate: 'no rate limit',
    weight: (weight: number) => `weight ${weight}`,
    expires: (day: string) => `until ${day}`,
    requests: (requests: number) => (requests === 1 ? '1 request' : `${count(requests)} requests`),
    refused: (refused: number) => `${count(refused)} over the rate`,
    seen: (ago: string) => `last seen ${ago}`,
    unused: 'Not used since the server was started',
  },
} as const;

/** What the key may do: scopes, rate, weight and expiry. */
export function rulesLine({ scopes, rate, weight, expires }: ListedKey): string {
  const { facts } = texts;
  const found = [
    scopes.length === 0 ? facts.noScopes : scopes.join(', '),
    rate === null ? facts.noRate : facts.rate(rate),
    facts.weight(weight),
    expires === null ? undefined : facts.expires(dayOf(expires)),
  ];
  return found.filter((fact) => fact !== undefined).join(' · ');
}

/** How it was used since the server was started. */
export function useLine({ requests, refused, last_seen }: ListedKey, now: number): string {
  const { facts } = texts;
  if (last_seen === null) return facts.unused;
  const over = refused === 0 ? [] : [facts.refused(refused)];
  return [facts.requests(requests), ...over, facts.seen(agoText(Date.parse(last_seen), now))].join(' · ');
}

/** The last day: the moment of expiry is its end. */
function dayOf(expires: string): string {
  return new Date(Date.parse(expires) - 1).toLocaleDateString('en', { dateStyle: 'medium' });
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

function agoText(time: number, now: number): string {
  const seconds = Math.max(0, (now - time) / 1000);
  const [unit, size] = units.find(([, least]) => seconds >= least) ?? ['second', 1];
  if (unit === 'second') return 'just now';
  return new Intl.RelativeTimeFormat('en').format(-Math.floor(seconds / size), unit);
}
