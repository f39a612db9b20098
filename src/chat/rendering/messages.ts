import type { Message } from '../messages.ts';
import type { RenderedTemplate, TemplateInput } from '../template.ts';

/** What the thread is told: pieces of the conversation as JSON, and then all the rest. */
export type ToThread =
  | { readonly type: 'messages'; readonly json: string }
  | { readonly type: 'render'; readonly source: string; readonly input: TemplateInput };

export type FromThread =
  | { readonly type: 'rendered'; readonly rendered: RenderedTemplate }
  | { readonly type: 'failed'; readonly reason: string };

/** Copied piece by piece: a long conversation in one message would stop this thread while it is copied. */
export const messagesAtOnce = 500;

export type MessagePiece = readonly Message[];
