import { createHash } from 'node:crypto';
import { readOn } from '../core/channel.ts';
import type { QueueStatus, Ticket } from '../core/request.ts';
import type { Call } from '../http/call.ts';
import { credentials } from '../http/guard.ts';
import { looseFlag } from './fields/loose.ts';
import { described, objectOf, orElse } from './fields/readers.ts';
import { honoured } from './fields/table.ts';

/** The ticket of one call, which also tells what it waits for once it has a place in the queue. */
export interface CallTicket extends Ticket {
  readonly placed: NonNullable<Ticket['placed']>;
  /** Undefined unless it waits. */
  standing(): QueueStatus | undefined;
}

/** Where a text that is to go on without its client says so, beside the same wish for pictures. */
const readKept = objectOf({ keep_text_gen_on_disconnect: orElse(looseFlag, false) });
export const keptText = honoured(
  described(readKept.schema ?? {}, (value, path) => readKept(value ?? {}, path).keep_text_gen_on_disconnect),
  'keep_text_gen_on_disconnect: with a genkey the reply goes on when the client is gone; /api/extra/generate/check has it then.',
);

/** Who asks for a text, and what is to become of it when they are gone. */
export interface TextAsker {
  readonly genkey: string;
  readonly kept: boolean;
}

/** Without a key nobody could ask for it again or stop it: such a text ends with its client. */
export function textTicket(call: Call, { genkey, kept }: TextAsker): CallTicket & { readonly kept: boolean } {
  const ticket = ticketFor(call, genkey);
  if (!kept || genkey === '') return { ...ticket, kept: false };
  return { ...ticket, kept: true, signal: new AbortController().signal };
}

/** The events as a ticket wants them: to the end, or for as long as somebody reads. */
export function eventsFor<Event>(
  ticket: { readonly kept: boolean },
  events: AsyncIterable<Event>,
): AsyncIterable<Event> {
  return ticket.kept ? readOn(events) : events;
}

export function ticketFor(call: Call, genkey: string): CallTicket {
  let standing: () => QueueStatus | undefined = () => undefined;
  return {
    genkey,
    client: clientName(call),
    part: partName(call, genkey),
    signal: call.signal,
    placed: (own) => {
      standing = own;
    },
    standing: () => standing(),
  };
}

/**
 * Whose turns the request takes. The address is all that a client cannot choose anew for each request: a key that no password asks
 * for, and a genkey, it can; and where there is a password, everybody has the same.
 */
export function clientName({ remoteAddress }: Pick<Call, 'remoteAddress'>): string {
  return `address ${remoteAddress}`;
}

/** Who of an address it is: people behind one proxy take turns by their keys. The key itself is nobody's business further on. */
function partName({ headers }: Pick<Call, 'headers'>, genkey: string): string {
  const key = credentials(headers) ?? '';
  return key === '' ? genkey : `${createHash('sha256').update(key).digest('base64url').slice(0, 16)} ${genkey}`;
}
