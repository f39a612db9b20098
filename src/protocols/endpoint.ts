import { type JsonObject, jsonObject } from '../http/body.ts';
import type { AccessRule, Call, EndpointInfo, Reply } from '../http/call.ts';

/** How the model of a call is found where it is not the text model that the body names. */
export type ModelSelection =
  /** An engine of another kind; a name that no model has means its default model (`tts-1`, `dall-e-3`). */
  | 'any-name'
  /** The same, but an unknown name is refused: vectors of another model would be wrong. */
  | 'own-name';

/** An endpoint of a dialect as lists and documents show it. Its access is set by the table in `server/access.ts`. */
export interface EndpointShape extends Omit<EndpointInfo, 'rateLimited' | keyof AccessRule>, Partial<AccessRule> {
  /** Takes a place in the queue: it counts against `--ratelimit`, and waits while its model is swapped. */
  readonly queued: boolean;
  readonly modelSelection?: ModelSelection;
}

/** Its handler gets the context of the model that the call concerns. */
export interface ModelEndpoint<Context> extends EndpointShape {
  readonly handle: (call: Call, context: Context) => Reply | Promise<Reply>;
}

/** An endpoint whose handler needs no model: it fits into every list. */
export type PlainEndpoint = ModelEndpoint<unknown>;

/** Builds the rows of an endpoint table: `defaults` are shared by them, `own` is what differs in a row. */
export function endpointRow(defaults: Omit<EndpointShape, 'path' | 'summary'>) {
  return <Context>(
    path: string,
    summary: string,
    handle: ModelEndpoint<Context>['handle'],
    own: Partial<EndpointShape> = {},
  ): ModelEndpoint<Context> => ({ ...defaults, path, summary, handle, ...own });
}

/** The body of a call as a JSON object. An empty body is an error, or with `empty` an empty object. */
export function bodyOf({ body, signal }: Call, empty: 'object' | 'refuse' = 'refuse'): Promise<JsonObject> {
  return jsonObject(body, { empty, signal });
}
