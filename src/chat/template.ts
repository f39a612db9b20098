import { type Content, type Conversation, flatContent, type Message, prefillOf, type Tool } from './messages.ts';
import { strftime } from './strftime.ts';
import type { Clock, TemplateLimits, TemplateProgram } from './template-runtime.ts';

export interface TemplateInput {
  readonly conversation: Conversation;
  readonly continueAssistantTurn: boolean;
  /** The server's own variables; those of the request win over them. */
  readonly serverVariables: Readonly<Record<string, unknown>>;
  readonly requestVariables: Readonly<Record<string, unknown>>;
  readonly reasoningEffort: string | undefined;
  readonly now: Date;
  /** Empty unless told otherwise: the tokenizer puts the first token itself. */
  readonly tokens?: { readonly bos: string; readonly eos: string };
}

export interface RenderedTemplate {
  readonly prompt: string;
  /** What the template complained about and went on. */
  readonly warnings: readonly string[];
}

export interface ChatTemplate {
  /** Throws when the template cannot be run with this conversation. */
  render(input: TemplateInput): RenderedTemplate;
}

export interface CompileOptions {
  readonly limits?: TemplateLimits;
  readonly clock?: Clock;
}

/** Throws on a template that cannot be read. To be kept by whoever owns the model, as reading it is the slow part. */
export async function compileTemplate(source: string, options: CompileOptions = {}): Promise<ChatTemplate> {
  // Loaded on first use: a server that renders no templates does not pay for the library at its start.
  const { compile, inlineLimits } = await import('./template-runtime.ts');
  const limits = options.limits ?? inlineLimits;
  const program = compile(source, options.clock ?? (() => performance.now()));
  const contentForm = probeContentForm(program, { ...limits, steps: Math.min(limits.steps, probeSteps) });
  return { render: (input) => render((variables) => program(variables, limits), contentForm, input) };
}

/** One short message needs no more, and a template that runs away is found out early. */
const probeSteps = 20_000;

type Run = (variables: Readonly<Record<string, unknown>>) => string;

type ContentForm = 'text' | 'parts';

function render(run: Run, form: ContentForm, input: TemplateInput): RenderedTemplate {
  const { messages, media, tools } = input.conversation;
  const prefill = input.continueAssistantTurn ? prefillOf(messages, media) : undefined;
  const continued = prefill !== undefined && prefill.trim() !== '';
  const shown = continued ? messages.slice(0, -1) : messages;
  const warnings: string[] = [];
  const prompt = run({
    ...functions(input.now, warnings),
    messages: shown.map((message) => wireMessage(message, input.conversation, form)),
    ...(tools.length > 0 ? { tools: tools.map(wireTool) } : {}),
    add_generation_prompt: true,
    bos_token: input.tokens?.bos ?? '',
    eos_token: input.tokens?.eos ?? '',
    ...variables(input),
  });
  return { prompt: continued ? prompt + prefill : prompt, warnings };
}

function functions(now: Date, warnings: string[]): Readonly<Record<string, unknown>> {
  return {
    strftime_now: (format: unknown) => strftime(now, String(format)),
    // A complaint about the order of roles is worth a warning, not the loss of the whole format.
    raise_exception: (message: unknown) => {
      warnings.push(String(message));
      return '';
    },
  };
}

/** Names on this side are those that templates read; they exist nowhere else. */
function variables({ serverVariables, requestVariables, reasoningEffort: effort }: TemplateInput): object {
  const given: Record<string, unknown> = { ...serverVariables, ...requestVariables };
  if (effort !== undefined) given.reasoning_effort = effort;
  if (effort === 'none' && given.enable_thinking === undefined) given.enable_thinking = false;
  if (given.enable_thinking === false) given.reasoning_strength = 'none';
  else if (effort !== undefined) given.reasoning_strength = effort;
  return given;
}

function wireMessage(message: Message, { media }: Conversation, form: ContentForm): Readonly<Record<string, unknown>> {
  const content = wireContent(message.content, media, form);
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
        content,
        ...reasoningFields(message),
        ...(message.toolCalls?.length ? { tool_calls: message.toolCalls.map(wireToolCall) } : {}),
      };
  }
}

function wireContent(content: Content, media: Conversation['media'], form: ContentForm): unknown {
  const text = flatContent(content, media);
  return form === 'text' ? text : [{ type: 'text', text }];
}

/** Templates read earlier thinking under either name; the second one only beside calls, where it means the same. */
function reasoningFields(message: Message & { role: 'assistant' }): Readonly<Record<string, unknown>> {
  if (!message.reasoning) return {};
  const beside = message.toolCalls?.length && message.content.length === 0 ? { thinking: message.reasoning } : {};
  return { reasoning_content: message.reasoning, ...beside };
}

function wireToolCall({ id, name, json }: { id: string; name: string; json: string }) {
  return { id, type: 'function', function: { name, arguments: parsedArguments(json) } };
}

/** Templates walk through the arguments; a text that is no JSON is shown to them as it is. */
function parsedArguments(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function wireTool({ name, description, parameters }: Tool) {
  return { type: 'function', function: { name, description: description ?? '', parameters } };
}

/** Some templates know only lists of parts and lose, or choke on, a content that is a plain text. */
function probeContentForm(program: TemplateProgram, limits: TemplateLimits): ContentForm {
  const needle = 'needle-in-the-content';
  const keeps = (content: unknown): boolean => {
    try {
      const messages = [{ role: 'user', content }];
      const context = { bos_token: '', eos_token: '', add_generation_prompt: true, ...functions(new Date(0), []) };
      return program({ messages, ...context }, limits).includes(needle);
    } catch {
      return false;
    }
  };
  return !keeps(needle) && keeps([{ type: 'text', text: needle }]) ? 'parts' : 'text';
}
