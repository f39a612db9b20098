import { text } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationControls, GenerationRequest } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { FillMarks } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { readControls } from '../controls/decode.ts';
import { isAbsent, isObject, readFlag, readText } from '../controls/fields.ts';
import { chatParts, type DialectParts, dialectControls } from '../dialect.ts';
import { gapPrompt } from '../fill-marks.ts';
import { Attachments } from '../media.ts';
import { schemaOutput } from '../output-schema.ts';
import { renderGoTemplate, usesSuffix } from './go-template.ts';
import { decodeImages, decodeMessages } from './messages.ts';
import { optionControls, readOptions } from './options.ts';
import { decodeThink, type Thinking } from './think.ts';
import { decodeTools } from './tools.ts';

/** A request in two views: its own fields, and every control, with those of `options` over those beside it. */
export interface Fields {
  readonly body: JsonObject;
  readonly settings: JsonObject;
}

/** The server's defaults count for the options too, so they come after the options are laid flat. */
export function fieldsOf(sent: JsonObject, parts: Pick<DialectParts, 'applyDefaults'>): Fields {
  const options = readOptions(sent);
  return { body: parts.applyDefaults(sent), settings: parts.applyDefaults({ ...sent, ...options }) };
}

export function* decodeChat({ body, settings }: Fields, own: DialectParts): Sliced<ChatRequest> {
  const parts = chatParts(own, settings);
  const { controls, thinking } = decodeShared({ body, settings }, parts);
  const attachments = newAttachments(parts);
  const messages = yield* decodeMessages(body.messages, attachments);
  const media = attachments.inline();
  return chatRequest(body, controls, thinking, { messages, media, tools: decodeTools(body.tools) }, parts);
}

/** Everything comes along in base64 here; an address is none. */
function newAttachments(parts: DialectParts): Attachments {
  return new Attachments(parts.text.state(), { addresses: false });
}

/** A text to be continued as it is, or an instruction that becomes a chat of one turn. */
export type Completion =
  | { readonly type: 'chat'; readonly request: ChatRequest }
  | { readonly type: 'plain'; readonly request: GenerationRequest; readonly returnsContext: boolean };

/** Whether the gap before `suffix` is to be marked as the model knows it, because no template of the client does that. */
export function hasGap(body: JsonObject): boolean {
  return readText(body, 'suffix') !== '' && readText(body, 'template') === '' && !readFlag(body, 'raw', false);
}

/** `earlier` is the text of the `context` that the request carries; `marks` are there where it has a gap. */
export function decodeCompletion(
  { body, settings }: Fields,
  own: DialectParts,
  { earlier, marks }: { readonly earlier: string; readonly marks?: FillMarks | undefined },
): Completion {
  const parts = readFlag(body, 'raw', false) ? own : chatParts(own, settings);
  const attachments = newAttachments(parts);
  const images = decodeImages(body.images, 'images', attachments);
  const media = attachments.inline();
  const prompt = readText(body, 'prompt');
  const system = readText(body, 'system');
  const suffix = readText(body, 'suffix');
  const template = readText(body, 'template');
  const raw = readFlag(body, 'raw', false);
  if (raw && (system !== '' || template !== '' || earlier !== '')) {
    throw new AppError('unsupported', {
      feature: 'raw with template, system or context',
      instead: 'a raw prompt already holds all of them',
    });
  }
  if (suffix !== '' && !marks && (raw || !usesSuffix(template))) {
    throw new AppError('unsupported', {
      feature: 'suffix',
      instead: 'leave out raw, or send a template with .Suffix along',
    });
  }
  const { controls, thinking } = decodeShared({ body, settings }, parts);
  if (raw || template !== '' || marks) {
    const values = { System: system, Prompt: prompt, Suffix: suffix };
    const rendered = marks ? gapPrompt(marks, prompt, suffix) : raw ? prompt : renderGoTemplate(template, values);
    const grammar = plainGrammar(decodeFormat(body, parts), parts) ?? controls.grammar;
    // Without a place in the text the media stand in front of it.
    const own = { grammar, media, reasoning: thinking.budget };
    const request = { ...controls, ...own, prompt: earlier + rendered, memory: '' };
    return { type: 'plain', request, returnsContext: !raw };
  }
  const messages = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: text(system) }]),
    { role: 'user' as const, content: [...images, ...text(prompt)] },
  ];
  const request = chatRequest(body, controls, thinking, { messages, media, tools: [] }, parts);
  return { type: 'chat', request: { ...request, memory: earlier } };
}

/** The token numbers of an earlier reply. */
export function decodeContext({ context }: JsonObject): readonly number[] {
  if (isAbsent(context)) return [];
  if (!Array.isArray(context) || !context.every((token) => Number.isInteger(token) && token >= 0)) {
    throw new AppError('invalid-field', { field: 'context', expected: 'an array of token numbers' });
  }
  return context;
}

function chatRequest(
  body: JsonObject,
  controls: GenerationControls,
  thinking: Thinking,
  conversation: ChatRequest['conversation'],
  parts: DialectParts,
): ChatRequest {
  const output = decodeFormat(body, parts);
  return {
    conversation,
    continueAssistantTurn: true,
    toolChoice: { type: 'auto' },
    parallelToolCalls: true,
    output,
    reasoning: { effort: thinking.effort, separate: true },
    templateVariables: thinking.variables,
    memory: '',
    controls: {
      ...controls,
      grammar: output.type === 'text' ? controls.grammar : undefined,
      reasoning: thinking.budget,
    },
  };
}

function decodeShared(
  { body, settings }: Fields,
  parts: DialectParts,
): { readonly controls: GenerationControls; readonly thinking: Thinking } {
  const base = dialectControls(readControls(settings), parts);
  const controls: GenerationControls = {
    ...optionControls(settings, base, parts.controlParts()),
    overflow: decodeOverflow(body, base.overflow),
    logprobs: decodeLogprobs(body),
  };
  return { controls, thinking: decodeThink(body, settings, base.reasoning) };
}

function decodeOverflow(body: JsonObject, fallback: GenerationControls['overflow']): GenerationControls['overflow'] {
  if (isAbsent(body.truncate)) return fallback;
  return readFlag(body, 'truncate', true) ? 'trim' : 'refuse';
}

const mostAlternatives = 20;

function decodeLogprobs(body: JsonObject): number | undefined {
  const { top_logprobs: top = 0 } = body;
  if (!isAbsent(top) && !(Number.isInteger(top) && Number(top) >= 0 && Number(top) <= mostAlternatives)) {
    const expected = `a whole number from 0 to ${mostAlternatives}`;
    throw new AppError('invalid-field', { field: 'top_logprobs', expected });
  }
  return readFlag(body, 'logprobs', false) ? Number(top) : undefined;
}

function decodeFormat({ format }: JsonObject, parts: DialectParts): OutputFormat {
  if (isAbsent(format) || format === '') return { type: 'text' };
  if (format === 'json') return { type: 'json' };
  if (isObject(format)) return schemaOutput(format, 'format', parts.controlParts().schemaToGrammar);
  throw new AppError('invalid-field', { field: 'format', expected: '"json" or a JSON schema' });
}

/** A prompt without a template has no thinking to leave room for. */
function plainGrammar(output: OutputFormat, parts: DialectParts): GenerationControls['grammar'] {
  if (output.type === 'text') return undefined;
  const schema = output.type === 'json' ? { type: 'object' } : output.schema;
  return { gbnf: parts.controlParts().schemaToGrammar(schema), retainState: false };
}
