import { attempt } from '../core/attempt.ts';
import { tryParseJson } from '../core/json.ts';
import { type Conversation, flatContent, type Message, prefillOf, type Tool, type ToolCallRecord } from './messages.ts';
import { inlineLimits, type TemplateLimits } from './template-limits.ts';
import type { TemplateProgram } from './template-runtime.ts';

type Variables = Readonly<Record<string, unknown>>;

export interface TemplateInput {
  readonly conversation: Conversation;
  readonly continueAssistantTurn: boolean;
  /** Variables of the server; those of the request take precedence. */
  readonly serverVariables: Variables;
  readonly requestVariables: Variables;
  readonly reasoningEffort: string | undefined;
  readonly now: Date;
}

export interface RenderedTemplate {
  readonly prompt: string;
  /** Calls of `raise_exception`, which do not stop the rendering. */
  readonly warnings: readonly string[];
}

/** Throws when the template cannot be run with this conversation. */
export type ChatTemplate = (input: TemplateInput) => RenderedTemplate;

/** Throws on a template that cannot be parsed. The result is to be reused: parsing is the slow part. */
export async function compileTemplate(
  source: string,
  { limits = inlineLimits, clock = () => performance.now() }: { limits?: TemplateLimits; clock?: () => number } = {},
): Promise<ChatTemplate> {
  // Loaded on first use, so that a server without `--jinja` does not load the library at its start.
  const { compile } = await import('./template-runtime.ts');
  const program = compile(source, clock);
  const probed = { ...limits, steps: Math.min(limits.steps, probeSteps) };
  const traits = {
    takesParts: probeContentParts(program, probed),
    reasoning: source.includes('thinking') ? probeReasoning(program, probed) : 'fields',
  } as const;
  return (input) => render((variables) => program(variables, limits), traits, input);
}

/** Enough for one short message, so that an endless template is found early. */
const probeSteps = 20_000;

interface TemplateTraits {
  /** The content of messages is a list of parts. */
  readonly takesParts: boolean;
  readonly reasoning: ReasoningForm;
}

/** How earlier thinking is passed: in fields, in fields but not together with text and calls, or as part of the content. */
type ReasoningForm = 'fields' | 'without-text' | 'content';

function render(run: (variables: Variables) => string, traits: TemplateTraits, input: TemplateInput): RenderedTemplate {
  const { messages, media, tools } = input.conversation;
  const prefill = input.continueAssistantTurn ? prefillOf(messages, media) : undefined;
  const continued = prefill !== undefined && prefill.trim() !== '';
  const rendered = continued ? messages.slice(0, -1) : messages;
  const warnings: string[] = [];
  const prompt = run({
    ...globals(input.now, warnings),
    ...preservedReasoning,
    messages: rendered.map((message) => wireMessage(message, media, traits)),
    ...(tools.length > 0 ? { tools: tools.map(wireTool) } : {}),
    ...requestVariables(input),
  });
  return { prompt: continued ? prompt + prefill : prompt, warnings };
}

/**
 * Names under which templates keep the thinking of earlier turns that the client sent back. Without it a prompt would differ from
 * the text in the cache from the last answer on.
 */
const preservedReasoning: Variables = {
  preserve_thinking: true,
  preserved_thinking: true,
  clear_thinking: false,
  drop_thinking: false,
  truncate_history_thinking: false,
};

/** The tokenizer adds the first token itself, so that `bos_token` is empty. */
function globals(now: Date, warnings: string[]): Variables {
  return {
    bos_token: '',
    eos_token: '',
    add_generation_prompt: true,
    strftime_now: (format: unknown) => strftime(now, String(format)),
    // A complaint about the order of roles becomes a warning: the format is worth more than the check.
    raise_exception: (message: unknown) => {
      warnings.push(String(message));
      return '';
    },
  };
}

function requestVariables({ serverVariables, requestVariables, reasoningEffort: effort }: TemplateInput): Variables {
  const variables: Record<string, unknown> = { ...serverVariables, ...requestVariables };
  if (effort !== undefined) variables.reasoning_effort = effort;
  if (effort === 'none' && variables.enable_thinking === undefined) variables.enable_thinking = false;
  if (variables.enable_thinking === false) variables.reasoning_strength = 'none';
  else if (effort !== undefined) variables.reasoning_strength = effort;
  return variables;
}

function wireMessage(message: Message, media: Conversation['media'], traits: TemplateTraits): Variables {
  const text = flatContent(message.content, media);
  const content = traits.takesParts ? [{ type: 'text', text }] : text;
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content };
    case 'other':
      return { role: message.roleName, content };
    case 'tool':
      return {
        role: 'tool',
        content,
        ...(message.callId === undefined ? {} : { tool_call_id: message.callId }),
        ...(message.toolName === undefined ? {} : { name: message.toolName }),
      };
    case 'assistant':
      return {
        role: 'assistant',
        ...withReasoning(content, message, traits.reasoning),
        ...(message.toolCalls?.length ? { tool_calls: message.toolCalls.map(wireToolCall) } : {}),
      };
  }
}

