import { type Call, json } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { type AdminAccess, adminReadRow, allowed } from './access.ts';

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
  return [
    adminReadRow(
      '/api/admin/log',
      'The last lines of the console, without passwords and keys; `?after=NUMBER` for those after a line.',
      async (call: Call) => {
        const after = Number(call.query.get('after') ?? 0);
        const lines = allowed(log, access, call).after(Number.isFinite(after) ? after : 0);
        return json({
          lines: lines.map((line) => ({ ...line, time: new Date(line.time).toISOString(), text: redact(line.text) })),
        });
      },
    ),
  ];
}
