import { type Content, type Message, type Tool, type ToolCallRecord, text } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationControls, GenerationRequest, ReasoningBudget } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { FillMarks } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import type { ControlLimits } from '../controls/decode.ts';
import { type DialectContext, reasoningControl } from '../dialect.ts';
import * as f from '../fields.ts';
import { gapPrompt } from '../fill-marks.ts';
import { Attachments } from '../media.ts';
import { schemaOutput } from '../output-schema.ts';
import { type ReadBody, readChat, readCompletion } from '../read-body.ts';
import { checkToolNames, noParameters } from '../tools.ts';
import { type ChatFields, type GenerateFields, readImages } from './fields.ts';
import { renderGoTemplate, usesSuffix } from './go-template.ts';
import { optionControls, readOptions, type Settings, settingFields } from './options.ts';

/** A request: its own fields, and all controls, with those of `options` over those beside it. */
export interface Request<Own> extends Omit<ReadBody<object>, 'fields'> {
  readonly own: Own;
  readonly settings: Settings;
}

/** The server's defaults count for the options too, so they are applied after the options are laid flat. */
export function readRequest<const Declared extends f.Table>(
  table: Declared,
  sent: JsonObject,
  context: DialectContext,
): Request<f.Fields<Declared>> {
  const flat = context.applyDefaults({ ...sent, ...readOptions(sent.options, 'options') });
  const readBody = sent.raw === true ? readCompletion : readChat;
  const { fields: own, ...read } = readBody(table, context.applyDefaults(sent), context, flat);
  return { ...read, own, settings: f.readFields(settingFields, flat) };
}

export function* decodeChat(read: Request<ChatFields>, context: DialectContext): Sliced<ChatRequest> {
  const { own } = read;
  const attachments = newAttachments(context);
  const messages = yield* decodeMessages(own.messages, attachments);
  return chatRequest(read, { messages, media: attachments.inline(), tools: decodeTools(own.tools) });
}

/** All media are sent in base64 in this dialect, none by address. */
function newAttachments({ text }: Pick<DialectContext, 'text'>): Attachments {
  return new Attachments(text.state(), { addresses: false });
}

/** A text to be continued as it is, or an instruction that becomes a chat of one turn. */
export type Completion =
  | { readonly type: 'chat'; readonly request: ChatRequest }
  | { readonly type: 'plain'; readonly request: GenerationRequest; readonly returnsContext: boolean };

/** Whether the gap before `suffix` needs the fill-in-the-middle marks of the model, because no template sets them. */
export function hasGap({ suffix, template, raw }: Pick<GenerateFields, 'suffix' | 'template' | 'raw'>): boolean {
  return suffix !== '' && template === '' && !raw;
}

/** `earlier` is the text of the `context` that the request carries; `marks` are set where it has a gap. */
export function decodeCompletion(
  read: Request<GenerateFields>,
  context: DialectContext,
  { earlier, marks }: { readonly earlier: string; readonly marks?: FillMarks | undefined },
): Completion {
  const { own, limits } = read;
  const { prompt, system, suffix, template, raw } = own;
  const attachments = newAttachments(context);
  const images = decodeImages(own.images, 'images', attachments);
  const media = attachments.inline();
  if (raw && (system !== '' || template !== '' || earlier !== '')) {
    const instead = 'a raw prompt already holds all of them';
    throw new AppError('unsupported', { feature: 'raw with template, system or context', instead });
  }
  if (suffix !== '' && !marks && (raw || !usesSuffix(template))) {
    const instead = 'leave out raw, or send a template with .Suffix along';
    throw new AppError('unsupported', { feature: 'suffix', instead });
  }
  if (raw || template !== '' || marks) {
    const values = { System: system, Prompt: prompt, Suffix: suffix };
    const rendered = marks ? gapPrompt(marks, prompt, suffix) : raw ? prompt : renderGoTemplate(template, values);
    const { controls, thinking } = decodeShared(read);
    const grammar = plainGrammar(decodeFormat(own, limits), limits) ?? controls.grammar;
    // Media without a position in the text come before it.
    const plain = { grammar, media, reasoning: thinking.budget };
    const request = { ...controls, ...plain, prompt: earlier + rendered, memory: '' };
    return { type: 'plain', request, returnsContext: !raw };
  }
  const messages = [
    ...(system === '' ? [] : [{ role: 'system' as const, content: text(system) }]),
    { role: 'user' as const, content: [...images, ...text(prompt)] },
  ];
  const request = chatRequest(read, { messages, media, tools: [] });
  // A plain prompt is not a chat, so no tools can be called.
  return { type: 'chat', request: { ...request, toolChoice: { type: 'none' }, memory: earlier } };
}

