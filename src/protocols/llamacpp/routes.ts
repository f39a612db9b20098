import { asAppError } from '../../core/errors.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read, write } from '../access.ts';
import type { ChatReader } from '../dialect.ts';
import type { EmbeddingContext } from '../embedding.ts';
import {
  bodyOf,
  endpointRow,
  type ModelEndpoint,
  type PlainEndpoint,
  type SharedPath,
  withServices,
} from '../endpoint.ts';
import { isAbsent } from '../fields.ts';
import { completionEndpoints } from './completion.ts';
import { embeddingEndpoints } from './embedding.ts';
import { llamacppFamily } from './errors.ts';
import { type ModelMemoryParts, modelMemoryEndpoints } from './models.ts';
import { type StatusParts, type StatusServices, statusEndpoints } from './status.ts';
import { tokenEndpoints } from './tokens.ts';

export interface LlamacppParts extends StatusParts, EmbeddingContext, ModelMemoryParts, Pick<ChatReader, 'readChat'> {}

/** What is the same for all models. */
interface LlamacppServices extends StatusServices, Pick<LlamacppParts, 'memory' | 'readChat'> {}

const row = endpointRow(write('admin'), { method: 'POST', match: 'exact', family: llamacppFamily });
const disabled = (): Reply => json({ error: { message: 'this feature is disabled', type: 'feature_disabled' } }, 403);

/** Endpoints of the llama.cpp server that are refused, in the words that its clients know. */
const refusedEndpoints: readonly PlainEndpoint[] = [
  row(
    '/chat/completions/control',
    'Not there: the thinking of a running reply cannot be ended.',
    () => json({ success: false }),
    { ...write('chat'), match: 'ending' },
  ),
  row('/tools', 'Not there: tools of the server.', disabled, { ...read('tools'), method: 'GET' }),
  row('/cors-proxy', 'Not there: fetching for a page.', disabled, { ...read('tools'), method: 'GET' }),
];

const endpoints: readonly ModelEndpoint<LlamacppParts>[] = [
  ...statusEndpoints,
  ...completionEndpoints,
  ...tokenEndpoints,
  ...embeddingEndpoints,
  ...modelMemoryEndpoints,
  ...refusedEndpoints,
];

export const llamacppEndpoints = (server: LlamacppServices) => withServices(endpoints, server);

/** For a path of two dialects: requests with fields of this one are answered in its form. Unexpected errors are thrown. */
export function answeringBoth<Context>(
  theirs: ModelEndpoint<Context>,
  ours: ModelEndpoint<Context>,
): ModelEndpoint<Context> {
  return {
    ...theirs,
    also: ours,
    summary: `${theirs.summary} With the fields of the llama.cpp server it is another name for ${ours.path}.`,
    handle: async (call, context) => {
      if (!ours.shared || !(await isOurs(call, ours.shared))) return theirs.handle(call, context);
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

async function isOurs(call: Call, { own, foreign }: SharedPath): Promise<boolean> {
  // A long body without any of our names need not be parsed.
  if (!own.some((name) => call.body.includes(`"${name}"`))) return false;
  try {
    const sent = await bodyOf(call);
    const has = (name: string): boolean => !isAbsent(sent[name]);
    return own.some(has) && !foreign.some(has);
  } catch {
    return false;
  }
}
