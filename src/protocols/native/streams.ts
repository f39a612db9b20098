import { AppError } from '../../core/errors.ts';
import { percentDecoded } from '../../core/percent-decoded.ts';
import { type Call, json } from '../../http/call.ts';
import type { ResumableStreams } from '../../http/resumable-streams.ts';
import { read, write } from '../access.ts';
import { endpointRow, type PlainEndpoint } from '../endpoint.ts';
import { described, honoured, readFields } from '../fields.ts';
import { nativeDialect } from './errors.ts';

export interface StreamContext {
  readonly streams: ResumableStreams;
}

const path = '/api/extra/stream/';
/** Checked by owner instead of scope: the client that started a stream may resume it. */
const row = endpointRow(read(), { method: 'GET', match: 'prefix', dialect: nativeDialect });

/** Take up or stop a stream that was requested with `x-parley-resumable`. */
export function streamEndpoints({ streams }: StreamContext): readonly PlainEndpoint[] {
  return [
    row(
      path,
      'Take up a stream that was requested with x-parley-resumable, by its request id: the events after Last-Event-ID or ?after=N.',
      (call) => streams.takeUp(idOf(call), positionOf(call), call),
      { below: { '{id}': { fields: streamFields, response: 'resumedStream' } } },
    ),
    row(
      path,
      'Stop the generation of such a stream.',
      (call) => {
        streams.cancel(idOf(call), call);
        return json({ success: true });
      },
      { ...write(), method: 'DELETE', below: { '{id}': { response: 'success' } } },
    ),
  ];
}

function idOf(call: Call): string {
  return percentDecoded(call.path.slice(path.length));
}

/** From the query, in which everything is text. */
const streamFields = {
  after: honoured(
    described({ type: 'integer', minimum: 0, default: 0 }, eventNumber),
    'Number of the last event that has arrived; the header Last-Event-ID comes first.',
  ),
  follow: honoured(
    described({ type: 'boolean', default: true }, (value) => value !== '0' && value !== 'false'),
    'false or 0: only the events that are there, or status 204 if there are none.',
  ),
};

/** An `EventSource` repeats the address that it was given, and sends the header when it connects again. */
function positionOf({ headers, query }: Call): { readonly after: number; readonly follow: boolean } {
  const fields = readFields(streamFields, Object.fromEntries(query));
  const header = headers['last-event-id'];
  return header ? { ...fields, after: eventNumber(header, 'Last-Event-ID') } : fields;
}

function eventNumber(value: unknown, field: string): number {
  const text = value === undefined ? '' : String(value);
  if (!/^\d{0,15}$/.test(text)) throw new AppError('invalid-field', { field, expected: 'a number from 0' });
  return Number(text);
}
