import { fitsPattern, type SentFields } from '../../core/sent-fields.ts';

/** Never passed on: another value would change the model, or the form of the response. */
const never: ReadonlySet<string> = new Set(['model', 'stream', 'stream_options', 'genkey', 'keepalive', '__proto__']);

/** The fields that a client has sent and that are passed on to this backend as they are (`pass`). What the adapter sends itself wins. */
export function passedFields(
  body: object,
  sent: SentFields | undefined,
  patterns: readonly string[] | undefined,
): Readonly<Record<string, unknown>> {
  if (!sent || !patterns?.length) return {};
  const fits = ([name, value]: readonly [string, unknown]): boolean =>
    value !== undefined && !never.has(name) && !Object.hasOwn(body, name) && fitsPattern(name, patterns);
  const passed = Object.entries(sent.fields).filter(fits);
  sent.passed(passed.map(([name]) => name));
  return Object.fromEntries(passed);
}

export function withPassed<Body extends object>(
  body: Body,
  sent: SentFields | undefined,
  patterns: readonly string[] | undefined,
): Body {
  return { ...passedFields(body, sent, patterns), ...body };
}
