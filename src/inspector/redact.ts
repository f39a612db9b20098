import { tryParseJson } from '../core/json.ts';
import type { ObservedRequest } from '../core/request-observer.ts';

/** What is shown in the place of a secret. */
export const redacted = '[redacted]';

type Headers = ObservedRequest['headers'];

/** Credentials, and every header whose name sounds like one. Their names are shown, their values are not. */
const secretHeaders = /^(proxy-.*|cookie2?|set-cookie2?)$|auth|key|token|secret|password|credential|session|signature/;

/** Names that match and carry no secret. */
const harmless: ReadonlySet<string> = new Set(['idempotency-key', 'sec-websocket-key', 'x-parley-dropped-tokens']);

/** In addresses: a user with a password, and parameters that sound like one. All lengths have a limit: the time must be linear. */
const userInUrl = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#"'<>\\]{1,500}@/gi;
const keyInUrl =
  /([?&;][\w.-]{0,40}(?:key|token|password|secret|signature|credential|auth)[\w.-]{0,40}=)[^&#\s"'<>\\]+/gi;

function withoutUrlSecrets(text: string): string {
  if (!text.includes('://')) return text;
  return text.replace(userInUrl, `$1${redacted}@`).replace(keyInUrl, `$1${redacted}`);
}

export function redactedHeaders(headers: Headers): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    const text = typeof value === 'string' ? value : value.join(', ');
    const lower = name.toLowerCase();
    const secret = secretHeaders.test(lower) && !harmless.has(lower) && !lower.startsWith('access-control-');
    result[name] = secret ? redacted : withoutUrlSecrets(text);
  }
  return result;
}

/** The secrets of a request: what its headers that hold credentials have, with and without the name of the scheme. */
export function sentSecrets(headers: Headers): readonly string[] {
  const secrets = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (value === undefined || harmless.has(lower) || !secretHeaders.test(lower)) continue;
    for (const text of typeof value === 'string' ? [value] : value) {
      secrets.add(text.trim());
      const [scheme, rest] = [/^\S+\s+/.exec(text)?.[0] ?? '', text.replace(/^\S+\s+/, '').trim()];
      if (scheme === '') continue;
      secrets.add(rest);
      if (/^basic\s/i.test(scheme))
        secrets.add(
          Buffer.from(rest, 'base64')
            .toString('utf8')
            .replace(/^[^:]*:/, ''),
        );
    }
  }
  return [...secrets].filter((secret) => secret.length >= minSentLength);
}

/** In a body: what a client sends for the servers that it names. */
const keyInBody =
  /"(?:(?:proxy-)?authorization(?:_token)?|[\w-]{0,40}api-?key|x-[\w-]{0,40}(?:key|token|secret))"\s{0,100}:\s{0,100}"((?:[^"\\]|\\.)+)/gi;

export function bodySecrets(body: string): readonly string[] {
  const values = [...body.matchAll(keyInBody)].map(([, value = '']) => String(tryParseJson(`"${value}"`) ?? value));
  return sentSecrets({ authorization: values });
}

/** Shorter values of such headers are words like `none`, which would be struck from every text. */
const minSentLength = 6;
/** Shorter secrets are names of fields too often: only texts lose them. */
const minLengthInNames = 8;

/** Fields with names that clients choose: variables of templates, properties of schemas. All other names are our own. */
const withForeignNames: ReadonlySet<string> = new Set(['neutral', 'settings']);

/**
 * Takes known secrets and those of addresses out of the texts of a value, and long ones out of names that clients choose. Secrets are
 * those of the settings and of the request that is shown: what one client sends must not change what is shown of another.
 */
export function redactor(secrets: readonly string[]): (value: unknown) => unknown {
  // The longest first: one may be a part of another.
  const known = [...new Set(secrets)].filter((secret) => secret !== '').sort((one, other) => other.length - one.length);
  // Bodies and replies are JSON text, in which some characters are escaped.
  const spelled = [...new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  const inNames = spelled.filter(({ length }) => length >= minLengthInNames);
  const strike = (text: string, list: readonly string[]): string =>
    list.reduce((left, secret) => (left.includes(secret) ? left.replaceAll(secret, redacted) : left), text);
  const clean = (value: unknown, foreign: boolean): unknown => {
    if (typeof value === 'string') return withoutUrlSecrets(strike(value, spelled));
    if (Array.isArray(value)) return value.map((entry) => clean(entry, foreign));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([name, entry]) => [
      foreign ? strike(name, inNames) : name,
      clean(entry, foreign || withForeignNames.has(name)),
    ]);
    return Object.fromEntries(entries);
  };
  return (value) => clean(value, false);
}
