import type { ChatRequest } from '../../../chat/request.ts';
import type { GenerationControls } from '../../../core/request.ts';
import { inSlices } from '../../../core/slices.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent, readText } from '../../controls/fields.ts';
import { chatParts, type DialectParts } from '../../dialect.ts';
import { Attachments, withMedia } from '../../media.ts';
import { decodeCount, decodeOwnControls } from '../controls.ts';
import { unsupportedField } from '../errors.ts';
import { optionalFlag, optionalInteger, optionalList, optionalObject, wrong } from '../fields.ts';
import { decodePromptLogprobs } from '../prompt-logprobs.ts';
import { decodeMessages, hasSpeakerNames } from './messages.ts';
import { decodeOutput } from './output.ts';
import { decodeReasoning } from './reasoning.ts';
import { decodeToolUse } from './tools.ts';

/** What a client asks for: the neutral request, and how it wants to be told. */
export interface ChatQuestion {
  readonly request: ChatRequest;
  readonly replies: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly timingsPerToken: boolean;
  readonly legacyCalls: boolean;
  /** Calls come late and all at once for some models, so that the wait for them is a long one. */
  readonly offersTools: boolean;
  readonly serviceTier: boolean;
  /** Parts of the request, inside its fields, that have no effect. */
  readonly ignored: readonly string[];
}

const mostAlternatives = 20;

/** For bodies that nobody waits for with a connection of their own. */
const unhurried = new AbortController().signal;

export async function decodeChat(body: JsonObject, own: DialectParts, signal = unhurried): Promise<ChatQuestion> {
  const parts = chatParts(own, body);
  refuseAudioReply(body);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const messages = await inSlices(decodeMessages(body.messages, attachments), { signal });
  const use = decodeToolUse(body);
  const reasoning = decodeReasoning(body);
  const output = decodeOutput(body, parts.controlParts().schemaToGrammar);
  const streamOptions = optionalObject(body, 'stream_options') ?? {};
  const controls = await decodeOwnControls(body, parts);
  const request: ChatRequest = {
    conversation: { messages, media: [], tools: use.tools },
    continueAssistantTurn: continuesTurn(body),
    toolChoice: use.choice,
    parallelToolCalls: use.parallel,
    output,
    reasoning: { effort: reasoning.effort, separate: reasoning.separate },
    templateVariables: optionalObject(body, 'chat_template_kwargs') ?? {},
    memory: readText(body, 'memory'),
    controls: {
      ...controls,
      ...scored(body, use.tools.length),
      logprobs: alternatives(body),
      reasoning: reasoning.budget,
    },
  };
  return {
    request: await withMedia(request, attachments, { ...parts, signal }),
    replies: decodeCount(body, 'n'),
    stream: optionalFlag(body, 'stream') ?? false,
    includeUsage: optionalFlag(streamOptions, 'include_usage') ?? false,
    timingsPerToken: optionalFlag(body, 'timings_per_token') ?? false,
    legacyCalls: use.legacy,
    offersTools: use.tools.length > 0 && use.choice.type !== 'none',
    serviceTier: !isAbsent(body.service_tier),
    ignored: [...use.skipped, ...(hasSpeakerNames(body.messages) ? ['messages[].name'] : [])],
  };
}

/** Where tools are offered the prompt may be a question about them, which nobody asked to see. */
function scored(body: JsonObject, tools: number): Pick<GenerationControls, 'promptLogprobs'> {
  const promptLogprobs = decodePromptLogprobs(body, optionalFlag(body, 'stream') ?? false);
  if (promptLogprobs === undefined) return {};
  if (tools > 0) throw unsupportedField('prompt_logprobs', 'it does not go with tools');
  return { promptLogprobs };
}

function alternatives(body: JsonObject): number | undefined {
  const wanted = optionalFlag(body, 'logprobs') ?? false;
  const count = optionalInteger(body, 'top_logprobs');
  if (count !== undefined && count < 0) throw wrong('top_logprobs', 'a whole number from 0 to 20');
  if (count && !wanted) throw wrong('logprobs', 'true where top_logprobs is sent');
  return wanted ? Math.min(count ?? 0, mostAlternatives) : undefined;
}

/** Four names for one switch, from as many families of clients; the page of llama.cpp relies on it being on. */
function continuesTurn(body: JsonObject): boolean {
  const continued = optionalFlag(body, 'continue_final_message');
  const fresh = optionalFlag(body, 'add_generation_prompt');
  if (continued && fresh) throw wrong('continue_final_message', 'false where add_generation_prompt is true');
  const native = optionalFlag(body, 'continue_assistant_turn') ?? true;
  return continued ?? (fresh ? false : !isAbsent(body.timings_per_token) || native);
}

function refuseAudioReply(body: JsonObject): void {
  if (optionalList(body, 'modalities')?.includes('audio')) {
    throw unsupportedField('modalities', 'replies of this model are text', 'unsupported_value');
  }
}
