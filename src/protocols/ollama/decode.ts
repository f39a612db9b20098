import { text } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationControls, GenerationRequest } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { FillMarks } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { readControls } from '../controls/decode.ts';
import { chatParts, type DialectParts, dialectControls } from '../dialect.ts';
import { type Fields, readFields, type Table } from '../fields/table.ts';
import { gapPrompt } from '../fill-marks.ts';
import { Attachments } from '../media.ts';
import { schemaOutput } from '../output-schema.ts';
import type { ChatFields, GenerateFields } from './fields.ts';
import { renderGoTemplate, usesSuffix } from './go-template.ts';
import { decodeImages, decodeMessages } from './messages.ts';
import { optionControls, readOptions, settingFields } from './options.ts';
import { decodeThink, type Thinking } from './think.ts';
import { decodeTools } from './tools.ts';

/** A request in two views: its own fields, and every control, with those of `options` over those beside it. */
export interface Request<Own> {
  readonly own: Own;
  readonly settings: JsonObject;
}

/** The server's defaults count for the options too, so they come after the options are laid flat. */
export function readRequest<const Declared extends Table>(
  table: Declared,
  sent: JsonObject,
  parts: Pick<DialectParts, 'applyDefaults'>,
): Request<Fields<Declared>> {
  const options = readOptions(sent.options, 'options');
  const settings = parts.applyDefaults({ ...sent, ...options });
  return { own: readFields(table, parts.applyDefaults(sent)), settings };
}

export function* decodeChat({ own, settings }: Request<ChatFields>, server: DialectParts): Sliced<ChatRequest> {
  const parts = chatParts(server, settings);
  const { controls, thinking } = decodeShared({ own, settings }, parts);
  const attachments = newAttachments(parts);
  const messages = yield* decodeMessages(own.messages, attachments);
  const media = attachments.inline();
  return chatRequest(own, controls, thinking, { messages, media, tools: decodeTools(own.tools) }, parts);
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
export function hasGap({ suffix, template, raw }: Pick<GenerateFields, 'suffix' | 'template' | 'raw'>): boolean {
  return suffix !== '' && template === '' && !raw;
}

/** `earlier` is the text of the `context` that the request carries; `marks` are there where it has a gap. */
export function decodeCompletion(
  { own, settings }: Request<GenerateFields>,
  server: DialectParts,
  { earlier, marks }: { readonly earlier: string; readonly marks?: FillMarks | undefined },
): Completion {
  const { prompt, system, suffix, template, raw } = own;
  const parts = raw ? server : chatParts(server, settings);
  const attachments = newAttachments(parts);
  const images = decodeImages(own.images, 'images', attachments);
  const media = attachments.inline();
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
  const { controls, thinking } = decodeShared({ own, settings }, parts);
  if (raw || template !== '' || marks) {
    const values = { System: system, Prompt: prompt, Suffix: suffix };
    const rendered = marks ? gapPrompt(marks, prompt, suffix) : raw ? prompt : renderGoTemplate(template, values);
    const grammar = plainGrammar(decodeFormat(own, parts), parts) ?? controls.grammar;
    // Without a place in the text the media stand in front of it.
    const plain = { grammar, media, reasoning: thinking.budget };
    const request = { ...controls, ...plain, prompt: earlier + rendered, memory: '' };
    return { type: 'plain', request, returnsContext: !raw };
  }
  const messages = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: text(system) }]),
    { role: 'user' as const, content: [...images, ...text(prompt)] },
  ];
  const request = chatRequest(own, controls, thinking, { messages, media, tools: [] }, parts);
  // A prompt alone is no chat in which tools could be called.
  return { type: 'chat', request: { ...request, toolChoice: { type: 'none' }, memory: earlier } };
}

type SharedFields = Pick<ChatFields, keyof ChatFields & keyof GenerateFields>;

function chatRequest(
  own: SharedFields,
  controls: GenerationControls,
  thinking: Thinking,
  conversation: ChatRequest['conversation'],
  parts: DialectParts,
): ChatRequest {
  const output = decodeFormat(own, parts);
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
  { own, settings }: Request<SharedFields>,
  parts: DialectParts,
): { readonly controls: GenerationControls; readonly thinking: Thinking } {
  const base = dialectControls(readControls(settings), parts);
  const options = readFields(settingFields, settings);
  const controls: GenerationControls = {
    ...optionControls(options, base, parts.controlParts()),
    overflow: own.truncate === undefined ? base.overflow : own.truncate ? 'trim' : 'refuse',
    logprobs: own.logprobs ? own.top_logprobs : undefined,
  };
  return { controls, thinking: decodeThink(own.think, options, base.reasoning) };
}

function decodeFormat({ format }: SharedFields, parts: DialectParts): OutputFormat {
  if (format === undefined) return { type: 'text' };
  if (format === 'json') return { type: 'json' };
  return schemaOutput(format, 'format', parts.controlParts().schemaToGrammar);
}

/** A prompt without a template has no thinking to leave room for. */
function plainGrammar(output: OutputFormat, parts: DialectParts): GenerationControls['grammar'] {
  if (output.type === 'text') return undefined;
  const schema = output.type === 'json' ? { type: 'object' } : output.schema;
  return { gbnf: parts.controlParts().schemaToGrammar(schema), retainState: false };
}
