import { AppError } from '../core/errors.ts';
import type { GenerationControls } from '../core/request.ts';
import type { Conversation } from './messages.ts';
import type { HostedTools } from './server-tools/hosted.ts';

export type ToolChoice =
  | { readonly type: 'auto' | 'required' }
  /** `listed`: the prompt has the tools all the same. */
  | { readonly type: 'none'; readonly listed?: boolean }
  /** Exactly this tool must be called. */
  | { readonly type: 'named'; readonly name: string };

/** The format of the answer, without the thinking before it. */
export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly schema: unknown };

/** Whether the client or `--contextoverflow compact` asks for it. */
export function mayBeCompacted({ compaction, controls }: Pick<ChatRequest, 'compaction' | 'controls'>): boolean {
  return compaction !== undefined || controls.overflow === 'compact';
}

/** Clients that name a function expect one call of it. */
export function allowsSeveralCalls({
  parallelToolCalls,
  toolChoice,
}: Pick<ChatRequest, 'parallelToolCalls' | 'toolChoice'>): boolean {
  return parallelToolCalls && toolChoice.type !== 'named';
}

/** Whether an answer without thinking is requested. Template variables take precedence over the effort. */
export function refusesThinking(
  { reasoning, templateVariables }: Pick<ChatRequest, 'reasoning' | 'templateVariables'>,
  serverVariables: Readonly<Record<string, unknown>>,
): boolean {
  const enabled = templateVariables.enable_thinking ?? serverVariables.enable_thinking;
  return enabled === undefined ? reasoning.effort === 'none' : enabled === false;
}

/** A client that wants its conversation summarised: everything before the reply becomes one message. */
export interface CompactionRequest {
  /** Prompt tokens above which it is summarised; a prompt that does not fit always is. */
  readonly trigger: number;
  /** The reply ends after the summary. */
  readonly pause: boolean;
  /** In addition to the instructions of the server for the summary, or instead of them. */
  readonly instructions?: { readonly text: string; readonly replace: boolean };
}

/** A neutral chat request; decoders set every default. */
export interface ChatRequest {
  readonly conversation: Conversation;
  /** A last turn of the assistant is continued rather than answered. */
  readonly continueAssistantTurn: boolean;
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly output: OutputFormat;
  readonly reasoning: {
    /** `none`, `low`, `medium`, `high` …, for the template; the budget in tokens is in the controls. */
    readonly effort: string | undefined;
    /** Thinking becomes separate events instead of tags in the text. */
    readonly separate: boolean;
  };
  /** Variables for the template; they take precedence over those of the server. */
  readonly templateVariables: Readonly<Record<string, unknown>>;
  readonly memory: string;
  /** Tools that the server runs for this request, in addition to those of the conversation. */
  readonly hosted?: HostedTools;
  readonly controls: GenerationControls;
  readonly compaction?: CompactionRequest | undefined;
  /** Clears parts of a conversation that grows while the server runs tools, as the client asked for. */
  readonly edit?: (request: ChatRequest, count: CountTokens) => Promise<ChatRequest>;
}

type CountTokens = (request: ChatRequest) => Promise<number>;

export function refuseUnknownTool({ toolChoice, conversation }: ChatRequest): void {
  if (toolChoice.type === 'named' && !conversation.tools.some(({ name }) => name === toolChoice.name)) {
    throw new AppError('invalid-field', {
      field: 'tool_choice',
      expected: `one of the tools of the request, and ${toolChoice.name} is not`,
    });
  }
  if (toolChoice.type === 'required' && conversation.tools.length === 0) {
    throw new AppError('invalid-field', { field: 'tools', expected: 'given when a call is required' });
  }
}
