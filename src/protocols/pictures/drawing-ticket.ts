import type { Call } from '../../http/call.ts';
import { type CallTicket, ticketFor } from '../ticket.ts';
import type { DrawingFields } from './fields.ts';

type KeyFields = Pick<DrawingFields, 'genkey' | 'keep_image_gen_on_disconnect' | 'kcpp_extra_args'>;

/** A drawing that goes on when its client is gone (`kept`) can still be stopped by its key. */
export function drawingTicket(call: Call, fields: KeyFields): { readonly ticket: CallTicket; readonly kept: boolean } {
  const kept = fields.keep_image_gen_on_disconnect || fields.kcpp_extra_args.keep_image_gen_on_disconnect;
  const ticket = ticketFor(call, fields.genkey);
  return { kept, ticket: kept ? { ...ticket, signal: new AbortController().signal } : ticket };
}