type SharedFields = Pick<ChatFields, keyof ChatFields & keyof GenerateFields>;

function chatRequest(read: Request<SharedFields>, conversation: ChatRequest['conversation']): ChatRequest {
  const { controls, thinking } = decodeShared(read);
  const output = decodeFormat(read.own, read.limits);
  const grammar = output.type === 'text' ? controls.grammar : undefined;
  return {
    conversation,
    continueAssistantTurn: true,
    toolChoice: { type: 'auto' },
    parallelToolCalls: true,
    output,
    reasoning: { effort: thinking.effort, separate: true },
    templateVariables: thinking.variables,
    memory: '',
    controls: { ...controls, grammar, reasoning: thinking.budget },
  };
}

function decodeShared({ own, settings, controls: base, limits }: Request<SharedFields>) {
  const controls: GenerationControls = {
    ...optionControls(settings, base, limits),
    overflow: own.truncate === undefined ? base.overflow : own.truncate ? 'trim' : 'refuse',
    logprobs: own.logprobs ? own.top_logprobs : undefined,
  };
  return { controls, thinking: decodeThink(own.think, settings, base.reasoning) };
}

function decodeFormat({ format }: SharedFields, { schemaToGrammar }: ControlLimits): OutputFormat {
  if (format === undefined) return { type: 'text' };
  if (format === 'json') return { type: 'json' };
  return schemaOutput(format, 'format', schemaToGrammar);
}

/** A prompt without a template has no thinking that the grammar would have to allow. */
function plainGrammar(output: OutputFormat, { schemaToGrammar }: ControlLimits): GenerationControls['grammar'] {
  if (output.type === 'text') return undefined;
  const schema = output.type === 'json' ? { type: 'object' } : output.schema;
  return { gbnf: schemaToGrammar(schema), retainState: false };
}

/** The conversation of a chat request. */
export function* decodeMessages(value: unknown, attachments: Attachments): Sliced<readonly Message[]> {
  const list = f.optionalList(value, 'messages') ?? [];
  let unanswered = new OpenCalls([]);
  const messages: Message[] = [];
  for (const [index, entry] of list.entries()) {
    const message = decodeMessage(entry, index, attachments);
    if (message.role === 'assistant') unanswered = new OpenCalls(message.toolCalls ?? []);
    const call =
      message.role === 'tool' && message.callId === undefined ? unanswered.take(message.toolName) : undefined;
    messages.push(call ? ({ toolName: call.name, ...message, callId: call.id } as Message) : message);
    yield;
  }
  return messages;
}

function decodeImages(images: readonly string[], field: string, attachments: Attachments): Content {
  return images.map((data, index) => attachments.add({ kind: undefined, data, field: `${field}[${index}]` }));
}

const anyText = f.orElse(f.readText, '');
const anyImages = f.orElse(readImages, []);

