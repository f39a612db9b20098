import { type JsonObject, jsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { refusal } from './errors.ts';

/** Old clients call the model by another field. */
export function namedModel({ model, name }: NamedModel): string {
  return model ?? name ?? '';
}

interface NamedModel {
  readonly model: string | undefined;
  readonly name?: string | undefined;
}

export const modelRequired: Reply = refusal(400, 'model is required');
const bodyMissing: Reply = refusal(400, 'missing request body');

/** Every endpoint with a body begins in the same way. */
export function withBody<Context>(
  answer: (body: JsonObject, call: Call, context: Context) => Reply | Promise<Reply>,
): (call: Call, context: Context) => Promise<Reply> {
  return async (call, context) => {
    if (call.body.length === 0) return bodyMissing;
    return answer(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }), call, context);
  };
}
