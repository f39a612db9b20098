import { AppError } from '../core/errors.ts';
import type { GenerationControls } from '../core/request.ts';
import type { Conversation } from './messages.ts';

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  /** Exactly this tool must be called. */
  | { readonly type: 'named'; readonly name: string };

/** What the answer must look like; thinking before it is free. */
export type OutputFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json' }
  | { readonly type: 'schema'; readonly schema: unknown };

/** Whether the client wants an answer without thinking. What it tells the template comes before a level of effort. */
export function refusesThinking(
  { reasoning, templateVariables }: Pick<ChatRequest, 'reasoning' | 'templateVariables'>,
  serverVariables: Readonly<Record<string, unknown>>,
): boolean {
  const told = templateVariables.enable_thinking ?? serverVariables.enable_thinking;
  return told === undefined ? reasoning.effort === 'none' : told === false;
}

/** One turn of a chat to be answered, in words that no protocol owns; complete, as decoders fill in every default. */
export interface ChatRequest {
  readonly conversation: Conversation;
  /** A last turn of the assistant is continued rather than answered. */
  readonly continueAssistantTurn: boolean;
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly output: OutputFormat;
  readonly reasoning: {
    /** `none`, `low`, `medium`, `high` …: told to the template; the budget in tokens stands in the controls. */
    readonly effort: string | undefined;
    /** Thinking becomes events of its own instead of tags in the text. */
    readonly separate: boolean;
  };
  /** Variables for the model's own template, over those of the server. */
  readonly templateVariables: Readonly<Record<string, unknown>>;
  readonly memory: string;
  readonly controls: GenerationControls;
}

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