function decodeMessage(entry: unknown, index: number, attachments: Attachments): Message {
  const where = `messages[${index}]`;
  const sent = f.readObject(entry, where);
  const textAt = (name: string): string => f.readAt(sent, name, where, anyText);
  const images = decodeImages(f.readAt(sent, 'images', where, anyImages), `${where}.images`, attachments);
  const words = textAt('content');
  // Images before the text about them.
  const content = [...images, ...text(words)];
  const role = textAt('role').toLowerCase();
  switch (role) {
    case '':
      throw f.wrong(`${where}.role`, 'system, user, assistant or tool');
    case 'system':
    case 'user':
      return { role, content };
    case 'assistant': {
      const reasoning = textAt('thinking');
      const toolCalls = decodeCalls(sent.tool_calls, `${where}.tool_calls`, index);
      return { role, content, ...(reasoning && { reasoning }), ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case 'tool': {
      const callId = textAt('tool_call_id');
      const toolName = textAt('tool_name') || textAt('name');
      return {
        role,
        content: [...images, ...attachments.toolResult(words, `${where}.content`)],
        ...(callId === '' ? {} : { callId }),
        ...(toolName === '' ? {} : { toolName }),
      };
    }
    default:
      return { role: 'other', roleName: role, content };
  }
}

function decodeCalls(value: unknown, where: string, message: number): ToolCallRecord[] {
  return (f.optionalList(value, where) ?? []).map((call, index) => {
    const field = `${where}[${index}].function`;
    const target = f.isObject(call) ? call.function : undefined;
    if (!f.isObject(call) || !f.isObject(target)) throw f.wrong(field, 'an object');
    const name = f.readAt(target, 'name', field, anyText);
    if (name === '') throw f.wrong(`${field}.name`, 'a name');
    // A generated id depends on the position alone: the same history must give the same prompt, for the cache.
    const id = f.readAt(call, 'id', `${where}[${index}]`, anyText) || `call_${message}_${index}`;
    return { id, name, json: argumentsText(target.arguments, `${field}.arguments`) };
  });
}

/** An object in this dialect; apps that keep the form of OpenAI send it as JSON text. */
function argumentsText(value: unknown, field: string): string {
  if (f.isAbsent(value)) return '{}';
  if (f.isObject(value)) return JSON.stringify(value);
  if (typeof value === 'string') return value === '' ? '{}' : value;
  throw f.wrong(field, 'an object');
}

/** Results come without the id of their call here: they belong to the first open call of that name, or to the first. */
class OpenCalls {
  readonly #open: Set<ToolCallRecord>;
  /** Goes on behind the last call that it gave, so that taking all of them is linear. */
  readonly #inOrder: Iterator<ToolCallRecord, undefined>;
  /** The last one first; those that were taken without a name are still in here. */
  readonly #byName = new Map<string, ToolCallRecord[]>();

  constructor(calls: readonly ToolCallRecord[]) {
    this.#open = new Set(calls);
    this.#inOrder = this.#open.values();
    for (const call of calls.toReversed()) {
      const named = this.#byName.get(call.name);
      if (named) named.push(call);
      else this.#byName.set(call.name, [call]);
    }
  }

  take(toolName: string | undefined): ToolCallRecord | undefined {
    const call = toolName === undefined ? this.#inOrder.next().value : this.#nextNamed(toolName);
    if (call) this.#open.delete(call);
    return call;
  }

  #nextNamed(name: string): ToolCallRecord | undefined {
    const named = this.#byName.get(name) ?? [];
    let call = named.pop();
    while (call && !this.#open.has(call)) call = named.pop();
    return call;
  }
}

export function decodeTools(value: unknown): readonly Tool[] {
  const tools = (f.optionalList(value, 'tools') ?? []).map((entry, index) => decodeTool(entry, `tools[${index}]`));
  const names = tools.map(({ name }) => name);
  checkToolNames(names, 'tools');
  return tools;
}

function decodeTool(entry: unknown, where: string): Tool {
  const { type, function: sent } = f.readObject(entry, where);
  if (!f.isAbsent(type) && type !== '' && type !== 'function') throw f.wrong(`${where}.type`, '"function"');
  const { name, description, parameters } = f.readObject(sent, `${where}.function`);
  if (typeof name !== 'string' || name === '') throw f.wrong(`${where}.function.name`, 'a name');
  if (!f.isAbsent(parameters) && !f.isObject(parameters)) {
    throw f.wrong(`${where}.function.parameters`, 'a JSON schema');
  }
  return {
    name,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    parameters: f.isObject(parameters) && Object.keys(parameters).length > 0 ? parameters : noParameters,
  };
}

/** `think` over the controls of the native API, which count where it is left out. `variables` are for the template. */
export function decodeThink(
  think: boolean | string | undefined,
  settings: Pick<Settings, 'reasoning_effort' | 'thinking_budget_tokens'>,
  native: ReasoningBudget | undefined,
) {
  const { reasoning_effort: effort, thinking_budget_tokens: tokens } = settings;
  if (think === undefined) return { effort: effort || undefined, budget: native, variables: {} };
  if (think === false) return { ...reasoningControl('none', undefined), variables: { enable_thinking: false } };
  const amount = effort === '' || effort === 'none' ? undefined : effort;
  const level = think === true ? amount : String(think);
  return { ...reasoningControl(level, tokens), variables: { enable_thinking: true } };
}
