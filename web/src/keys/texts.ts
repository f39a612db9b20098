import type { ClientUsage, ListedKey } from './keys.ts';

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
  usage: {
    title: 'Usage',
    span: 'Days',
    spans: [
      { value: '1', label: 'Today' },
      { value: '7', label: '7 days' },
      { value: '30', label: '30 days' },
    ],
    read: (tokens: number) => `${amount(tokens)} tokens read`,
    written: (tokens: number) => `${amount(tokens)} written`,
    images: (images: number) => (images === 1 ? '1 image' : `${amount(images)} images`),
    heard: (seconds: number) => `${lengthText(seconds)} heard`,
    made: (seconds: number) => `${lengthText(seconds)} of sound made`,
    none: 'No requests.',
    password: 'Password',
    others: 'Other addresses',
  },
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
    tokens: (perDay: number) => `${count(perDay)} tokens per day`,
    today: (tokens: number) => `${count(tokens)} tokens today`,
    share: (tokens: number, perDay: number) =>
      `${count(tokens)} tokens today (${Math.round((100 * tokens) / perDay)} %)`,
    weight: (weight: number) => `weight ${weight}`,
    shared: 'shared library',
    expires: (day: string) => `until ${day}`,
    requests: (requests: number) => (requests === 1 ? '1 request' : `${count(requests)} requests`),
    refused: (refused: number) => `${count(refused)} over the rate`,
    seen: (ago: string) => `last seen ${ago}`,
    unused: 'Not used since the server was started',
  },
} as const;

/** What the key may do: scopes, rate, weight and expiry. */
export function rulesLine({ scopes, rate, tokens_per_day, weight, shared, expires }: ListedKey): string {
  const { facts } = texts;
  const found = [
    scopes.length === 0 ? facts.noScopes : scopes.join(', '),
    rate === null ? facts.noRate : facts.rate(rate),
    tokens_per_day === null ? undefined : facts.tokens(tokens_per_day),
    facts.weight(weight),
    shared ? facts.shared : undefined,
    expires === null ? undefined : facts.expires(dayOf(expires)),
  ];
  return found.filter((fact) => fact !== undefined).join(' · ');
}

/** Its tokens of today, and how it was used since the server was started. */
export function useLine(key: ListedKey, now: number): string {
  const { requests, refused, last_seen, tokens_today: today, tokens_per_day: perDay } = key;
  const { facts } = texts;
  const tokens = perDay !== null ? [facts.share(today, perDay)] : today > 0 ? [facts.today(today)] : [];
  if (last_seen === null) return [...tokens, facts.unused].join(' · ');
  const over = refused === 0 ? [] : [facts.refused(refused)];
  return [...tokens, facts.requests(requests), ...over, facts.seen(agoText(Date.parse(last_seen), now))].join(' · ');
}

export function clientName({ type, name }: ClientUsage): string {
  return type === 'password' ? texts.usage.password : type === 'others' ? texts.usage.others : name;
}

/** What a client has used; nothing of which it has used none. */
export function usageLine(use: ClientUsage): string {
  const { usage, facts } = texts;
  const found = [
    [use.requests, facts.requests],
    [use.prompt_tokens, usage.read],
    [use.completion_tokens, usage.written],
    [use.images, usage.images],
    [use.audio_seconds_in, usage.heard],
    [use.audio_seconds_out, usage.made],
  ] as const;
  return found.flatMap(([value, text]) => (value > 0 ? [text(value)] : [])).join(' · ');
}

function amount(value: number): string {
  return value < 100_000 ? count(value) : compact.format(value);
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

function lengthText(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  return seconds < 3600 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
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
