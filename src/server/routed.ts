import { atEnd } from '../core/steps.ts';
import type { Endpoint } from '../http/call.ts';
import type { ModelRouter } from '../models/router.ts';
import { type ModelEndpoint, modelInBody } from '../protocols/endpoint.ts';

export interface ModelResolver<Context> {
  /** Whether names select models. If not, no body is read for one. */
  readonly byName: boolean;
  readonly resolve: ModelRouter<Context>['resolve'];
}

/**
 * The endpoints as HTTP calls them: each call selects its model, and uses it until its answer is sent.
 * A stream of one that is not queued follows other work, which uses its own model: holding this one would block a swap that
 * the other work may be waiting for.
 */
export function routed<Context>(
  endpoints: readonly ModelEndpoint<Context>[],
  { byName, resolve }: ModelResolver<Context>,
  /** For those who follow the call. */
  modelName: (context: Context) => string = () => '',
): Endpoint[] {
  return endpoints.map(({ handle, queued, modelSelection, modelNamed = modelInBody, ...info }) => ({
    ...info,
    rateLimited: queued,
    handle: async (call) => {
      for (let repeated = false; ; repeated = true) {
        const name = byName ? await modelNamed(call) : undefined;
        // A repeated request waits for the model, as a queued one does.
        const selection = { queued: queued || repeated, modelSelection };
        const { context, release, abandoned } = await resolve(name, selection, call.signal);
        call.watch?.modelSelected?.(modelName(context));
        // Nothing has been sent yet, so the request can be repeated with another model.
        const repeats = () => !call.signal.aborted && (abandoned?.() ?? false);
        try {
          const reply = await handle(call, context);
          if ('stream' in reply && queued) return { ...reply, stream: atEnd(reply.stream, release) };
          release();
          if (reply.status < 400 || !repeats()) return reply;
        } catch (error) {
          release();
          if (!repeats()) throw error;
        }
      }
    },
  }));
}