/** Templates read earlier thinking under one of three names. */
function reasoningFields(reasoning: string): Variables {
  return { reasoning_content: reasoning, reasoning, thinking: reasoning };
}

function withReasoning(
  content: unknown,
  { reasoning, toolCalls }: Message & { role: 'assistant' },
  form: ReasoningForm,
): Variables {
  if (!reasoning) return { content };
  if (form === 'content') {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly unknown[]);
    return { content: [{ type: 'thinking', thinking: reasoning }, ...parts] };
  }
  if (form === 'without-text' && toolCalls?.length && typeof content === 'string' && content !== '') {
    return { content: '', ...reasoningFields(`${reasoning}\n\n${content}`) };
  }
  return { content, ...reasoningFields(reasoning) };
}

/** Templates iterate the arguments; a text that is not valid JSON is passed as it is. */
function wireToolCall({ id, name, json }: ToolCallRecord) {
  const parsed = tryParseJson(json);
  return { id, type: 'function', function: { name, arguments: parsed === undefined ? json : parsed } };
}

function wireTool({ name, description, parameters }: Tool) {
  return { type: 'function', function: { name, description: description ?? '', parameters } };
}

/** Whether the template loses a content that is a string, and shows one that is a list of parts. */
function probeContentParts(program: TemplateProgram, limits: TemplateLimits): boolean {
  const needle = 'needle-in-the-content';
  const shows = (content: unknown): boolean => {
    const messages = [{ role: 'user', content }];
    return attempt(() => program({ messages, ...globals(new Date(0), []) }, limits).includes(needle), false);
  };
  return !shows(needle) && shows([{ type: 'text', text: needle }]);
}

/** What the template makes of thinking before a call. */
function probeReasoning(program: TemplateProgram, limits: TemplateLimits): ReasoningForm {
  const needle = 'needle-in-the-thoughts';
  const call = { id: 'call00001', type: 'function', function: { name: 'look', arguments: {} } };
  const shows = (turn: Variables): boolean => {
    const warnings: string[] = [];
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', tool_calls: [call], ...turn },
      { role: 'tool', content: 'x', name: 'look', tool_call_id: call.id },
    ];
    const variables = { messages, ...globals(new Date(0), warnings), ...preservedReasoning };
    return attempt(() => program(variables, limits).includes(needle) && warnings.length === 0, false);
  };
  const fields = reasoningFields(needle);
  if (shows({ content: '', ...fields })) return shows({ content: 'x', ...fields }) ? 'fields' : 'without-text';
  return shows({ content: [{ type: 'thinking', thinking: needle }] }) ? 'content' : 'fields';
}

const inEnglish = (options: Intl.DateTimeFormatOptions) => (time: Date) => time.toLocaleDateString('en-US', options);
const padded = (number: number, length = 2) => String(number).padStart(length, '0');

/** English in any locale, because models were trained with English dates. */
const directives: Readonly<Record<string, (time: Date) => string>> = {
  Y: (time) => String(time.getFullYear()),
  y: (time) => padded(time.getFullYear() % 100),
  m: (time) => padded(time.getMonth() + 1),
  d: (time) => padded(time.getDate()),
  e: (time) => String(time.getDate()).padStart(2, ' '),
  B: inEnglish({ month: 'long' }),
  b: inEnglish({ month: 'short' }),
  A: inEnglish({ weekday: 'long' }),
  a: inEnglish({ weekday: 'short' }),
  H: (time) => padded(time.getHours()),
  I: (time) => padded(time.getHours() % 12 || 12),
  M: (time) => padded(time.getMinutes()),
  S: (time) => padded(time.getSeconds()),
  p: (time) => (time.getHours() < 12 ? 'AM' : 'PM'),
  j: (time) => padded(dayOfYear(time), 3),
  F: (time) => strftime(time, '%Y-%m-%d'),
  T: (time) => strftime(time, '%H:%M:%S'),
  '%': () => '%',
};

/** The date formats that chat templates use; `%-d` omits the leading zero, an unknown directive is left as it is. */
export function strftime(time: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, unpadded: string, letter: string) => {
    const value = directives[letter]?.(time);
    if (value === undefined) return whole;
    return unpadded ? value.replace(/^[0 ]+(?=.)/, '') : value;
  });
}

function dayOfYear(time: Date): number {
  const midnight = Date.UTC(time.getFullYear(), time.getMonth(), time.getDate());
  return (midnight - Date.UTC(time.getFullYear(), 0, 0)) / 86_400_000;
}
