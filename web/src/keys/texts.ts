import { ago, compact, number, plural, translatable } from '../languages/index.ts';
import type { ClientUsage, ListedKey } from './keys.ts';

/** What keys may do and have used. */
export const texts = translatable('keys', {
  usage: {
    title: 'Usage',
    span: 'Days',
    /** By the number of days. */
    spans: { 1: 'Today', 7: '7 days', 30: '30 days' },
    read: (tokens: string) => `${tokens} tokens read`,
    written: (tokens: string) => `${tokens} written`,
    images: (images: number) => plural(images, { one: '# image', other: '# images' }),
    heard: (duration: string) => `${duration} heard`,
    made: (duration: string) => `${duration} of sound made`,
    seconds: (seconds: number) => `${number(seconds)} s`,
    minutes: (minutes: number) => `${number(minutes)} min`,
    hours: (hours: number) => `${number(hours, { maximumFractionDigits: 1 })} h`,
    none: 'No requests.',
    password: 'Password',
    others: 'Other addresses',
  },
  facts: {
    rate: (perMinute: number) => `${number(perMinute)} per minute`,
    tokens: (perDay: number) => `${number(perDay)} tokens per day`,
    today: (tokens: number) => `${number(tokens)} tokens today`,
    share: (tokens: number, perDay: number) =>
      `${number(tokens)} tokens today (${Math.round((100 * tokens) / perDay)} %)`,
    requests: (requests: number) => plural(requests, { one: '# request', other: '# requests' }),
    refused: (refused: number) => `${number(refused)} over the rate`,
    seen: (ago: string) => `last seen ${ago}`,
    unused: 'Not used since the server was started',
    now: 'just now',
  },
});

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
    use.requests > 0 && facts.requests(use.requests),
    use.prompt_tokens > 0 && usage.read(amount(use.prompt_tokens)),
    use.completion_tokens > 0 && usage.written(amount(use.completion_tokens)),
    use.images > 0 && usage.images(use.images),
    use.audio_seconds_in > 0 && usage.heard(lengthText(use.audio_seconds_in)),
    use.audio_seconds_out > 0 && usage.made(lengthText(use.audio_seconds_out)),
  ];
  return found.filter((fact) => fact !== false).join(' · ');
}

const amount = (value: number): string => (value < 100_000 ? number(value) : compact(value));

function lengthText(seconds: number): string {
  const { usage } = texts;
  if (seconds < 60) return usage.seconds(Math.ceil(seconds));
  return seconds < 3600 ? usage.minutes(Math.round(seconds / 60)) : usage.hours(seconds / 3600);
}

function agoText(time: number, now: number): string {
  const seconds = (now - time) / 1000;
  return seconds < 60 ? texts.facts.now : ago(seconds);
}
