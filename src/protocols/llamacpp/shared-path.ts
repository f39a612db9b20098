import { asAppError } from '../../core/errors.ts';
import { jsonObject } from '../../http/body.ts';
import type { Call } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { isAbsent } from '../fields/readers.ts';

/** Fields that only clients of this dialect send, and those that only the others do. */
interface Words {
  readonly own: readonly string[];
  readonly foreign: readonly string[];
}

const words: Readonly<Record<string, Words>> = {
  '/completion': {
    own: ['n_predict', 'cache_prompt', 'id_slot', 'n_probs', 'return_tokens'],
    foreign: ['model', 'max_tokens'],
  },
  '/embedding': { own: ['content'], foreign: ['input', 'encoding_format'] },
};

/**
 * Two dialects call one path: whoever asks in the words of this one is answered in its form, and everybody else as before.
 * Failures keep the form, but for those that nobody foresaw, which have to be told to whoever runs the server.
 */
export function answeringBoth<Context>(
  others: ModelEndpoint<Context>,
  ours: ModelEndpoint<Context>,
): ModelEndpoint<Context> {
  return {
    ...others,
    summary: `${others.summary} With the fields of the llama.cpp server it is another name for ${ours.path}.`,
    handle: async (call, context) => {
      if (!(await speaksOurs(call, words[ours.path]))) return others.handle(call, context);
      try {
        return await ours.handle(call, context);
      } catch (thrown) {
        const error = asAppError(thrown);
        if (error.code === 'internal') throw thrown;
        return ours.family.errorReply(error);
      }
    },
  };
}

async function speaksOurs(
  { body, signal }: Call,
  { own, foreign }: Words = { own: [], foreign: [] },
): Promise<boolean> {
  // A long body need not be read twice to know that it has none of our words.
  if (!own.some((name) => body.includes(`"${name}"`))) return false;
  try {
    const object = await jsonObject(body, { empty: 'refuse', signal });
    const has = (name: string): boolean => !isAbsent(object[name]);
    return own.some(has) && !foreign.some(has);
  } catch {
    return false;
  }
}
