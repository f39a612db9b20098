import type { PlainEndpoint } from '../endpoint.ts';
import { type AdminAccess, administered, moment } from './access.ts';

/** A line of the console. */
interface LogLine {
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: string;
  readonly text: string;
}

interface LogServices {
  readonly access: AdminAccess;
  /** Missing where there is no console. */
  readonly log: { after(number: number): readonly LogLine[] } | undefined;
  /** Takes passwords and keys out of a line. */
  readonly redact: (text: string) => string;
}

export function logEndpoints({ access, log, redact }: LogServices): PlainEndpoint[] {
  const { show } = administered(access, log && (() => log));
  return [
    show(
      '/api/admin/log',
      'The last lines of the console, without passwords and keys; `?after=NUMBER` for those after a line.',
      'log',
      (lines, { query }) => {
        const after = Number(query.get('after') ?? 0);
        const recent = lines.after(Number.isFinite(after) ? after : 0);
        return { lines: recent.map((one) => ({ ...one, time: moment(one.time), text: redact(one.text) })) };
      },
    ),
  ];
}
