import type { ChatRequest } from '../../../chat/request.ts';
import type { GenerationControls } from '../../../core/request.ts';
import { inSlices } from '../../../core/slices.ts';
import type { JsonObject } from '../../../http/body.ts';
import { chatParts, type DialectParts } from '../../dialect.ts';
import { wrong } from '../../fields/readers.ts';
import { readFields } from '../../fields/table.ts';
import { Attachments, withMedia } from '../../media.ts';
import { decodeOwnControls } from '../controls.ts';
import { unsupportedField } from '../errors.ts';
import { decodePromptLogprobs } from '../prompt-logprobs.ts';
import { type ChatFields, chatFields } from './fields.ts';
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
  readonly genkey: string;
  readonly kept: boolean;
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
  const fields = readFields(chatFields, body);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const messages = await inSlices(decodeMessages(fields.messages, attachments), { signal });
  const use = decodeToolUse(fields);
  const reasoning = decodeReasoning(fields);
  const output = decodeOutput(fields, parts.controlParts().schemaToGrammar);
  const controls = await decodeOwnControls(fields, body, parts);
  const request: ChatRequest = {
    conversation: { messages, media: [], tools: use.tools },
    continueAssistantTurn: continuesTurn(fields),
    toolChoice: use.choice,
    parallelToolCalls: use.parallel,
    output,
    reasoning: { effort: reasoning.effort, separate: reasoning.separate },
    templateVariables: fields.chat_template_kwargs ?? {},
    memory: fields.memory,
    controls: {
      ...controls,
      ...scored(fields, use.tools.length),
      logprobs: alternatives(fields),
      reasoning: reasoning.budget,
    },
  };
  return {
    request: await withMedia(request, attachments, { ...parts, signal }),
    replies: fields.n,
    stream: fields.stream,
    includeUsage: fields.stream_options.include_usage,
    timingsPerToken: fields.timings_per_token ?? false,
    genkey: fields.genkey,
    kept: fields.kcpp_extra_args,
    legacyCalls: use.legacy,
    offersTools: use.tools.length > 0 && use.choice.type !== 'none',
    serviceTier: fields.service_tier,
    ignored: [...use.skipped, ...(hasSpeakerNames(fields.messages) ? ['messages[].name'] : [])],
  };
}

/** Where tools are offered the prompt may be a question about them, which nobody asked to see. */
function scored(fields: ChatFields, tools: number): Pick<GenerationControls, 'promptLogprobs'> {
  const promptLogprobs = decodePromptLogprobs(fields);
  if (promptLogprobs === undefined) return {};
  if (tools > 0) throw unsupportedField('prompt_logprobs', 'it does not go with tools');
  return { promptLogprobs };
}

function alternatives({ logprobs: wanted, top_logprobs: count }: ChatFields): number | undefined {
  if (count !== undefined && count < 0) throw wrong('top_logprobs', 'a whole number from 0 to 20');
  if (count && !wanted) throw wrong('logprobs', 'true where top_logprobs is sent');
  return wanted ? Math.min(count ?? 0, mostAlternatives) : undefined;
}

/** Four names for one switch, from as many families of clients; the page of llama.cpp relies on it being on. */
function continuesTurn(fields: ChatFields): boolean {
  const { continue_final_message: continued, add_generation_prompt: fresh } = fields;
  if (continued && fresh) throw wrong('continue_final_message', 'false where add_generation_prompt is true');
  return continued ?? (fresh ? false : fields.timings_per_token !== undefined || fields.continue_assistant_turn);
}
